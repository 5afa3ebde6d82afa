import { lockBound } from '../../access/plans/lock.ts';
import { countStored } from '../../access/plans/stored-bytes.ts';
import { attemptLimits, countAttempt, mailboxSubject, tooManyAttempts } from '../../access/sessions/attempts.ts';
import { personIdOf } from '../../lib/origin.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Account } from '../../model/account.ts';
import { problem } from '../../model/errors.ts';
import type { MessageRow, ReceivedMessage } from '../../model/message.ts';
import type { Bounds } from '../../model/plan.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { findPublicOrganization } from '../organizations/organizations.ts';
import { visitorPartsOf } from '../visitor-messages/visitor-messages.ts';
import { isMailStopped } from './mail-stops.ts';

/** A reply to a message by e-mail. */
export interface EmailReply {
  readonly id: number;
  readonly email: string;
  readonly text: string;
  readonly createdAt: number;
  /** The member who wrote it; null if unknown. */
  readonly personId: number | null;
  /** When the mail server accepted it; null before. */
  readonly sentAt: number | null;
  /** When the next attempt to send it is due; null if none follows. */
  readonly dueAt: number | null;
}

/**
 * Returns whether a message can be answered by e-mail: `yes`; `unconfirmed` if no visitor has confirmed the address;
 * `stopped` if the visitor wants no more replies.
 */
export async function replyState(reader: Reader, message: MessageRow): Promise<'yes' | 'unconfirmed' | 'stopped'> {
  const { replyTo } = message;
  if (replyTo === null || visitorPartsOf(message)?.isConfirmed !== true) return 'unconfirmed';
  return (await isMailStopped(reader, replyTo)) ? 'stopped' : 'yes';
}

/** A reply of the recipient of a message. */
interface NewReplyTo {
  readonly message: ReceivedMessage;
  readonly text: string;
  /** The public URL of the pages, without a trailing slash. */
  readonly url: string;
  readonly bounds: Pick<Bounds, 'emailReplies' | 'storedBytes'>;
}

/**
 * Queues a reply to the visitor who wrote a message. The job `reply_emails` sends it.
 * @throws {Problem} `reply_not_possible`, `reply_limit_exceeded`, `too_many_attempts` by recipient,
 *   `storage_limit_exceeded`
 */
export async function replyByEmail(tx: Transaction, { message, text, url, bounds }: NewReplyTo): Promise<void> {
  const { id: messageId, toAccountId: accountId, replyTo: email } = message;
  if (email === null || (await replyState(tx, message)) !== 'yes') throw problem('reply_not_possible');
  await lockBound(tx, 'messages', accountId);
  const max = bounds.emailReplies;
  if ((await repliesToday(tx, accountId, tx.now)) >= max) {
    const waitMs = DAY_MS - (tx.now % DAY_MS);
    const message = `Your account has sent ${countText(max)} replies by e-mail today, the maximum of its plan. The count starts again at midnight UTC.`;
    throw problem('reply_limit_exceeded', message, { headers: ['Retry-After', `${Math.ceil(waitMs / 1000)}`] });
  }
  const waitMs = await countAttempt(tx, attemptLimits.replyToRecipient, mailboxSubject(email));
  if (waitMs > 0) throw tooManyAttempts(waitMs, 'This person got too many e-mails through the store today.');
  await tx.run(insertReply, {
    ...{ messageId, accountId, email, url, text, now: tx.now },
    personId: personIdOf(tx.origin),
  });
  await countStored(tx, accountId, Buffer.byteLength(text), bounds.storedBytes);
}

/** Returns the name and the address for answers that e-mails to visitors have: of the organization, or of the account. */
export async function correspondentOf(
  reader: Reader,
  account: Pick<Account, 'id' | 'name' | 'email'>,
): Promise<{ readonly name: string; readonly email: string }> {
  const organization = await findPublicOrganization(reader, account.id);
  return { name: organization?.name ?? account.name, email: organization?.email ?? account.email };
}

/** Returns the number of replies of an account on the current UTC day. */
export async function repliesToday(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(countReplies, { accountId, since: now - (now % DAY_MS) }))!.replies;
}

/** Returns the newest replies to a message, oldest first: at most `REPLIES_SHOWN`. */
export async function listReplies(reader: Reader, { id }: Pick<MessageRow, 'id'>): Promise<readonly EmailReply[]> {
  return (await reader.all(repliesTo, { messageId: id })).reverse();
}

export const REPLIES_SHOWN = 100;

const countReplies = query((db, p: Params<{ accountId: number; since: number }>) =>
  db
    .selectFrom('message_replies')
    .select(({ fn }) => fn.countAll<number>().as('replies'))
    .where('account_id', '=', p.accountId)
    .where('created_at', '>=', p.since),
);

type NewReplyRow = {
  messageId: number;
  accountId: number;
  personId: number | null;
  email: string;
  url: string;
  text: string;
  now: number;
};

const insertReply = query((db, p: Params<NewReplyRow>) =>
  db.insertInto('message_replies').values({
    message_id: p.messageId,
    account_id: p.accountId,
    person_id: p.personId,
    email: p.email,
    url: p.url,
    text: p.text,
    created_at: p.now,
    due_at: p.now,
  }),
);

const repliesTo = query((db, p: Params<{ messageId: number }>) =>
  db
    .selectFrom('message_replies')
    .select([
      'id',
      'email',
      'text',
      'created_at as createdAt',
      'sent_at as sentAt',
      'due_at as dueAt',
      'person_id as personId',
    ])
    .where('message_id', '=', p.messageId)
    .orderBy('id', 'desc')
    .limit(REPLIES_SHOWN),
);
