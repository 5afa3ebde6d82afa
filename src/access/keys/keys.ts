import { personIdOf } from '../../lib/origin.ts';
import { DAY_MS, formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { limitsOfAccount } from '../../model/account.ts';
import {
  budgetOf,
  checkBudget,
  checkKeyName,
  type IssuedKey,
  type Key,
  keyState,
  type NewKey,
  networkText,
} from '../../model/key.ts';
import { record, recordEvents } from '../../model/log/log.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { scopeText } from '../../model/scopes.ts';
import { getAccount, requireLasting } from '../accounts/accounts.ts';
import { keyEvent } from './events.ts';
import { newToken } from './token.ts';

/**
 * Creates a key for an account and notifies the topic `registry`. Not idempotent: each call creates another key.
 * @param maxDays the number of days after which it expires at the latest, and by default
 * @throws {UserError} when the account or a scope does not exist, the expiry is not in the future or too late, or the
 *   budget exceeds the limits of the account
 */
export async function createKey(tx: Transaction, key: NewKey, maxDays?: number): Promise<IssuedKey> {
  const account = await getAccount(tx, key.accountId);
  requireLasting(account);
  checkBudget(key.budget ?? {}, limitsOfAccount(account));
  requireExpiry(tx, key.expiresAt, maxDays);
  const { accountId, deployment } = key;
  const expiresAt = key.expiresAt ?? latestExpiry(tx, maxDays) ?? null;
  if (key.name !== undefined) checkKeyName(key.name);
  const networks = networkText(key.networks);
  const { name = null } = key;
  const issued = await issueKey(tx, {
    accountId,
    deployment,
    name,
    scopes: scopeText(key.scopes),
    expiresAt,
    networks,
    ...limitsIn(key),
  });
  await record(tx, keyEvent('created', issued));
  return issued;
}

/**
 * Returns all keys except those of the sandbox, oldest first, including revoked and expired ones. With `accountId`,
 * only those of this account.
 */
export async function listKeys(reader: Reader, accountId?: number): Promise<Key[]> {
  const rows = await (accountId === undefined ? reader.all(allKeys, {}) : reader.all(keysOfAccount, { accountId }));
  return rows.map(keyOf);
}

/** Returns the ids of all keys of an account that a member created or rotated on a page, also of revoked ones. */
export async function keyIdsOfMember(reader: Reader, accountId: number, personId: number): Promise<string[]> {
  return (await reader.all(keysOfMember, { accountId, personId })).map(({ id }) => id);
}

/**
 * Revokes a key with effect on the next request, and notifies the topic `registry`. Idempotent: keeps the first
 * revocation time.
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
 * Revokes all active keys of an account; see `revokeKey`.
 * @returns the revoked keys
 * @throws {UserError} when the account does not exist
 */
export async function revokeKeysOf(tx: Transaction, accountId: number): Promise<Key[]> {
  await getAccount(tx, accountId);
  const revoked: Key[] = [];
  for (const { id, revokedAt } of await listKeys(tx, accountId)) {
    if (revokedAt === null) revoked.push(await revokeKey(tx, id));
  }
  return revoked;
}

/**
 * Replaces a key: creates a key with the same account, deployment, name, scopes, networks and budget. The old key
 * expires after `overlapMs`, or at its own expiry if that is earlier. Notifies the topic `registry`. Not idempotent.
 * @param overlapMs the time in which both keys are valid: whole milliseconds, 0 or more
 * @param expiresAt the expiry of the new key, milliseconds since the Unix epoch; `null` for never, and by default when
 *   the old key would have expired
 * @param maxDays the number of days after which the new key expires at the latest
 * @returns the new key, and the old one with its new expiry
 * @throws {UserError} when the key does not exist, is revoked or expired, or the expiry is not in the future or too
 *   late
 */
export async function rotateKey(
  tx: Transaction,
  id: string,
  overlapMs: number,
  expiresAt?: number | null,
  maxDays?: number,
) {
  const old = await getKey(tx, id);
  const state = keyState(old, tx.now);
  if (state !== 'active') throw new UserError(`The key ${id} is ${state} and cannot be rotated; create a new one.`);
  requireExpiry(tx, expiresAt, maxDays);
  const oldExpiresAt = Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, tx.now + overlapMs);
  const { accountId, deployment } = old;
  const newExpiresAt = expiresAt === undefined ? earlier(old.expiresAt, latestExpiry(tx, maxDays)) : expiresAt;
  const networks = old.networks?.join(' ') ?? null;
  const { name = null } = old;
  const values = { accountId, deployment, name, scopes: old.scopes.join(' '), expiresAt: newExpiresAt, networks };
  const issued = await issueKey(tx, { ...values, ...limitsIn(old) });
  await tx.run(setReplaced, { id, expiresAt: oldExpiresAt, replacedBy: issued.id });
  const previous = { ...old, expiresAt: oldExpiresAt };
  const expiredAt = old.expiresAt === null ? null : formatTime(old.expiresAt);
  const was = oldExpiresAt === old.expiresAt ? {} : { expiresAt: expiredAt };
  await recordEvents(tx, [
    keyEvent('rotated', previous, { was, keyId: issued.id }),
    keyEvent('created', issued, { keyId: id }),
  ]);
  return { issued, previous };
}

