import { attemptLimits, countAttempt } from '../../access/sessions/attempts.ts';
import { boundedText } from '../../lib/text.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { messageIdOf } from '../../model/message.ts';
import { DIGEST_ANIMALS_MAX, DIGEST_HOUR } from '../../model/rules.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { type EmailJobDeps, emailJob, emailQueue } from '../messages/email-job.ts';
import type { Email } from '../messages/email-sender.ts';
import { createMailStop, mailStopPath } from './mail-stops.ts';

/** The path of the page on which members choose how they learn of messages. */
export const NOTICES_PATH = '/account/notifications';

/** The time of the daily e-mail. */
export const DIGEST_TIME = `${String(DIGEST_HOUR).padStart(2, '0')}:00 UTC`;

/**
 * Creates the job that sends e-mail about new messages to members. A message that a member wants in the daily e-mail, or
 * that exceeds the limit of single ones, is added to the digest of the member, which is due on the next day.
 * @param url the public URL of the pages, without a trailing slash
 */
export function noticeEmails({ url, ...deps }: EmailJobDeps & { readonly url: string }) {
  return emailJob(deps, {
    name: 'notice_emails',
    queue: noticeQueue,
    async compose(tx, notice) {
      const recipient = await tx.first(recipientOf, notice);
      if (recipient === undefined) return undefined;
      const waiting = { ...notice, ...recipient, url };
      return notice.kind === 'digest' ? digestOf(tx, waiting) : noticeOf(tx, waiting);
    },
    finish: (tx, { id }) => tx.run(deleteNotice, { id }),
  });
}

export const noticeQueue = {
  ...emailQueue('message_notices', [
    'id',
    'account_id as accountId',
    'person_id as personId',
    'kind',
    'message_id as messageId',
    'created_at as createdAt',
    'failures',
  ]),
  // A digest that collects messages is not leased.
  endLeases: query((db, p: Params<{ now: number }>) =>
    db.updateTable('message_notices').set({ due_at: p.now }).where('due_at', '>', p.now).where('collects', 'is', null),
  ),
};

type ClaimedNotice = NonNullable<(typeof noticeQueue.claim)['row']>;
type Waiting = ClaimedNotice & NonNullable<(typeof recipientOf)['row']> & { readonly url: string };

/** Returns the e-mail about one message; `undefined` if it joins the digest, or is archived or spam meanwhile. */
async function noticeOf(tx: Transaction, notice: Waiting): Promise<Email | undefined> {
  const { accountId, personId, messageId, failures, accountEmail, email, name, notices, url } = notice;
  // The job `mail` sends to the address of the account.
  if (notices === 'each' && email === accountEmail) return undefined;
  const message = await tx.first(openMessage, { id: messageId });
  if (message === undefined) return undefined;
  // Further attempts with the same e-mail do not count.
  const isOver =
    failures === 0 && notices === 'each' && (await countAttempt(tx, LIMIT, `${accountId} ${personId}`)) > 0;
  if (notices === 'daily' || isOver) {
    await tx.run(collect, { accountId, personId, messageId, now: tx.now, dueAt: nextDigest(tx.now) });
    return undefined;
  }
  return emailOf(tx, notice, {
    replyTo: message.replyTo,
    subject: `A message about ${message.pet ?? 'an animal'}`,
    text: `${message.text}

--
Read it in the inbox of ${name}: ${url}/shelter/messages/${messageIdOf(messageId)}
You get this e-mail because you chose one for each message. After ${LIMIT.max} of them within a day, further messages come in one e-mail at ${DIGEST_TIME}.
`,
  });
}

const LIMIT = attemptLimits.noticesToMember;

/**
 * Returns the e-mail about all messages since the first one that the digest has collected, if they are still unread.
 * From now on the next digest collects.
 */
async function digestOf(tx: Transaction, notice: Waiting): Promise<Email | undefined> {
  const { id, accountId, personId, messageId, name, notices, url } = notice;
  await tx.run(endCollecting, { id });
  // After failed attempts, this e-mail also has what the next one has collected.
  await tx.run(deleteCollecting, { accountId, personId });
  const pets = await tx.all(unreadByPet, { accountId, since: messageId });
  if (pets.length === 0) return undefined;
  const listed = pets.slice(0, DIGEST_ANIMALS_MAX);
  const [total, others] = [pets, pets.slice(DIGEST_ANIMALS_MAX)].map(all =>
    all.reduce((sum, { count }) => sum + count, 0),
  );
  const lines = [
    ...listed.map(({ pet, count }) => `${pet ?? 'An animal that is gone'}: ${messagesText(count)}`),
    ...(others! > 0 ? [`Other animals: ${messagesText(others!)}`] : []),
  ];
  const reason =
    notices === 'each'
      ? `You get at most ${LIMIT.max} e-mails about single messages within a day. The further ones are in this e-mail.`
      : 'You get this e-mail because you chose one a day, if there are unread messages.';
  return emailOf(tx, notice, {
    replyTo: null,
    subject: `${messagesText(total!, 'new ')} to ${name}`,
    text: `New messages that nobody has opened yet:

${lines.join('\n')}

Read them: ${url}/shelter/messages?show=unread

--
${reason}
`,
  });
}

