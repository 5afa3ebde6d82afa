import { hashSecret, newSecret } from '../../access/sessions/session.ts';
import { durationIn } from '../../lib/time.ts';
import { type Params, query } from '../../model/schema.ts';
import { type EmailJobDeps, emailJob, emailQueue } from '../messages/email-job.ts';
import type { Email } from '../messages/email-sender.ts';
import { WAITING_MS } from './visitor-messages.ts';

/** Returns the path of the page on which a visitor confirms a message. */
export function confirmPath(secret: string): string {
  return `/confirm-message/${secret}`;
}

/**
 * Creates the job that sends visitors the links that confirm their messages. A message whose e-mail is rejected
 * permanently is deleted, because it cannot be confirmed. A message expires before its last retry.
 */
export function visitorEmails(deps: EmailJobDeps) {
  return emailJob(deps, {
    name: 'visitor_emails',
    queue: visitorEmailQueue,
    async compose(tx, message) {
      const secret = newSecret();
      await tx.run(storeHash, { id: message.id, hash: hashSecret(secret) });
      return emailOf(message, message.url + confirmPath(secret));
    },
    finish: (tx, { id }, outcome) => (outcome === 'sent' ? tx.run(recordSent, { id }) : tx.run(deleteMessage, { id })),
  });
}

export const visitorEmailQueue = emailQueue('visitor_messages', [
  'id',
  'pet_id as petId',
  'email',
  'url',
  'created_at as createdAt',
  'failures',
]);

type ClaimedMessage = NonNullable<(typeof visitorEmailQueue.claim)['row']>;

/** The e-mail contains no text that its sender typed, because the recipient may be another person. */
function emailOf({ id, petId, email, createdAt }: ClaimedMessage, link: string): Email {
  return {
    id: `visitor-${id}.${createdAt}`,
    to: [email],
    replyTo: null,
    subject: `Confirm your message about animal ${petId}`,
    text: `Someone wrote a message about animal ${petId} on the Pet Store, with this address for replies. Open this link and press
the button to send the message to the animal's owner. The link works for ${durationIn('day', WAITING_MS, 'words')}:

${link}

If that was not you, ignore this e-mail: the message is not sent.
`,
    at: createdAt,
  };
}

const storeHash = query((db, p: Params<{ id: number; hash: string }>) =>
  db.updateTable('visitor_messages').set({ hash: p.hash }).where('id', '=', p.id),
);

const recordSent = query((db, p: Params<{ id: number }>) =>
  db.updateTable('visitor_messages').set({ due_at: null }).where('id', '=', p.id),
);

const deleteMessage = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('visitor_messages').where('id', '=', p.id),
);
