import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { factNamed, insertFact, lockedFact, storeFact } from '../facts.ts';
import type { Encryptor } from '../lib/encryption.ts';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { flushDirectory } from '../lib/storage/sqlite/flush.ts';
import { UserError } from '../lib/user-error.ts';
import { query, type Reader, type Transaction } from '../schema.ts';

const KEY_BYTES = 32;
const FILE = 'secret.key';

/**
 * Reads the key in `secret.key` of the data directory. If there is none, creates it (mode 0600) and flushes it to disk;
 * concurrent processes get the same key.
 * @throws {UserError} if the file holds no key, or can be neither read nor created
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
 * Binds the database to this key: from now on it accepts no other. A database without secrets accepts any key.
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function requireKey(tx: Transaction, encryptor: Encryptor): Promise<void> {
  const value = encryptor.encrypt(KNOWN_TEXT, FACT);
  await tx.run(insertFact, { name: FACT, value });
  const stored = (await tx.first(lockedFact, { name: FACT }))!;
  if (canDecrypt(encryptor, stored.value)) return;
  if ((await tx.first(anySecret, {})) !== undefined) throw wrongKey();
  await tx.run(storeFact, { name: FACT, value });
}

/**
 * Checks the key without writing to the database.
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function checkKey(reader: Reader, encryptor: Encryptor): Promise<void> {
  const stored = await reader.first(factNamed, { name: FACT });
  if (stored === undefined || canDecrypt(encryptor, stored.value)) return;
  if ((await reader.first(anySecret, {})) !== undefined) throw wrongKey();
}

function readKey(file: string): Buffer | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8').trim();
  const key = Buffer.from(text, 'base64');
  if (!/^[\w+/-]{43}=?$/.test(text) || key.length !== KEY_BYTES) {
    throw new UserError(
      `The secret key ${file} does not hold 32 bytes in base64. Restore it; or delete it, if there are no webhooks.`,
    );
  }
  return key;
}

/** Writes the key to a draft and links it: the file is always complete, and the first of several processes wins. */
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

/** A known text that the database stores encrypted, to detect another key. */
const KNOWN_TEXT = Buffer.from('petstore');
/** The name of the fact that stores it; also names it for the encryption. */
const FACT = 'secret_key';

function canDecrypt(encryptor: Encryptor, text: string): boolean {
  try {
    return encryptor.decrypt(text, FACT).equals(KNOWN_TEXT);
  } catch {
    return false;
  }
}

function wrongKey(): UserError {
  return new UserError(
    'The webhook secrets were encrypted with another key. Set PETSTORE_SECRET_KEY to it, restore its secret.key in the data directory, or delete the webhooks with `petstore webhook delete`.',
  );
}

const anySecret = query(db => db.selectFrom('webhook_secrets').select('id').limit(1));
