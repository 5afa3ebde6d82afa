import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEncryptor, type Encryptor } from '../lib/encryption.ts';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { flushDirectory } from '../lib/storage/sqlite/flush.ts';
import { UserError } from '../lib/user-error.ts';
import { factNamed, insertFact, lockedFact, storeFact } from '../model/facts.ts';
import { query, type Reader, type Transaction } from '../model/schema.ts';

const KEY_BYTES = 32;
const FILE = 'secret.key';

/** The settings that determine the keys. */
interface KeySettings {
  readonly dataDir: string;
  readonly secretKey?: Buffer;
  readonly previousSecretKey?: Buffer;
}

/**
 * Returns the encryptor with the keys of the settings. Without a setting, the key is that of `loadSecretKey`.
 * @throws {UserError} if both keys are the same
 */
export function encryptorOf({ dataDir, secretKey, previousSecretKey }: KeySettings): Encryptor {
  const key = secretKey ?? loadSecretKey(dataDir);
  if (previousSecretKey?.equals(key)) {
    throw new UserError(
      'PETSTORE_SECRET_KEY_PREVIOUS is the current key: set PETSTORE_SECRET_KEY to a new one, or remove PETSTORE_SECRET_KEY_PREVIOUS.',
    );
  }
  return createEncryptor(key, previousSecretKey);
}

/**
 * Reads the key in `secret.key` of the data directory. If there is none, creates it (mode 0600) and flushes it to disk;
 * concurrent processes get the same key.
 * @throws {UserError} if the file contains no key, or cannot be read or created
 */
export function loadSecretKey(dataDir: string): Buffer {
  const file = join(dataDir, FILE);
  try {
    return readKey(file) ?? createKey(dataDir, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UserError(
      `Cannot read or create the secret key ${file} (${code}). Make PETSTORE_DATA_DIR writable, or set PETSTORE_SECRET_KEY.`,
      { cause: error },
    );
  }
}

/**
 * Returns the key in `secret.key` of the data directory; `undefined` if the file does not exist. Throws a UserError
 * like `loadSecretKey`.
 */
export function readSecretKey(dataDir: string): Buffer | undefined {
  return readKey(join(dataDir, FILE));
}

/**
 * Binds the database to this key: afterwards it accepts no other key. A database without secrets accepts any key. Locks
 * the stored check text until the transaction ends.
 * @returns the encryptor for new secrets: with the previous key if the database is bound to it
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function requireKey(tx: Transaction, encryptor: Encryptor): Promise<Encryptor> {
  const value = newCheck(encryptor);
  await tx.run(insertFact, { name: FACT, value });
  const stored = (await tx.first(lockedFact, { name: FACT }))!;
  if (isKeyOf(encryptor, stored.value)) {
    const { previous } = encryptor;
    return previous !== undefined && isKeyOf(previous, stored.value.split(' ')[0]!) ? previous : encryptor;
  }
  if ((await tx.first(anySecret, {})) !== undefined) throw wrongKey();
  await tx.run(storeFact, { name: FACT, value });
  return encryptor;
}

/**
 * Begins to change the key: from now on new secrets are encrypted with the current key, and processes also need the
 * previous key. Idempotent.
 * @returns whether there may be secrets of the previous key
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function beginKeyChange(tx: Transaction, encryptor: Encryptor): Promise<boolean> {
  const current = await requireKey(tx, encryptor);
  if (encryptor.previous === undefined) return false;
  if (current === encryptor) return (await tx.first(factNamed, { name: FACT }))!.value.includes(' ');
  const checks = [newCheck(encryptor), newCheck(encryptor.previous)];
  await tx.run(storeFact, { name: FACT, value: checks.join(' ') });
  return true;
}

/** Completes the change of the key when no secret of the previous key is left: afterwards the current key suffices. */
export async function completeKeyChange(tx: Transaction, encryptor: Encryptor): Promise<void> {
  if ((await requireKey(tx, encryptor)) !== encryptor) throw changedBack();
  await tx.run(storeFact, { name: FACT, value: newCheck(encryptor) });
}

/**
 * Checks the key without writing to the database.
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function checkKey(reader: Reader, encryptor: Encryptor): Promise<void> {
  const check = await keyCheckOf(reader);
  if (check !== undefined && !isKeyOf(encryptor, check)) throw wrongKey();
}

/**
 * Returns the known text that the database stores encrypted with its key; `undefined` if it has no secrets. While the
 * key is being changed, the result contains the text twice, separated by a space: encrypted with the new key and with
 * the previous one.
 */
export async function keyCheckOf(reader: Reader): Promise<string | undefined> {
  const stored = await reader.first(factNamed, { name: FACT });
  if (stored === undefined || (await reader.first(anySecret, {})) === undefined) return undefined;
  return stored.value;
}

/** Reports whether an encryptor has every key that was used for a result of `keyCheckOf`. */
export function isKeyOf(encryptor: Encryptor, check: string): boolean {
  try {
    return check.split(' ').every(part => encryptor.decrypt(part, FACT).equals(KNOWN_TEXT));
  } catch {
    return false;
  }
}

function newCheck(encryptor: Encryptor): string {
  return encryptor.encrypt(KNOWN_TEXT, FACT);
}

function readKey(file: string): Buffer | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8').trim();
  const key = Buffer.from(text, 'base64');
  if (!/^[\w+/-]{43}=?$/.test(text) || key.length !== KEY_BYTES) {
    throw new UserError(
      `The secret key ${file} does not contain 32 bytes in base64. Restore the file, or delete it if there are neither webhooks nor authenticator apps.`,
    );
  }
  return key;
}

/**
 * Writes the key to a temporary file and links it: the file is always complete, and the first of several processes
 * wins.
 */
function createKey(dataDir: string, file: string): Buffer {
  createDirectory(dataDir);
  const draft = `${file}.${process.pid}-${randomBytes(6).toString('hex')}`;
  try {
    const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    try {
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  flushDirectory(dataDir);
  return readKey(file)!;
}

/** A known text that the database stores encrypted, so that another key is detected. */
const KNOWN_TEXT = Buffer.from('petstore');
/** The name of the fact that stores the text, and the owner for its encryption. */
const FACT = 'secret_key';

function wrongKey(): UserError {
  return new UserError(
    'The webhook secrets were encrypted with another key. Set PETSTORE_SECRET_KEY to that key, restore its file secret.key in the data directory, or delete the webhooks with `petstore webhook delete` and the authenticator apps with `petstore member reset-second-factor`. To change the key, set PETSTORE_SECRET_KEY_PREVIOUS to the old one until `petstore secret-key rotate` has succeeded.',
  );
}

function changedBack(): UserError {
  return new UserError(
    'Meanwhile, another command has changed the secret key back: run this command again to change it.',
  );
}

const anySecret = query(db =>
  db
    .selectFrom('webhook_secrets')
    .select('id')
    .unionAll(db.selectFrom('authenticator_apps').select('person_id as id').where('secret', 'is not', null))
    .limit(1),
);
