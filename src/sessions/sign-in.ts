import type { Account } from '../accounts/account.ts';
import { createAccount, findAccountByEmail } from '../accounts/accounts.ts';
import { isEmail } from '../lib/email.ts';
import { UserError } from '../lib/user-error.ts';
import type { Database, Transaction } from '../schema.ts';
import {
  addressSubject,
  attemptLimits,
  countAttempt,
  emailSubject,
  forgetAttempts,
  requireAttempt,
  tooManyAttempts,
} from './attempts.ts';
import { queueEmail } from './emails.ts';
import type { PasswordHasher } from './password-hasher.ts';
import { findPassword, storePassword } from './passwords.ts';
import type { Session } from './session.ts';
import { startSession } from './sessions.ts';

/** Who signs in or up: the address and the `User-Agent` of the browser. */
export type Browser = Pick<Session, 'address' | 'userAgent'>;

/** What people sign in with. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** What signing in and up need of a process. */
export interface SignInDeps {
  /** Production's database. */
  readonly database: Database;
  readonly passwords: PasswordHasher;
  /** The public URL for links in e-mails; absent if the process sends none. Then addresses need no confirmation. */
  readonly emailUrl: string | undefined;
}

/**
 * Signs a browser in. Takes equally long for unknown addresses and wrong passwords. If e-mail is sent, an account whose
 * address was never confirmed is rejected like a wrong password: otherwise signing up and in would tell who has an
 * account.
 * @returns the account with the secret of the session's cookie; `undefined` if the address or the password is wrong
 * @throws {Problem} `too_many_attempts`, by address and by account; `overloaded`
 */
export async function signIn(
  { database, passwords, emailUrl }: SignInDeps,
  { email, password }: Credentials,
  browser: Browser,
): Promise<{ readonly account: Account; readonly secret: string } | undefined> {
  const account = await verifyCredentials({ database, passwords }, { email, password }, browser);
  if (account === undefined) return undefined;
  if (emailUrl !== undefined && account.emailConfirmedAt === undefined) return undefined;
  const { secret } = await database.write(async tx => {
    await forgetAttempts(tx, attemptLimits.signInByAccount, emailSubject(email));
    return startSession(tx, account.id, browser);
  });
  return { account, secret };
}

/**
 * Returns the account with this address and password, and counts the attempt.
 * @throws {Problem} `too_many_attempts`, by address and by account; `overloaded`
 */
export async function verifyCredentials(
  { database, passwords }: Pick<SignInDeps, 'database' | 'passwords'>,
  { email, password }: Credentials,
  { address }: Pick<Browser, 'address'>,
): Promise<Account | undefined> {
  const waitMs = await database.write(async tx =>
    Math.max(
      await countAttempt(tx, attemptLimits.signInByAddress, addressSubject(address)),
      await countAttempt(tx, attemptLimits.signInByAccount, emailSubject(email)),
    ),
  );
  if (waitMs > 0) throw tooManyAttempts(waitMs);
  const account = isEmail(email) ? await findAccountByEmail(database, email) : undefined;
  const stored = account && (await findPassword(database, account.id));
  return (await passwords.verify(password, stored)) ? account : undefined;
}

/**
 * Creates an account with a password, unless another account has the address, and e-mails a link that confirms the
 * address, or that there is an account already. The caller must not tell which, or everyone could find out who has an
 * account.
 * @throws {Problem} `too_many_attempts`; `overloaded`
 */
export async function signUp(
  { database, passwords, emailUrl }: SignInDeps,
  { email, password, name }: Credentials & { readonly name: string },
  { address }: Pick<Browser, 'address'>,
): Promise<void> {
  await requireAttempt(database, attemptLimits.signUpByAddress, addressSubject(address));
  const hash = await passwords.hash(password);
  const inform = async (tx: Transaction, kind: 'confirm' | 'account_exists', accountId: number | null) => {
    if (emailUrl !== undefined) await queueEmail(tx, { kind, accountId, email, url: emailUrl });
  };
  const create = async (tx: Transaction) => {
    if ((await findAccountByEmail(tx, email)) !== undefined) return inform(tx, 'account_exists', null);
    const { id } = await createAccount(tx, { email, name });
    await storePassword(tx, id, hash);
    return inform(tx, 'confirm', id);
  };
  try {
    await database.write(create);
  } catch (error) {
    // Another sign-up with this address was faster, on another connection.
    if (!(error instanceof UserError) || (await findAccountByEmail(database, email)) === undefined) throw error;
    await database.write(tx => inform(tx, 'account_exists', null));
  }
}