/**
 * Expires keys that were not used for `idleMs`, and notifies the topic `registry`. For a key that was never used, the
 * time counts from its creation.
 * @param limit the maximum number of keys
 * @returns the number of expired keys
 */
export async function expireIdleKeys(tx: Transaction, idleMs: number, limit: number): Promise<number> {
  const before = tx.now - idleMs - LAST_USE_BEHIND_MS;
  const rows = await tx.all(expireIdle, { now: tx.now, before, limit });
  await recordEvents(
    tx,
    rows.map(row => keyEvent('expired', keyOf(row))),
  );
  if (rows.length > 0) await tx.notify('registry');
  return rows.length;
}

/** How far stored last uses may be behind: they are written once a minute. */
const LAST_USE_BEHIND_MS = 2 * 60_000;

/**
 * Returns the key with this id.
 * @throws {UserError} when the key does not exist
 */
export async function getKey(reader: Reader, id: string): Promise<Key> {
  const key = await findKey(reader, id);
  if (key === undefined) throw new UserError(`There is no key ${id}; \`petstore key list\` shows all of them.`);
  return key;
}

/** Returns the key with this id; `undefined` if it does not exist. */
export async function findKey(reader: Reader, id: string): Promise<Key | undefined> {
  // PostgreSQL rejects a text with NUL, which the path of a page can contain.
  const row = /^\w+$/.test(id) ? await reader.first(keyById, { id }) : undefined;
  return row && keyOf(row);
}

/**
 * Records when keys were last used (`at`: whole milliseconds since the Unix epoch); never replaces a later time. Sends
 * no notification, because authentication does not depend on it.
 */
export async function recordLastUse(tx: Transaction, uses: Iterable<{ readonly id: string; readonly at: number }>) {
  for (const { id, at } of uses) await tx.run(setLastUsed, { id, at });
}

/** Deletes the names of an account's keys, which are texts of its owner. */
export async function eraseKeyNames(tx: Transaction, accountId: number): Promise<void> {
  await tx.run(deleteNames, { accountId });
}

/** @throws {UserError} when an expiry is not in the future, or later than `maxDays` days from now */
function requireExpiry(tx: Transaction, expiresAt: number | null | undefined, maxDays: number | undefined): void {
  if (expiresAt === undefined) return;
  if (expiresAt !== null && expiresAt <= tx.now) throw new UserError('The expiry must be in the future.');
  if (maxDays !== undefined && (expiresAt ?? Number.POSITIVE_INFINITY) > latestExpiry(tx, maxDays)!) {
    throw new UserError(`The expiry must be at most ${maxDays} days from now (PETSTORE_KEY_LIFETIME_DAYS).`);
  }
}

function latestExpiry(tx: Transaction, maxDays: number | undefined): number | undefined {
  return maxDays === undefined ? undefined : tx.now + maxDays * DAY_MS;
}

/** Returns the earlier of two expiries; `null` and `undefined` mean no expiry. */
function earlier(one: number | null, other: number | undefined): number | null {
  return other === undefined ? one : Math.min(one ?? Number.POSITIVE_INFINITY, other);
}

type IssueOptions = Pick<
  Row,
  'accountId' | 'deployment' | 'name' | 'scopes' | 'expiresAt' | 'networks' | 'perMinute' | 'perDay'
>;

/** Returns the budget of a key in its stored form. */
function limitsIn({ budget = {} }: Pick<Key, 'budget'>): Pick<Row, 'perMinute' | 'perDay'> {
  return { perMinute: budget.perMinute ?? null, perDay: budget.perDay ?? null };
}

