import type { Actor } from '../events/event.ts';
import { EVERY_SCOPE, scopeSet } from '../keys/key.ts';
import { type MaybePromise, query, type Reader, sql } from '../schema.ts';
import type { AuthorityReason, WebhookRow } from './webhook.ts';

/** What a webhook depends on. */
export type Dependent = Pick<WebhookRow, 'accountId' | 'keyId' | 'scopes'>;

/** What the key and the account of a webhook allow it at present. */
export interface Authority {
  /** The owner with the scopes of the webhook, whose visibility of events applies. */
  readonly actor: Actor;
  /** The key that it depends on: the last one of a series of rotations. */
  readonly keyId: string | null;
  /** Why nothing may be sent to it any more. */
  readonly ended?: AuthorityReason | undefined;
  /** Nothing may be sent to it before this time, because its key is banned. */
  readonly pausedUntil: number;
  /** When its key expires: milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/**
 * Returns the authority of each webhook, in their order, with one query unless a key was rotated a moment ago.
 * @param accounts production's database, which stores accounts, keys and bans
 * @param now milliseconds since the Unix epoch
 */
export function authoritiesOf(
  accounts: Reader,
  webhooks: readonly Dependent[],
  now: number,
): MaybePromise<readonly Authority[]> {
  const pairs = JSON.stringify(webhooks.map(({ accountId, keyId }) => [accountId, keyId]));
  const rows = accounts.all(accountsAndKeys, { pairs });
  return rows instanceof Promise
    ? rows.then(read => resolve(accounts, webhooks, read, now))
    : resolve(accounts, webhooks, rows, now);
}

/** Reports whether an authority allows to send now. */
export function allowsSending({ ended, pausedUntil }: Authority, now: number): boolean {
  return ended === undefined && pausedUntil <= now;
}

function resolve(
  accounts: Reader,
  webhooks: readonly Dependent[],
  rows: readonly Row[],
  now: number,
): MaybePromise<readonly Authority[]> {
  const byPair = new Map(rows.map(row => [`${row.accountId} ${row.keyId}`, row]));
  const found = webhooks.map(({ accountId, keyId }) => byPair.get(`${accountId} ${keyId}`)!);
  if (found.some(({ replacedBy }) => replacedBy !== null)) {
    const successors = webhooks.map((webhook, index) => {
      const { replacedBy, keyId } = found[index]!;
      return { ...webhook, keyId: replacedBy ?? keyId };
    });
    return authoritiesOf(accounts, successors, now);
  }
  return webhooks.map((webhook, index) => authorityOf(webhook, found[index]!, now));
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
