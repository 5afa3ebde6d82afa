import { isEmail } from '../../lib/email.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Account } from '../../model/account.ts';
import type { Person } from '../../model/person.ts';
import type { Database, Reader, Transaction } from '../../model/schema.ts';
import { createAccount, findAccountByEmail } from '../accounts/accounts.ts';
import { findPerson, findPersonByEmail, listMemberships } from '../accounts/people.ts';
import { countedAddress } from '../limits/address.ts';
import {
  type AttemptLimit,
  attemptLimits,
  countAttempt,
  emailSubject,
  forgetAttempts,
  requireAttempt,
  tooManyAttempts,
} from './attempts.ts';
import { queueEmail } from './emails.ts';
import { isKnownBrowser, knownBrowserOf } from './known-browser.ts';
import { LINK_MS } from './links.ts';
import { type OwnPasskey, takePasskey } from './passkeys.ts';
import type { PasswordHasher } from './password-hasher.ts';
import { findPassword, storePassword } from './passwords.ts';
import type { Session } from './session.ts';
import { startSession } from './sessions.ts';
import { type Started, startSignIn } from './sign-ins.ts';

/** The address and the `User-Agent` of the browser of a person who signs in or up. */
export interface Browser extends Pick<Session, 'address' | 'userAgent'> {
  /** The cookie of a browser that has signed in before; see `known-browser.ts`. */
  readonly known?: string | undefined;
}

/** The e-mail address and password that people sign in with. */
interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** The dependencies of signing in and up. */
export interface SignInDeps {
  /** Production's database. */
  readonly database: Database;
  readonly passwords: PasswordHasher;
  /**
   * The public URL for links in e-mails; absent if the process sends no e-mail. Then addresses need no confirmation.
   */
  readonly emailUrl: string | undefined;
}

/**
 * Signs a person in with the password; see `startSignIn` for one with a second factor. Takes equally long for unknown
 * addresses and wrong passwords. If the process sends e-mail, a person with an unconfirmed address is rejected like a
 * wrong password: otherwise signing up and in would reveal whether an address has an account.
 * @returns the account whose pages the session shows, what has started, and the value of the cookie of the browser;
 *   `undefined` if the address or the password is wrong, or the person is a member of no account
 * @throws {Problem} `too_many_attempts`, by address and by person; `overloaded`
 */
export async function signIn(
  { database, passwords, emailUrl }: SignInDeps,
  { email, password }: Credentials,
  browser: Browser,
): Promise<{ readonly account: Account; readonly started: Started; readonly known: string } | undefined> {
  const verified = await verifyCredentials({ database, passwords }, { email, password }, browser);
  if (verified === undefined) return undefined;
  const { person, known } = verified;
  if (emailUrl !== undefined && person.emailConfirmedAt === undefined) return undefined;
  const [first] = await listMemberships(database, person.id);
  if (first === undefined) return undefined;
  const started = await database.write(async tx => {
    await forgetAttempts(tx, ...personLimit(email, person, true));
    await forgetAttempts(tx, ...personLimit(email, person, false));
    return startSignIn(tx, person.id, browser, first.account.id);
  });
  return { account: first.account, started, known };
}

/**
 * Signs a person in with a passkey that has checked its user, so that no further factor is needed.
 * @param challengeAt the time of its challenge
 * @returns the account whose pages the session shows, and the secret of its cookie; `undefined` if the passkey was used
 *   with a later challenge, or the person could not sign in with a password either
 */
export async function signInByPasskey(
  { database, emailUrl }: Pick<SignInDeps, 'database' | 'emailUrl'>,
  { id, personId }: OwnPasskey,
  used: Parameters<typeof takePasskey>[2],
  challengeAt: number,
  browser: Browser,
): Promise<{ readonly account: Account; readonly secret: string } | undefined> {
  return database.write(async tx => {
    const person = await findPerson(tx, personId);
    if (person === undefined || (emailUrl !== undefined && person.emailConfirmedAt === undefined)) return undefined;
    const [first] = await listMemberships(tx, personId);
    if (first === undefined || !(await takePasskey(tx, id, used, challengeAt))) return undefined;
    return { account: first.account, secret: (await startSession(tx, personId, browser, first.account.id)).secret };
  });
}

