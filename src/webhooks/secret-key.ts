import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../lib/log.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { makeDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { flushDirectory } from '../lib/storage/sqlite/flush.ts';
import { UserError } from '../lib/user-error.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';

/** The bytes of a secret key. */
const KEY_BYTES = 32;
const FILE = 'secret.key';

/**
 * The key in `secret.key` of the data directory; makes directory and file where there are none, for their owner alone,
 * and on disk when it returns. Several processes get the same one. That others may read it is logged.
 * @throws {UserError} when it holds no key, or can be neither read nor made
 */
export function secretKeyIn(dataDir: string, log: Log): Buffer {
  const file = join(dataDir, FILE);
  try {
    return readKey(file, log) ?? makeKey(dataDir, file, log);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UserError(
      `The secret key ${file} can be neither read nor made (${code}); make PETSTORE_DATA_DIR writable, or set PETSTORE_SECRET_KEY.`,
      { cause: error },
    );
  }
}

/**
 * Demands that what is secret in a database was sealed with this key, as far as anything was, and from now on is sealed
 * with no other.
 * @throws {UserError} where it was sealed with another one
 */
export async function requireKey(tx: Transaction, box: SecretBox): Promise<void> {
  const own = box.seal(KNOWN, PLACE);
  await tx.run(keepFirst, { value: own });
  const { value } = (await tx.first(sealedText, {}))!;
  if (opens(box, value)) return;
  if ((await tx.first(anySecret, {})) !== undefined) throw otherKey();
  await tx.run(keepOther, { value: own });
}

/**
 * The same of a database as it is, without a word in it.
 * @throws {UserError} where something in it was sealed with another key
 */
export async function checkKey(reader: Reader, box: SecretBox): Promise<void> {
  const sealed = await reader.first(knownText, {});
  if (sealed === undefined || opens(box, sealed.value)) return;
  if ((await reader.first(anySecret, {})) !== undefined) throw otherKey();
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
        `The secret key ${file} does not hold 32 bytes in base64; restore it, or remove it where there are no webhooks.`,
      );
    }
    if ((fstatSync(descriptor).mode & 0o077) !== 0) {
      log.warn({ file }, 'Others than its owner may read the secret key; `chmod 600` keeps it from them.');
    }
    return key;
  } finally {
    closeSync(descriptor);
  }
}

/** A file stands under its name once it is whole; of several processes the first one's does. */
function makeKey(dataDir: string, file: string, log: Log): Buffer {
  makeDirectory(dataDir);
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

/** What is sealed in the database so that another key is noticed; it is no secret. */
const KNOWN = Buffer.from('petstore');
const PLACE = 'secret_key';

function opens(box: SecretBox, sealed: string): boolean {
  try {
    return box.open(sealed, PLACE).equals(KNOWN);
  } catch {
    return false;
  }
}

function otherKey(): UserError {
  return new UserError(
    'The secrets of the webhooks were sealed with another key: set PETSTORE_SECRET_KEY to it or put its secret.key back into the data directory, or take the webhooks away with `petstore webhook delete`.',
  );
}

const knownText = query(db => db.selectFrom('facts').select('value').where('name', '=', 'secret_key'));

const sealedText = query((db, _: Params<Record<never, never>>, engine) => {
  const sealed = db.selectFrom('facts').select('value').where('name', '=', 'secret_key');
  return engine === 'postgres' ? sealed.forUpdate() : sealed;
});

const keepFirst = query((db, p: Params<{ value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: 'secret_key', value: p.value })
    .onConflict(conflict => conflict.column('name').doNothing()),
);

const keepOther = query((db, p: Params<{ value: string }>) =>
  db.updateTable('facts').set({ value: p.value }).where('name', '=', 'secret_key'),
);

const anySecret = query(db => db.selectFrom('webhook_secrets').select('id').limit(1));
