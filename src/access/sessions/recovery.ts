import { isEmail } from '../../lib/email.ts';
import type { SessionOrigin } from '../../lib/origin.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Person } from '../../model/person.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import { changeAddress, confirmAddress, recordPasswordChanges } from '../accounts/addresses.ts';
import { findPerson } from '../accounts/people.ts';
import { countedAddress } from '../limits/address.ts';
import { attemptLimits, emailSubject, forgetAttempts, requireAttempt } from './attempts.ts';
import { queueEmail } from './emails.ts';
import { deleteLinks, type Link, takeLink } from './links.ts';
import { storePassword } from './passwords.ts';
import { endSessions } from './sessions.ts';
import type { Browser } from './sign-in.ts';
import { type Started, startSignIn } from './sign-ins.ts';

/**
 * Queues an e-mail with a link that resets the password of the person with this address. Does not look up the person:
 * the job that sends the e-mail does, so that a request takes equally long whether or not there is one.
 * @param url the public URL of the pages
 * @throws {Problem} `too_many_attempts`, by address
 */
export async function requestReset(
  database: Database,
  email: string,
  { address }: Pick<Browser, 'address'>,
  url: string,
): Promise<void> {
  await requireAttempt(database, attemptLimits.resetByAddress, countedAddress(address));
  if (isEmail(email)) await database.write(tx => queueEmail(tx, { kind: 'reset', accountId: null, email, url }));
}

/** The result of using a link. */
type LinkResult =
  | 'done'
  /** The link was used, has expired, or its person is gone. */
  | 'ended'
  /** Another person or account has the address that it confirms. */
  | 'taken';

/**
 * Confirms the address to which a link was sent. If the person has another address, replaces it and notifies the old
 * address.
 * @param emailUrl the public URL of the pages; absent if the process sends no e-mail
 */
export async function confirmByLink(
  database: Database,
  secret: string,
  origin: SessionOrigin,
  emailUrl?: string,
): Promise<LinkResult> {
  try {
    return await database.write(async tx => {
      const taken = await takenLink(tx, secret, 'confirm');
      if (taken === undefined) return 'ended';
      const { link, person } = taken;
      if (link.email === person.email) {
        await confirmAddress(tx, person);
        return 'done';
      }
      const { id: accountId, email } = person;
      await confirmAddress(tx, await changeAddress(tx, person, link.email));
      await queueEmail(tx, { kind: 'email_changed', accountId, email, url: emailUrl });
      return 'done';
    }, origin);
  } catch (error) {
    // Another person has taken the address since the link was sent; the link stays valid.
    if (error instanceof UserError) return 'taken';
    throw error;
  }
}

/** Replaces the password of the person of a link, and ends the person's sessions and other links. */
export function resetPassword(
  database: Database,
  secret: string,
  hash: string,
  origin: SessionOrigin,
): Promise<LinkResult> {
  return database.write(async tx => {
    const taken = await takenLink(tx, secret, 'reset');
    if (taken === undefined) return 'ended';
    const { link, person } = taken;
    // The person has another address now: readers of the old mailbox must not sign in.
    if (link.email !== person.email) return 'ended';
    await replacePassword(tx, person, hash);
    await deleteLinks(tx, person.id);
    await confirmAddress(tx, person);
    return 'done';
  }, origin);
}

/**
 * Signs a browser in with a link of the operator, which also confirms the address. It replaces the password, not a second
 * factor; see `startSignIn`.
 * @param hash the hash of a new password, if one was chosen; it ends the other sessions
 * @returns what has started; `undefined` if the link has ended
 */
export function signInByLink(
  database: Database,
  secret: string,
  hash: string | undefined,
  browser: Browser,
  origin: SessionOrigin,
): Promise<Started | undefined> {
  return database.write(async tx => {
    const taken = await takenLink(tx, secret, 'sign_in');
    if (taken === undefined) return undefined;
    const { person } = taken;
    if (hash !== undefined) await replacePassword(tx, person, hash);
    await confirmAddress(tx, person);
    return startSignIn(tx, person.id, browser);
  }, origin);
}

/** Stores a new password, ends the sessions of the person except `except`, and records the change. */
export async function replacePassword(tx: Transaction, person: Person, hash: string, except = 0): Promise<void> {
  await storePassword(tx, person.id, hash);
  await endSessions(tx, person.id, except);
  await forgetAttempts(tx, attemptLimits.signInByPerson, emailSubject(person.email));
  await recordPasswordChanges(tx, person);
}

/** Consumes a link for a purpose; returns `undefined` if it has ended, or its person is a member of no account. */
async function takenLink(
  tx: Transaction,
  secret: string,
  purpose: Link['purpose'],
): Promise<{ link: Link; person: Person } | undefined> {
  const link = await takeLink(tx, secret, purpose);
  const person = link && (await findPerson(tx, link.personId));
  return person && { link, person };
}
