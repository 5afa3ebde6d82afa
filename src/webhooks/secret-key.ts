import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Encryptor } from '../lib/encryption.ts';
import type { Log } from '../lib/log.ts';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { flushDirectory } from '../lib/storage/sqlite/flush.ts';
import { UserError } from '../lib/user-error.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';

const KEY_BYTES = 32;
const FILE = 'secret.key';

/**
 * Reads the key in `secret.key` of the data directory. If there is none, creates it (mode 0600) and flushes it to disk;
 * concurrent processes get the same key. Logs a warning if other users may read the file.
 * @throws {UserError} if the file holds no key, or can be neither read nor created
 */
export function loadSecretKey(dataDir: string, log: Log): Buffer {
  const file = join(dataDir, FILE);
  try {
    return readKey(file, log) ?? createKey(dataDir, file, log);
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
  const value = encryptor.encrypt(KNOWN_TEXT, KNOWN_OWNER);
  await tx.run(insertKnownText, { value });
  const stored = (await tx.first(lockedKnownText, {}))!;
  if (canDecrypt(encryptor, stored.value)) return;
  if ((await tx.first(anySecret, {})) !== undefined) throw wrongKey();
  await tx.run(replaceKnownText, { value });
}

/**
 * Checks the key without writing to the database.
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function checkKey(reader: Reader, encryptor: Encryptor): Promise<void> {
  const stored = await reader.first(knownText, {});
  if (stored === undefined || canDecrypt(encryptor, stored.value)) return;
  if ((await reader.first(anySecret, {})) !== undefined) throw wrongKey();
}

function readKey(file: string, log: Log): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const text = readFileSync(descriptor, 'utf8').trim();
    const key = Buffer.from(text, 'base64');
    if (!/^[\w+/-]{43}=?$/.test(text) || key.length !== KEY_BYTES) {
      throw new UserError(
        `The secret key ${file} does not hold 32 bytes in base64. Restore it; or delete it, if there are no webhooks.`,
      );
    }
    if ((fstatSync(descriptor).mode & 0o077) !== 0) {
      log.warn({ file }, 'Other users may read the secret key. Run `chmod 600` on it.');
    }
    return key;
  } finally {
    closeSync(descriptor);
  }
}

/** Writes the key to a draft and links it: the file is always complete, and the first of several processes wins. */
function createKey(dataDir: string, file: string, log: Log): Buffer {
  createDirectory(dataDir);
  const draft = `${file}.${process.pid}-${randomBytes(6).toString('hex')}`;
  try {
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(descriptor, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    try {
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  flushDirectory(dataDir);
  return readKey(file, log)!;
}

/** A known text that the database stores encrypted, to detect another key. */
const KNOWN_TEXT = Buffer.from('petstore');
const KNOWN_OWNER = 'secret_key';

function canDecrypt(encryptor: Encryptor, text: string): boolean {
  try {
    return encryptor.decrypt(text, KNOWN_OWNER).equals(KNOWN_TEXT);
  } catch {
    return false;
  }
}

function wrongKey(): UserError {
  return new UserError(
    'The webhook secrets were encrypted with another key. Set PETSTORE_SECRET_KEY to it, restore its secret.key in the data directory, or delete the webhooks with `petstore webhook delete`.',
  );
}

const knownText = query(db => db.selectFrom('facts').select('value').where('name', '=', 'secret_key'));

const lockedKnownText = query((db, _: Params<Record<never, never>>, engine) => {
  const text = db.selectFrom('facts').select('value').where('name', '=', 'secret_key');
  return engine === 'postgres' ? text.forUpdate() : text;
});

const insertKnownText = query((db, p: Params<{ value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: 'secret_key', value: p.value })
    .onConflict(conflict => conflict.column('name').doNothing()),
);

const replaceKnownText = query((db, p: Params<{ value: string }>) =>
  db.updateTable('facts').set({ value: p.value }).where('name', '=', 'secret_key'),
);

const anySecret = query(db => db.selectFrom('webhook_secrets').select('id').limit(1));