/**
 * Returns the person with this address and password, with the cookie of a browser that has signed in, and counts the
 * attempt: by network, and by person. Browsers that have signed in before have a separate count. Attempts of a network
 * at its limit do not count for the person.
 * @throws {Problem} `too_many_attempts`, by address and by person; `overloaded`
 */
export async function verifyCredentials(
  { database, passwords }: Pick<SignInDeps, 'database' | 'passwords'>,
  { email, password }: Credentials,
  { address, known }: Pick<Browser, 'address' | 'known'>,
): Promise<{ readonly person: Person; readonly known: string } | undefined> {
  const person = isEmail(email) ? await findPersonByEmail(database, email) : undefined;
  const stored = await findPassword(database, person?.id ?? NOBODY);
  const isKnown = known !== undefined && stored !== undefined && isKnownBrowser(known, stored);
  const network = countedAddress(address);
  const waitMs = await database.write(async tx => {
    const ofNetwork = await countAttempt(tx, attemptLimits.signInByAddress, network);
    return ofNetwork > 0 ? ofNetwork : countAttempt(tx, ...personLimit(email, person, isKnown));
  });
  if (waitMs > 0) throw tooManyAttempts(waitMs);
  if (!(await passwords.verify(password, stored, network))) return undefined;
  return { person: person!, known: knownBrowserOf(stored!) };
}

/** An id that no person has. */
const NOBODY = 0;

/**
 * Returns the limit of attempts to sign in as a person, and their subject. @param person the one with the address, if
 * there is one
 */
function personLimit(email: string, person: Person | undefined, isKnown: boolean): [AttemptLimit, string] {
  return isKnown && person !== undefined
    ? [attemptLimits.signInByKnownBrowser, String(person.id)]
    : [attemptLimits.signInByPerson, emailSubject(email)];
}

/**
 * Creates an account, and its owner with a password, and e-mails a link that confirms the address. If a person or an
 * account has the address already, only e-mails a note about it. An account whose address is not confirmed is deleted
 * when the link ends. The caller must not reveal which case occurred, so that it stays unknown whether an address has
 * an account.
 * @throws {Problem} `too_many_attempts`; `overloaded`
 */
export async function signUp(
  { database, passwords, emailUrl }: SignInDeps,
  { email, password, name }: Credentials & { readonly name: string },
  { address }: Pick<Browser, 'address'>,
): Promise<void> {
  const network = countedAddress(address);
  await requireAttempt(database, attemptLimits.signUpByAddress, network);
  const hash = await passwords.hash(password, network);
  const inform = (tx: Transaction, kind: 'confirm' | 'account_exists', accountId: number | null) =>
    queueEmail(tx, { kind, accountId, email, url: emailUrl });
  const create = async (tx: Transaction) => {
    if (await isTaken(tx, email)) return inform(tx, 'account_exists', null);
    const confirmBy = emailUrl === undefined ? undefined : tx.now + LINK_MS.confirm;
    const { id } = await createAccount(tx, { email, name }, confirmBy);
    await storePassword(tx, id, hash);
    return inform(tx, 'confirm', id);
  };
  try {
    await database.write(create);
  } catch (error) {
    // Another sign-up with this address was faster, on another connection.
    if (!(error instanceof UserError) || !(await isTaken(database, email))) throw error;
    await database.write(tx => inform(tx, 'account_exists', null));
  }
}

async function isTaken(reader: Reader, email: string): Promise<boolean> {
  return ((await findPersonByEmail(reader, email)) ?? (await findAccountByEmail(reader, email))) !== undefined;
}
