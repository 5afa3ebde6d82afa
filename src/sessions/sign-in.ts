import { createAccount, findAccountByEmail } from '../accounts/accounts.ts';
import type { Database } from '../schema.ts';
import { addressSubject, attemptLimits, countAttempt, forgetAttempts, tooManyAttempts } from './attempts.ts';
import type { PasswordHasher } from './password-hasher.ts';
import { findPassword, storePassword } from './passwords.ts';
import type { Session } from './session.ts';
import { startSession } from './sessions.ts';

/** Who signs in or up: the address and the `User-Agent` of the browser. */
type Browser = Pick<Session, 'address' | 'userAgent'>;

/** What people sign in with. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/**
 * Signs a browser in. Takes equally long for unknown addresses and wrong passwords.
 * @returns the secret of the session's cookie; `undefined` if the address is unknown or the password is wrong
 * @throws {Problem} `too_many_attempts`, by address and by account; `overloaded`
 */
export async function signIn(
  database: Database,
  passwords: PasswordHasher,
  { email, password }: Credentials,
  browser: Browser,
): Promise<string | undefined> {
  const subject = email.toLowerCase();
  const waitMs = await database.write(async tx =>
    Math.max(
      await countAttempt(tx, attemptLimits.signInByAddress, addressSubject(browser.address)),
      await countAttempt(tx, attemptLimits.signInByAccount, subject),
    ),
  );
  if (waitMs > 0) throw tooManyAttempts(waitMs);
  const account = await findAccountByEmail(database, email);
  const stored = account && (await findPassword(database, account.id));
  if (!(await passwords.verify(password, stored))) return undefined;
  const { secret } = await database.write(async tx => {
    await forgetAttempts(tx, attemptLimits.signInByAccount, subject);
    return startSession(tx, account!.id, browser);
  });
  return secret;
}

/**
 * Creates an account with a password, unless another account has the address. The caller must not tell which, or everyone
 * could find out who has an account.
 * @throws {Problem} `too_many_attempts`; `overloaded`
 */
export async function signUp(
  database: Database,
  passwords: PasswordHasher,
  { email, password, name }: Credentials & { readonly name: string },
  browser: Browser,
): Promise<void> {
  const limit = attemptLimits.signUpByAddress;
  const waitMs = await database.write(tx => countAttempt(tx, limit, addressSubject(browser.address)));
  if (waitMs > 0) throw tooManyAttempts(waitMs);
  const hash = await passwords.hash(password);
  await database.write(async tx => {
    if ((await findAccountByEmail(tx, email)) !== undefined) return;
    const { id } = await createAccount(tx, { email, name });
    await storePassword(tx, id, hash);
  });
}
