import { hash } from 'node:crypto';
import { Problem } from '../../lib/http/problem.ts';
import { DAY_MS } from '../../lib/time.ts';
import { type Database, type Params, query, retentionRule, type Transaction } from '../../model/schema.ts';
import { countedAddress } from '../limits/address.ts';

/** The number of attempts that an action allows in a period. */
export interface AttemptLimit {
  /** The action: the first part of the counter's subject. */
  readonly action: string;
  readonly max: number;
  readonly periodMs: number;
}

const MINUTE_MS = 60_000;

/** The limits of actions on pages that everyone can open. Each counts over all nodes. */
export const attemptLimits = {
  signInByPerson: { action: 'sign in to', max: 10, periodMs: 15 * MINUTE_MS },
  signInByKnownBrowser: { action: 'sign in again to', max: 10, periodMs: 15 * MINUTE_MS },
  signInByAddress: { action: 'sign in from', max: 50, periodMs: 15 * MINUTE_MS },
  signUpByAddress: { action: 'sign up from', max: 10, periodMs: 60 * MINUTE_MS },
  newKeys: { action: 'create keys of', max: 60, periodMs: 60 * MINUTE_MS },
  webhookTests: { action: 'test webhooks of', max: 120, periodMs: 60 * MINUTE_MS },
  resetByAddress: { action: 'ask for links from', max: 20, periodMs: 60 * MINUTE_MS },
  passwordByPerson: { action: 'confirm by the password of', max: 10, periodMs: 15 * MINUTE_MS },
  secondFactor: { action: 'give the second factor of', max: 10, periodMs: 60 * MINUTE_MS },
  recoveryCode: { action: 'give a recovery code of', max: 10, periodMs: 60 * MINUTE_MS },
  factorWarning: { action: 'warn of codes', max: 1, periodMs: DAY_MS },
  resetByRecipient: { action: 'e-mail a reset to', max: 5, periodMs: 60 * MINUTE_MS },
  invitationByRecipient: { action: 'e-mail an invitation to', max: 5, periodMs: 60 * MINUTE_MS },
  emailByRecipient: { action: 'e-mail to', max: 5, periodMs: 60 * MINUTE_MS },
  emailChange: { action: 'change the e-mail address of', max: 5, periodMs: 60 * MINUTE_MS },
  people: { action: 'change the people of', max: 60, periodMs: 60 * MINUTE_MS },
  acceptByAddress: { action: 'accept invitations from', max: 20, periodMs: 60 * MINUTE_MS },
  export: { action: 'export', max: 5, periodMs: 60 * MINUTE_MS },
  askOwnerFromAddress: { action: 'ask one owner from', max: 5, periodMs: 60 * MINUTE_MS },
  askFromAddress: { action: 'ask from', max: 10, periodMs: 60 * MINUTE_MS },
  askFromAddressDaily: { action: 'ask in a day from', max: 40, periodMs: DAY_MS },
  askFromSite: { action: 'ask from site', max: 40, periodMs: 60 * MINUTE_MS },
  askByEmail: { action: 'ask as', max: 3, periodMs: DAY_MS },
  askWaiting: { action: 'ask and wait', max: 10_000, periodMs: DAY_MS },
  askOwnerConfirmed: { action: 'ask confirmed', max: 60, periodMs: 60 * MINUTE_MS },
  askOwnerUnconfirmed: { action: 'ask unconfirmed', max: 200, periodMs: 60 * MINUTE_MS },
  replyToRecipient: { action: 'reply to', max: 5, periodMs: DAY_MS },
  noticesToMember: { action: 'e-mail messages to', max: 50, periodMs: DAY_MS },
} as const satisfies Record<string, AttemptLimit>;

/**
 * Counts an attempt, whether or not it succeeds.
 * @param subject the client or the target of the attempt: a person, an account, or the network of an address
 * @returns the milliseconds to wait if the limit is exceeded, otherwise 0
 */
export async function countAttempt(
  tx: Transaction,
  { action, max, periodMs }: AttemptLimit,
  subject: string,
): Promise<number> {
  const { since, count } = (await tx.first(addAttempt, {
    subject: `${action} ${subject}`,
    now: tx.now,
    over: tx.now - periodMs,
  }))!;
  return count > max ? since + periodMs - tx.now : 0;
}

/** Returns the subject of attempts with an e-mail address, valid or not: a hash, so that the address is not stored. */
export function emailSubject(email: string): string {
  return hash('sha256', email.toLowerCase(), 'base64');
}

/** Returns the subject of the mailbox of an e-mail address: `jo+1@example.org` and `jo+2@example.org` are usually one. */
export function mailboxSubject(email: string): string {
  return emailSubject(email.replace(/\+.*@/, '@'));
}

/** Returns the /48 of an IPv6 address, the usual prefix of one site (RFC 6177); `undefined` for other addresses. */
export function siteSubject(address: string): string | undefined {
  const [groups, size] = countedAddress(address).split('::/');
  return size === undefined ? undefined : `${groups!.split(':', 3).join(':')}::/48`;
}

/** Returns the error for too many attempts. @param waitMs the milliseconds to wait */
export function tooManyAttempts(waitMs: number, reason = 'Too many attempts.'): Problem {
  const seconds = Math.ceil(waitMs / 1000);
  const minutes = Math.ceil(seconds / 60);
  const wait = minutes === 1 ? 'a minute' : minutes > 120 ? `${Math.ceil(minutes / 60)} hours` : `${minutes} minutes`;
  const message = `${reason} Try again in ${wait}.`;
  return new Problem('too_many_attempts', 429, message, { headers: ['Retry-After', `${seconds}`] });
}

/** Deletes the count of a subject, after a successful attempt. */
export async function forgetAttempts(tx: Transaction, { action }: AttemptLimit, subject: string): Promise<void> {
  await tx.run(deleteAttempts, { subject: `${action} ${subject}` });
}

/**
 * Counts an attempt in a separate transaction, so that it counts even if a later step fails.
 * @throws {Problem} `too_many_attempts`
 */
export async function requireAttempt(database: Database, limit: AttemptLimit, subject: string): Promise<void> {
  const waitMs = await database.write(tx => countAttempt(tx, limit, subject));
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

const PERIOD_MAX_MS = Math.max(...Object.values(attemptLimits).map(({ periodMs }) => periodMs));

/** Deletes attempts whose period has ended; a retention rule. */
export const deleteOldAttempts = retentionRule('attempts', ['subject'], 'since', PERIOD_MAX_MS);

const addAttempt = query((db, p: Params<{ subject: string; now: number; over: number }>) =>
  db
    .insertInto('attempts')
    .values({ subject: p.subject, since: p.now, count: 1 })
    .onConflict(conflict =>
      conflict.column('subject').doUpdateSet(eb => {
        const isOver = eb('attempts.since', '<=', p.over);
        // A period in the future began before the clock was set back; it starts again now.
        const starts = eb.or([isOver, eb('attempts.since', '>', p.now)]);
        return {
          since: eb.case().when(starts).then(p.now).else(eb.ref('attempts.since')).end(),
          count: eb
            .case()
            .when(isOver)
            .then(1)
            .else(eb('attempts.count', '+', 1))
            .end(),
        };
      }),
    )
    .returning(['since', 'count']),
);

const deleteAttempts = query((db, p: Params<{ subject: string }>) =>
  db.deleteFrom('attempts').where('subject', '=', p.subject),
);
