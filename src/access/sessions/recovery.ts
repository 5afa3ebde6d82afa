import { isEmail } from '../../lib/email.ts';
import type { SessionOrigin } from '../../lib/origin.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Account } from '../../model/account.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import { confirmEmail, getAccount, recordPasswordChange, updateAccount } from '../accounts/accounts.ts';
import { addressSubject, attemptLimits, emailSubject, forgetAttempts, requireAttempt } from './attempts.ts';
import { queueEmail } from './emails.ts';
import { deleteLinks, type Link, takeLink } from './links.ts';
import { storePassword } from './passwords.ts';
import { endSessions, startSession } from './sessions.ts';
import type { Browser } from './sign-in.ts';

/**
 * Queues an e-mail with a link that resets the password of the account with this address. Does not look up the account:
 * the job that sends the e-mail does, so that a request takes equally long whether or not an account exists.
 * @param url the public URL of the pages
 * @throws {Problem} `too_many_attempts`, by address
 */
export async function requestReset(
  database: Database,
  email: string,
  { address }: Pick<Browser, 'address'>,
  url: string,
): Promise<void> {
  await requireAttempt(database, attemptLimits.resetByAddress, addressSubject(address));
  if (isEmail(email)) await database.write(tx => queueEmail(tx, { kind: 'reset', accountId: null, email, url }));
}

/** The result of using a link. */
export type LinkResult =
  | 'done'
  /** The link was used, has expired, or its account is deleted. */
  | 'ended'
  /** Another account has the address that it confirms. */
  | 'taken';

/**
 * Confirms the address to which a link was sent. If the account has another address, replaces it and notifies the old
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
      const { link, account } = taken;
      if (link.email === account.email) {
        await confirmEmail(tx, account);
        return 'done';
      }
      const { id: accountId, email } = account;
      await confirmEmail(tx, await updateAccount(tx, accountId, { email: link.email }));
      if (emailUrl !== undefined) await queueEmail(tx, { kind: 'email_changed', accountId, email, url: emailUrl });
      return 'done';
    }, origin);
  } catch (error) {
    // Another account has taken the address since the link was sent; the link stays valid.
    if (error instanceof UserError) return 'taken';
    throw error;
  }
}

/** Replaces the password of the account of a link, and ends its sessions and other links. */
export function resetPassword(
  database: Database,
  secret: string,
  hash: string,
  origin: SessionOrigin,
): Promise<LinkResult> {
  return database.write(async tx => {
    const taken = await takenLink(tx, secret, 'reset');
    if (taken === undefined) return 'ended';
    const { link, account } = taken;
    // The account has another address now: readers of the old mailbox must not open the account.
    if (link.email !== account.email) return 'ended';
    await replacePassword(tx, account, hash);
    await deleteLinks(tx, account.id);
    await confirmEmail(tx, account);
    return 'done';
  }, origin);
}

/**
 * Signs a browser in with a link of the operator, which also confirms the address.
 * @param hash the hash of a new password, if one was chosen; it ends the other sessions
 * @returns the secret of the session's cookie; `undefined` if the link has ended
 */
export function signInByLink(
  database: Database,
  secret: string,
  hash: string | undefined,
  browser: Browser,
  origin: SessionOrigin,
): Promise<string | undefined> {
  return database.write(async tx => {
    const taken = await takenLink(tx, secret, 'sign_in');
    if (taken === undefined) return undefined;
    const { account } = taken;
    if (hash !== undefined) await replacePassword(tx, account, hash);
    await confirmEmail(tx, account);
    return (await startSession(tx, account.id, browser)).secret;
  }, origin);
}

/** Stores a new password, ends the sessions of the account except `except`, and records the change. */
export async function replacePassword(tx: Transaction, account: Account, hash: string, except = 0): Promise<void> {
  await storePassword(tx, account.id, hash);
  await endSessions(tx, account.id, except);
  await forgetAttempts(tx, attemptLimits.signInByAccount, emailSubject(account.email));
  await recordPasswordChange(tx, account);
}

/** Consumes a link for a purpose; returns `undefined` if it has ended, or its account is deleted. */
async function takenLink(
  tx: Transaction,
  secret: string,
  purpose: Link['purpose'],
): Promise<{ link: Link; account: Account } | undefined> {
  const link = await takeLink(tx, secret, purpose);
  if (link === undefined) return undefined;
  const account = await getAccount(tx, link.accountId);
  return account.deletedAt === undefined ? { link, account } : undefined;
}