/** Inserts a key of the person who acts, without an event, and notifies the topic `registry`. */
export async function issueKey(tx: Transaction, key: IssueOptions): Promise<IssuedKey> {
  const { token, id, hash } = newToken(key.deployment);
  const row = await tx.first(insertKey, { id, hash, createdAt: tx.now, personId: personIdOf(tx.origin), ...key });
  await tx.notify('registry');
  return { ...keyOf(row!), token };
}

/** A key as the queries return it. */
type Row = Omit<Key, 'name' | 'scopes' | 'networks' | 'budget'> & {
  readonly name: string | null;
  readonly scopes: string;
  readonly networks: string | null;
  readonly perMinute: number | null;
  readonly perDay: number | null;
};

function keyOf({ name, networks, perMinute, perDay, ...row }: Row): Key {
  const budget = budgetOf(perMinute, perDay);
  return {
    ...row,
    ...(name !== null && { name }),
    scopes: row.scopes.split(' '),
    ...(networks !== null && { networks: networks.split(' ') }),
    ...(budget !== undefined && { budget }),
  };
}

const columns = [
  'id',
  'account_id as accountId',
  'deployment',
  'scopes',
  'created_at as createdAt',
  'expires_at as expiresAt',
  'revoked_at as revokedAt',
  'last_used_at as lastUsedAt',
  'networks',
  'name',
  'per_minute as perMinute',
  'per_day as perDay',
] as const;

const keysOfMember = query((db, p: Params<{ accountId: number; personId: number }>) =>
  db.selectFrom('keys').select('id').where('account_id', '=', p.accountId).where('person_id', '=', p.personId),
);

const insertKey = query(
  (db, p: Params<IssueOptions & { id: string; hash: string; createdAt: number; personId: number | null }>) =>
    db
      .insertInto('keys')
      .values({
        id: p.id,
        account_id: p.accountId,
        deployment: p.deployment,
        hash: p.hash,
        person_id: p.personId,
        scopes: p.scopes,
        created_at: p.createdAt,
        expires_at: p.expiresAt,
        networks: p.networks,
        name: p.name,
        per_minute: p.perMinute,
        per_day: p.perDay,
      })
      .returning(columns),
);

const keyById = query((db, p: Params<{ id: string }>) => db.selectFrom('keys').select(columns).where('id', '=', p.id));

const allKeys = query(db =>
  db
    .selectFrom('keys')
    .select(columns)
    .where('account_id', 'not in', ({ selectFrom }) =>
      selectFrom('accounts').select('accounts.id').where('sandbox', '=', 1),
    )
    .orderBy('created_at')
    .orderBy('id'),
);

const keysOfAccount = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('keys').select(columns).where('account_id', '=', p.accountId).orderBy('created_at').orderBy('id'),
);

const setRevoked = query((db, p: Params<{ id: string; at: number }>) =>
  db.updateTable('keys').set({ revoked_at: p.at }).where('id', '=', p.id),
);

/** Reads all keys, because they are few and only some operators set this time. */
const expireIdle = query((db, p: Params<{ now: number; before: number; limit: number }>, engine) =>
  db
    .updateTable('keys')
    .set({ expires_at: p.now })
    .where('id', 'in', ({ selectFrom, fn, or, eb }) =>
      selectFrom('keys')
        .select('id')
        .where('revoked_at', 'is', null)
        .where(or([eb('expires_at', 'is', null), eb('expires_at', '>', p.now)]))
        .where(fn.coalesce('last_used_at', 'created_at'), '<', p.before)
        .limit(p.limit)
        .$if(engine === 'postgres', keys => keys.forUpdate().skipLocked()),
    )
    .returning(columns),
);

const deleteNames = query((db, p: Params<{ accountId: number }>) =>
  db.updateTable('keys').set({ name: null }).where('account_id', '=', p.accountId),
);

const setReplaced = query((db, p: Params<{ id: string; expiresAt: number; replacedBy: string }>) =>
  db.updateTable('keys').set({ expires_at: p.expiresAt, replaced_by: p.replacedBy }).where('id', '=', p.id),
);

const setLastUsed = query((db, p: Params<{ id: string; at: number }>) =>
  db
    .updateTable('keys')
    .set({ last_used_at: p.at })
    .where('id', '=', p.id)
    .where(eb => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', p.at)])),
);
