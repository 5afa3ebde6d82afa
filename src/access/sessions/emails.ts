import { DAY_MS } from '../../lib/time.ts';
import { type Params, query, retentionRule, type Tables, type Transaction } from '../../model/schema.ts';
import { type AttemptLimit, attemptLimits, countAttempt, emailSubject } from './attempts.ts';

/** The subject of an e-mail about a sign-in or the members of an account. */
export type EmailKind = Tables['account_emails']['kind'];

/** An e-mail to queue. */
interface QueuedEmail {
  readonly kind: EmailKind;
  /**
   * The account of an e-mail about its members. For the other kinds, the id of the person; `null` stands for the person
   * who has the address when the e-mail is sent, if there is one.
   */
  readonly accountId: number | null;
  /** The recipient. */
  readonly email: string;
  /** The public URL of the pages, without a trailing slash; `undefined` if the process sends no e-mail. */
  readonly url: string | undefined;
}

/** The retention of a queued e-mail. Without a mail server, no process sends it. */
const QUEUED_MS = 7 * DAY_MS;

/** The e-mails about the members of an account. Others are about a person. */
export const memberKinds = ['invitation', 'member_joined', 'member_left', 'role_changed'] as const;

/**
 * E-mails about a change of the sign-in or of the members. They are not limited here, because only the person or an owner
 * can cause them, or they have a limit that nothing else uses up: nobody shall be able to prevent a warning.
 */
const warnings: readonly EmailKind[] = [
  ...(['email_changed', 'password_changed', 'factor_added', 'factor_removed', 'factor_tried'] as const),
  ...memberKinds.filter(kind => kind !== 'invitation'),
];

/** E-mails with a limit of their own: attackers who use it up only send their links, or invitations. */
const limits: Readonly<Partial<Record<EmailKind, AttemptLimit>>> = {
  reset: attemptLimits.resetByRecipient,
  invitation: attemptLimits.invitationByRecipient,
};

/**
 * Queues an e-mail; a job creates its link and sends it. Does nothing if the process sends no e-mail, and beyond the limit
 * of e-mails to one recipient; the caller must not reveal that.
 */
export async function queueEmail(tx: Transaction, { email, url, ...queued }: QueuedEmail): Promise<void> {
  if (url === undefined) return;
  const isLimited = !warnings.includes(queued.kind);
  const limit = limits[queued.kind] ?? attemptLimits.emailByRecipient;
  const waitMs = isLimited ? await countAttempt(tx, limit, emailSubject(email)) : 0;
  if (waitMs === 0) await tx.run(insertEmail, { ...queued, url, email: email.toLowerCase(), now: tx.now });
}

/** Deletes the queued e-mails about a person. Those about the account with the same id stay. */
export async function deleteEmails(tx: Transaction, personId: number): Promise<void> {
  await tx.run(deleteOfPerson, { personId });
}

/** Deletes e-mails that could not be sent within a week; a retention rule. */
export const deleteOldEmails = retentionRule('account_emails', ['id'], 'created_at', QUEUED_MS);

const insertEmail = query((db, p: Params<QueuedEmail & { url: string; now: number }>) =>
  db.insertInto('account_emails').values({
    kind: p.kind,
    account_id: p.accountId,
    email: p.email,
    url: p.url,
    created_at: p.now,
    due_at: p.now,
    failures: 0,
  }),
);

const deleteOfPerson = query((db, p: Params<{ personId: number }>) =>
  db.deleteFrom('account_emails').where('account_id', '=', p.personId).where('kind', 'not in', memberKinds),
);
