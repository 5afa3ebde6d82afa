import type { Encryptor } from '../../lib/encryption.ts';
import type { Passkey } from '../../lib/webauthn.ts';
import type { Person } from '../../model/person.ts';
import type { Database, Reader, Transaction } from '../../model/schema.ts';
import { recordFactorChanges } from '../accounts/addresses.ts';
import { findPerson, lockPerson } from '../accounts/people.ts';
import { countedAddress } from '../limits/address.ts';
import { attemptLimits, countAttempt, forgetAttempts } from './attempts.ts';
import { type AuthenticatorApp, confirmApp, deleteApp, findApp, takeAppCode } from './authenticator-apps.ts';
import { type EmailKind, queueEmail } from './emails.ts';
import { hasSecondFactor } from './has-second-factor.ts';
import { addPasskey, deletePasskey, listPasskeys, type OwnPasskey } from './passkeys.ts';
import {
  countRecoveryCodes,
  deleteRecoveryCodes,
  isRecoveryCode,
  replaceRecoveryCodes,
  takeRecoveryCode,
} from './recovery-codes.ts';
import { endSessions } from './sessions.ts';

/** What a person has besides the password. An app and a passkey are second factors; recovery codes replace either. */
export interface SecondFactors {
  readonly app: AuthenticatorApp | undefined;
  readonly passkeys: readonly OwnPasskey[];
  /** The number of unused codes. */
  readonly recoveryCodes: number;
}

export async function listSecondFactors(reader: Reader, personId: number): Promise<SecondFactors> {
  return {
    app: await findApp(reader, personId),
    passkeys: await listPasskeys(reader, personId),
    recoveryCodes: await countRecoveryCodes(reader, personId),
  };
}

/**
 * Counts an attempt to give a code. Codes of the app count by person. Recovery codes have 80 random bits and a count of
 * their own, by person and network, so that nobody who guesses from elsewhere can block them. Sends the person an e-mail
 * when the codes of the app are blocked, once a day at most.
 * @param address the IP address of the sender
 * @param emailUrl the public URL of the pages; absent if the process sends no e-mail
 * @returns the milliseconds to wait if the limit is exceeded, otherwise 0
 */
export function countCode(
  database: Database,
  personId: number,
  { typed, address }: { readonly typed: string; readonly address: string },
  emailUrl: string | undefined,
): Promise<number> {
  const subject = String(personId);
  const { recoveryCode, secondFactor, factorWarning } = attemptLimits;
  return database.write(async tx => {
    if (isRecoveryCode(typed)) return countAttempt(tx, recoveryCode, `${subject} ${countedAddress(address)}`);
    const waitMs = await countAttempt(tx, secondFactor, subject);
    if (waitMs === 0 || emailUrl === undefined || (await countAttempt(tx, factorWarning, subject)) > 0) return waitMs;
    const person = await findPerson(tx, personId);
    if (person !== undefined) await sendEmail(tx, person, 'factor_tried', emailUrl);
    return waitMs;
  });
}

/**
 * Accepts a code of the app of a person, or one of the recovery codes, once. Reports whether it was right. The caller
 * counts the attempt. A right code resets the count of the app.
 */
export async function takeCode(
  tx: Transaction,
  encryptor: Encryptor,
  personId: number,
  typed: string,
): Promise<boolean> {
  const isRight = (await takeAppCode(tx, encryptor, personId, typed)) || (await takeRecoveryCode(tx, personId, typed));
  if (isRight) await forgetAttempts(tx, attemptLimits.secondFactor, String(personId));
  return isRight;
}

/**
 * Completes the setup of the app of a person with one of its codes, and sends the person an e-mail.
 * @param emailUrl the public URL of the pages; absent if the process sends no e-mail
 * @returns new recovery codes if the person had none; `undefined` if the code is wrong
 */
export async function addApp(
  tx: Transaction,
  encryptor: Encryptor,
  person: Person,
  code: string,
  emailUrl: string | undefined,
): Promise<readonly string[] | undefined> {
  await lockPerson(tx, person.id);
  return (await confirmApp(tx, encryptor, person.id, code)) ? added(tx, person, emailUrl) : undefined;
}

/**
 * The same for a verified passkey.
 * @param challengeAt the time of its challenge
 * @throws {UserError} if anyone has the passkey already, or the person has too many
 */
export async function addOwnPasskey(
  tx: Transaction,
  person: Person,
  passkey: Passkey & { readonly name: string },
  challengeAt: number,
  emailUrl: string | undefined,
): Promise<readonly string[]> {
  await lockPerson(tx, person.id);
  await addPasskey(tx, person.id, passkey, challengeAt);
  return added(tx, person, emailUrl);
}

async function added(tx: Transaction, person: Person, emailUrl: string | undefined): Promise<readonly string[]> {
  await recordChange(tx, person, 'factor_added', emailUrl);
  return (await countRecoveryCodes(tx, person.id)) === 0 ? replaceRecoveryCodes(tx, person.id) : [];
}

/**
 * Removes the app of a person, or one passkey, ends the person's other sessions, and sends the person an e-mail. The
 * recovery codes end with the last factor. Reports whether the person had it.
 * @param factor `app`, or the id of a passkey
 * @param session the session that stays
 */
export async function removeFactor(
  tx: Transaction,
  person: Person,
  factor: 'app' | number,
  { session, emailUrl }: { readonly session: number; readonly emailUrl: string | undefined },
): Promise<boolean> {
  await lockPerson(tx, person.id);
  const existed = factor === 'app' ? await deleteApp(tx, person.id) : await deletePasskey(tx, person.id, factor);
  if (!existed) return false;
  if (!(await hasSecondFactor(tx, person.id))) await deleteRecoveryCodes(tx, person.id);
  await endSessions(tx, person.id, session);
  await recordChange(tx, person, 'factor_removed', emailUrl);
  return true;
}

/** Removes all second factors of a person who has lost them, ends the person's sessions, and sends an e-mail. */
export async function resetSecondFactors(tx: Transaction, person: Person, emailUrl: string | undefined): Promise<void> {
  await lockPerson(tx, person.id);
  await deleteSecondFactors(tx, person.id);
  await endSessions(tx, person.id);
  await recordChange(tx, person, 'factor_removed', emailUrl);
}

/** Deletes all second factors of a person. */
export async function deleteSecondFactors(tx: Transaction, personId: number): Promise<void> {
  await deleteApp(tx, personId);
  for (const { id } of await listPasskeys(tx, personId)) await deletePasskey(tx, personId, id);
  await deleteRecoveryCodes(tx, personId);
}

async function recordChange(
  tx: Transaction,
  person: Person,
  kind: 'factor_added' | 'factor_removed',
  url: string | undefined,
): Promise<void> {
  await recordFactorChanges(tx, person);
  await sendEmail(tx, person, kind, url);
}

async function sendEmail(tx: Transaction, { id: accountId, email }: Person, kind: EmailKind, url: string | undefined) {
  await queueEmail(tx, { kind, accountId, email, url });
}
