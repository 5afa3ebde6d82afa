import { getAccount } from '../accounts/accounts.ts';
import { record, recordAll } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import { type DeploymentName, type Params, query, type Reader, type Tables, type Transaction } from '../schema.ts';
import { type IssuedKey, type Key, keyState, type NewKey, scopeText } from './key.ts';
import { keyEvent } from './key-events.ts';
import { newToken } from './token.ts';

/**
 * Creates a key for an account and notifies the topic `registry`. Not idempotent: each call creates another key.
 * @throws {UserError} when the account or a scope does not exist, or the expiry is not in the future
 */
export async function createKey(tx: Transaction, key: NewKey): Promise<IssuedKey> {
  await getAccount(tx, key.accountId);
  requireFuture(tx, key.expiresAt);
  const issued = await issueKey(tx, key.accountId, key.deployment, scopeText(key.scopes), key.expiresAt ?? null);
  await record(tx, keyEvent('created', issued));
  return issued;
}

/** Returns all keys, including revoked and expired ones, oldest first; only those of one account if `accountId` is given. */
export async function listKeys(reader: Reader, accountId?: number): Promise<Key[]> {
  const rows = await (accountId === undefined ? reader.all(allKeys, {}) : reader.all(keysOfAccount, { accountId }));
  return rows.map(keyOf);
}

/**
 * Revokes a key with effect on the next request, and notifies the topic `registry`. Idempotent: the first revocation
 * time stays.
 * @throws {UserError} when the key does not exist
 */
export async function revokeKey(tx: Transaction, id: string): Promise<Key> {
  const key = await getKey(tx, id);
  if (key.revokedAt !== null) return key;
  await tx.run(setRevoked, { id, at: tx.now });
  const revoked = { ...key, revokedAt: tx.now };
  await record(tx, keyEvent('revoked', revoked, { was: { revokedAt: null } }));
  await tx.notify('registry');
  return revoked;
}

/**
 * Replaces a key: creates one with the same account, deployment and scopes, and lets the old one expire after
 * `overlapMs`, but never later than its own expiry. Notifies the topic `registry`. Not idempotent.
 * @param overlapMs how long both keys are valid: whole milliseconds, 0 or more
 * @param expiresAt when the new key expires, milliseconds since the Unix epoch; never by default
 * @returns the new key, and the old one with its new expiry
 * @throws {UserError} when the key does not exist, is revoked or expired, or the expiry is not in the future
 */
export async function rotateKey(
  tx: Transaction,
  id: string,
  overlapMs: number,
  expiresAt?: number,
): Promise<{ issued: IssuedKey; previous: Key }> {
  const old = await getKey(tx, id);
  const state = keyState(old, tx.now);
  if (state !== 'active') throw new UserError(`The key ${id} is ${state} and cannot be rotated; create a new one.`);
  requireFuture(tx, expiresAt);
  const oldExpiresAt = Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, tx.now + overlapMs);
  await tx.run(setExpiry, { id, expiresAt: oldExpiresAt });
  const issued = await issueKey(tx, old.accountId, old.deployment, old.scopes.join(' '), expiresAt ?? null);
  const previous = { ...old, expiresAt: oldExpiresAt };
  const expiredAt = old.expiresAt === null ? null : formatTime(old.expiresAt);
  await recordAll(tx, [
    keyEvent('rotated', previous, {
      was: oldExpiresAt === old.expiresAt ? {} : { expiresAt: expiredAt },
      keyId: issued.id,
    }),
    keyEvent('created', issued, { keyId: id }),
  ]);
  return { issued, previous };
}

/**
 * Returns the key with this id.
 * @throws {UserError} when the key does not exist
 */
export async function getKey(reader: Reader, id: string): Promise<Key> {
  const row = await reader.first(keyById, { id });
  if (row === undefined) throw new UserError(`There is no key ${id}; \`petstore key list\` shows all of them.`);
  return keyOf(row);
}