/** The maximum number of messages that a digest counts: the newest. */
const COUNTED_MAX = 1000;

function messagesText(count: number, kind = ''): string {
  return `${boundedText(count, COUNTED_MAX)} ${kind}${count === 1 ? 'message' : 'messages'}`;
}

/** Returns the e-mail with the links that change the choice. */
async function emailOf(
  tx: Transaction,
  { id, createdAt, email, url, ...member }: Waiting,
  { text, ...content }: Pick<Email, 'replyTo' | 'subject' | 'text'>,
): Promise<Email> {
  const stopUrl = url + mailStopPath(await createMailStop(tx, member));
  return {
    ...{ id: `notice-${id}.${createdAt}`, to: [email], ...content },
    text: `${text}Choose another way: ${url}${NOTICES_PATH}
Want no more e-mail about messages? Open this link and press the button:
${stopUrl}
`,
    ...{ at: createdAt, stopUrl, isAutomatic: true },
  };
}

/** Returns when the next digest is due. A node whose clock is a minute behind cannot send a second one. */
function nextDigest(now: number): number {
  const today = now - (now % DAY_MS) + DIGEST_HOUR * HOUR_MS;
  return today > now + CLOCK_SKEW_MS ? today : today + DAY_MS;
}

const CLOCK_SKEW_MS = 60_000;

/** A member whose address is confirmed and who wants e-mail, in an account that is neither suspended nor ending. */
const recipientOf = query((db, p: Params<{ accountId: number; personId: number }>) =>
  db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .select(['people.email', 'accounts.email as accountEmail', 'accounts.name', 'notices'])
    .where('members.account_id', '=', p.accountId)
    .where('person_id', '=', p.personId)
    .where('left_at', 'is', null)
    .where('notices', 'in', ['each', 'daily'])
    .where('people.email_confirmed_at', 'is not', null)
    .where('suspended_at', 'is', null)
    .where('delete_at', 'is', null)
    .where('deleted_at', 'is', null),
);

const openMessage = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('messages')
    .leftJoin('pets', 'pets.id', 'messages.pet_id')
    .select(['text', 'reply_to as replyTo', 'pets.name as pet'])
    .where('messages.id', '=', p.id)
    .where('folder', 'is', null),
);

const unreadByPet = query((db, p: Params<{ accountId: number; since: number }>) =>
  db
    .selectFrom(({ selectFrom }) =>
      selectFrom('messages')
        .select(['id', 'pet_id'])
        .where('to_account_id', '=', p.accountId)
        .where('id', '>=', p.since)
        .where('folder', 'is', null)
        .where('unread', 'is not', null)
        .where('pet_id', 'is not', null)
        .orderBy('id', 'desc')
        .limit(COUNTED_MAX)
        .as('counted'),
    )
    .leftJoin('pets', 'pets.id', 'counted.pet_id')
    .select(({ fn }) => ['pets.name as pet', fn.countAll<number>().as('count')])
    .groupBy(['counted.pet_id', 'pets.name'])
    .orderBy(({ fn }) => fn.max('counted.id'), 'desc'),
);

type Collected = { accountId: number; personId: number; messageId: number; now: number; dueAt: number };

const collect = query((db, p: Params<Collected>) =>
  db
    .insertInto('message_notices')
    .values({
      account_id: p.accountId,
      person_id: p.personId,
      kind: 'digest',
      message_id: p.messageId,
      collects: 1,
      created_at: p.now,
      due_at: p.dueAt,
    })
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'person_id', 'collects'])
        .doUpdateSet(eb => ({ message_id: eb.ref('excluded.message_id') }))
        .whereRef('excluded.message_id', '<', 'message_notices.message_id'),
    ),
);

const endCollecting = query((db, p: Params<{ id: number }>) =>
  db.updateTable('message_notices').set({ collects: null }).where('id', '=', p.id),
);

const deleteCollecting = query((db, p: Params<{ accountId: number; personId: number }>) =>
  db
    .deleteFrom('message_notices')
    .where('account_id', '=', p.accountId)
    .where('person_id', '=', p.personId)
    .where('collects', '=', 1),
);

const deleteNotice = query((db, p: Params<{ id: number }>) => db.deleteFrom('message_notices').where('id', '=', p.id));
