import { getAccount } from '../../access/accounts/accounts.ts';
import { dayFormat } from '../../lib/time.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { type EmailJobDeps, emailJob, emailQueue } from '../messages/email-job.ts';
import type { Email } from '../messages/email-sender.ts';
import { type MessageColumns, messageColumns, rowOf } from '../messages/rows.ts';
import { writtenTextOf } from '../visitor-messages/visitor-messages.ts';
import { createMailStop, isMailStopped, mailStopPath } from './mail-stops.ts';
import { correspondentOf } from './replies.ts';

/** Creates the job that sends replies to messages by e-mail. */
export function replyEmails(deps: EmailJobDeps) {
  return emailJob(deps, {
    name: 'reply_emails',
    queue: replyQueue,
    compose: emailOf,
    finish: (tx, { id }, outcome) => tx.run(recordEnd, { id, sentAt: outcome === 'sent' ? tx.now : null }),
  });
}

export const replyQueue = emailQueue('message_replies', [
  'id',
  'message_id as messageId',
  'account_id as accountId',
  'email',
  'url',
  'text',
  'created_at as createdAt',
  'failures',
]);

type ClaimedReply = NonNullable<(typeof replyQueue.claim)['row']>;

/**
 * Returns the e-mail, with a new link that stops further ones; `undefined` if the recipient has stopped replies, or if
 * the account is suspended or deleted.
 */
async function emailOf(tx: Transaction, reply: ClaimedReply): Promise<Email | undefined> {
  const { id, accountId, email, url, createdAt } = reply;
  const account = await getAccount(tx, accountId);
  const isEnding = account.deleteAt !== undefined || account.deletedAt !== undefined;
  if (isEnding || account.suspendedAt !== undefined || (await isMailStopped(tx, email))) return undefined;
  const sender = await correspondentOf(tx, account);
  const message = rowOf((await tx.first(messageById, { id: reply.messageId }))!);
  const pet = await tx.first(petName, { id: message.petId! });
  const stopUrl = url + mailStopPath(await createMailStop(tx, email));
  const { name } = sender;
  const subject = pet === undefined ? 'Your message about an animal' : `Your message about ${pet.name}`;
  return {
    id: `reply-${id}.${createdAt}`,
    to: [email],
    replyTo: sender.email,
    subject: `${subject}: a reply from ${name}`,
    text: `${reply.text}

${name}

You wrote on ${dayFormat.format(message.createdAt)}:
${quoteOf(writtenTextOf(message))}

--
You get this e-mail because you wrote to ${name} through the Pet Store. Reply to it to write back.
Want no more replies by e-mail from anyone on the Pet Store? Open this link and press the button:
${stopUrl}
`,
    at: createdAt,
    stopUrl,
  };
}

/** Returns the beginning of a text, as a quotation. */
function quoteOf(text: string): string {
  const lines = text.slice(0, QUOTE_LENGTH).split('\n').slice(0, QUOTE_LINES);
  const beginning = lines.join('\n').toWellFormed();
  const isWhole = beginning.length === text.length;
  return (isWhole ? beginning : `${beginning.replace(/\uFFFD$/, '')}…`)
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n');
}

const QUOTE_LENGTH = 500;
const QUOTE_LINES = 10;

const recordEnd = query((db, p: Params<{ id: number; sentAt: number | null }>) =>
  db.updateTable('message_replies').set({ due_at: null, sent_at: p.sentAt }).where('id', '=', p.id),
);

const messageById = query((db, p: Params<{ id: number }>, engine) =>
  db.selectFrom('messages').select(messageColumns(engine)).$castTo<MessageColumns>().where('id', '=', p.id),
);

const petName = query((db, p: Params<{ id: number }>) => db.selectFrom('pets').select('name').where('id', '=', p.id));