/** A key with the plan of its account: everything that authentication needs, as stored (see `Tables`). */
export type KeyWithAccount = Readonly<
  Omit<Tables['keys'], 'created_at' | 'last_used_at'> &
    Pick<Tables['accounts'], 'admin' | 'plan' | 'per_minute' | 'per_day'>
>;

/** Returns the key with this id and the plan of its account, in one query; `undefined` if it does not exist. */
export function findKey(reader: Reader, id: string) {
  return reader.first(keyWithAccountById, { id });
}

/**
 * Records when keys were last used (`at`: whole milliseconds since the Unix epoch); never moves a last use back. Sends no
 * notification, because authentication does not depend on it.
 */
export async function recordLastUse(tx: Transaction, uses: Iterable<{ readonly id: string; readonly at: number }>) {
  for (const { id, at } of uses) await tx.run(setLastUsed, { id, at });
}

function requireFuture(tx: Transaction, expiresAt: number | undefined): void {
  if (expiresAt !== undefined && expiresAt <= tx.now) throw new UserError('The expiry must be in the future.');
}

async function issueKey(
  tx: Transaction,
  accountId: number,
  deployment: DeploymentName,
  scopes: string,
  expiresAt: number | null,
): Promise<IssuedKey> {
  const { token, id, hash } = newToken(deployment);
  const row = await tx.first(insertKey, { id, accountId, deployment, hash, scopes, createdAt: tx.now, expiresAt });
  await tx.notify('registry');
  return { ...keyOf(row!), token };
}

function keyOf(row: Omit<Tables['keys'], 'hash'>): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    deployment: row.deployment,
    scopes: row.scopes.split(' '),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

const columns = [
  'id',
  'account_id',
  'deployment',
  'scopes',
  'created_at',
  'expires_at',
  'revoked_at',
  'last_used_at',
] as const;

type NewRow = Pick<Key, 'id' | 'accountId' | 'deployment' | 'createdAt' | 'expiresAt'> & {
  hash: string;
  scopes: string;
};

const insertKey = query((db, p: Params<NewRow>) =>
  db
    .insertInto('keys')
    .values({
      id: p.id,
      account_id: p.accountId,
      deployment: p.deployment,
      hash: p.hash,
      scopes: p.scopes,
      created_at: p.createdAt,
      expires_at: p.expiresAt,
      revoked_at: null,
      last_used_at: null,
    })
    .returning(columns),
);

const keyById = query((db, p: Params<{ id: string }>) => db.selectFrom('keys').select(columns).where('id', '=', p.id));

const allKeys = query(db => db.selectFrom('keys').select(columns).orderBy('created_at').orderBy('id'));

const keysOfAccount = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('keys').select(columns).where('account_id', '=', p.accountId).orderBy('created_at').orderBy('id'),
);

const keyWithAccountById = query((db, p: Params<{ id: string }>) =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.id', 'keys.account_id')
    .select([
      'keys.id',
      'keys.account_id',
      'keys.deployment',
      'keys.hash',
      'keys.scopes',
      'keys.expires_at',
      'keys.revoked_at',
      'accounts.admin',
      'accounts.plan',
      'accounts.per_minute',
      'accounts.per_day',
    ])
    .where('keys.id', '=', p.id),
);

const setRevoked = query((db, p: Params<{ id: string; at: number }>) =>
  db.updateTable('keys').set({ revoked_at: p.at }).where('id', '=', p.id),
);

const setExpiry = query((db, p: Params<{ id: string; expiresAt: number }>) =>
  db.updateTable('keys').set({ expires_at: p.expiresAt }).where('id', '=', p.id),
);

const setLastUsed = query((db, p: Params<{ id: string; at: number }>) =>
  db
    .updateTable('keys')
    .set({ last_used_at: p.at })
    .where('id', '=', p.id)
    .where(eb => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', p.at)])),
);
