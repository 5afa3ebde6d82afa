import type { Actor } from '../../model/log/event.ts';
import { type MaybePromise, query, type Reader, sql } from '../../model/schema.ts';
import { EVERY_SCOPE, scopeSet } from '../../model/scopes.ts';
import type { AuthorityReason } from '../../model/webhook.ts';

/** A webhook or an import, which outlives the request that created it and acts for an account. */
export interface Dependent {
  readonly accountId: number;
  /** The key that it depends on; null if it depends only on its account. */
  readonly keyId: string | null;
  readonly scopes: string;
}

/** The current permissions of a dependent, from its key and its account. */
export interface Authority {
  /** The owner with the scopes of the dependent, whose visibility of events applies. */
  readonly actor: Actor;
  /** The key that it depends on: the last key of a series of rotations. */
  readonly keyId: string | null;
  /** The reason why it may not act any more. */
  readonly ended?: AuthorityReason | undefined;
  /** The time until which it may not act, because its key is banned. */
  readonly pausedUntil: number;
  /** When its key expires: milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/**
 * Returns the authority of each dependent, in their order. Uses one query unless a key was just rotated.
 * @param accounts production's database, which stores accounts, keys and bans
 * @param now milliseconds since the Unix epoch
 */
export function authoritiesOf(
  accounts: Reader,
  dependents: readonly Dependent[],
  now: number,
): MaybePromise<readonly Authority[]> {
  const pairs = JSON.stringify(dependents.map(({ accountId, keyId }) => [accountId, keyId]));
  const rows = accounts.all(accountsAndKeys, { pairs });
  return rows instanceof Promise
    ? rows.then(read => resolve(accounts, dependents, read, now))
    : resolve(accounts, dependents, rows, now);
}

/** Reports whether an authority permits acting now. */
export function allowsActing({ ended, pausedUntil }: Authority, now: number): boolean {
  return ended === undefined && pausedUntil <= now;
}

function resolve(
  accounts: Reader,
  dependents: readonly Dependent[],
  rows: readonly Row[],
  now: number,
): MaybePromise<readonly Authority[]> {
  const byPair = new Map(rows.map(row => [`${row.accountId} ${row.keyId}`, row]));
  const found = dependents.map(({ accountId, keyId }) => byPair.get(`${accountId} ${keyId}`)!);
  if (found.some(({ replacedBy }) => replacedBy !== null)) {
    const successors = dependents.map((dependent, index) => {
      const { replacedBy, keyId } = found[index]!;
      return { ...dependent, keyId: replacedBy ?? keyId };
    });
    return authoritiesOf(accounts, successors, now);
  }
  return dependents.map((dependent, index) => authorityOf(dependent, found[index]!, now));
}

function authorityOf({ accountId, scopes }: Dependent, row: Row, now: number): Authority {
  const owner = { accountId, admin: row.admin === 1 };
  return {
    actor: scopes === EVERY_SCOPE ? owner : { ...owner, scopes: scopeSet(scopes) },
    keyId: row.keyId,
    ended: endOf(row, now),
    pausedUntil: row.bannedUntil !== null && row.liftedAt === null ? row.bannedUntil : 0,
    expiresAt: row.expiresAt ?? Number.POSITIVE_INFINITY,
  };
}

function endOf(row: Row, now: number): AuthorityReason | undefined {
  if (row.admin === null || row.deletedAt !== null) return 'account_deleted';
  if (row.suspendedAt !== null) return 'account_suspended';
  if (row.keyId === null) return undefined;
  if (row.storedKeyId === null || row.revokedAt !== null) return 'key_revoked';
  return row.expiresAt !== null && row.expiresAt <= now ? 'key_expired' : undefined;
}

interface Row {
  readonly accountId: number;
  readonly keyId: string | null;
  /** Null if the account does not exist. */
  readonly admin: number | null;
  readonly suspendedAt: number | null;
  readonly deletedAt: number | null;
  /** Null if the key does not exist. */
  readonly storedKeyId: string | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly replacedBy: string | null;
  readonly bannedUntil: number | null;
  readonly liftedAt: number | null;
}

/** The accounts, keys and latest bans of a JSON array of pairs of an account id and a key id or null. */
const accountsAndKeys = query<{ pairs: string }, Row>((db, p, engine) =>
  db
    .selectFrom(
      (engine === 'postgres'
        ? sql<{ accountId: number; keyId: string | null }>`(
            select distinct (value->>0)::bigint as "accountId", value->>1 as "keyId"
            from json_array_elements(${p.pairs}::json))`
        : sql<{ accountId: number; keyId: string | null }>`(
            select distinct value->>0 as "accountId", value->>1 as "keyId" from json_each(${p.pairs}))`
      ).as('dependents'),
    )
    .leftJoin('accounts', 'accounts.id', 'dependents.accountId')
    .leftJoin('keys', 'keys.id', 'dependents.keyId')
    .leftJoin('bans', 'bans.key_id', 'dependents.keyId')
    .select([
      'dependents.accountId',
      'dependents.keyId',
      'accounts.admin',
      'accounts.suspended_at as suspendedAt',
      'accounts.deleted_at as deletedAt',
      'keys.id as storedKeyId',
      'keys.expires_at as expiresAt',
      'keys.revoked_at as revokedAt',
      'keys.replaced_by as replacedBy',
      'bans.until as bannedUntil',
      'bans.lifted_at as liftedAt',
    ]),
);
