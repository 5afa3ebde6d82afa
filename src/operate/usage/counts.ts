import type { Builder, EngineName } from '../../lib/storage/query.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import {
  type DeploymentName,
  deletingOldest,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';

/** The outcomes of requests. Every request has exactly one. */
export const outcomes = ['succeeded', 'clientErrors', 'rateLimited', 'banned', 'serverErrors'] as const;

export type OutcomeName = (typeof outcomes)[number];

/** Numbers of requests by outcome. `unlogged` is the number of all requests that were not added to the request log. */
export type UsageCounts = Readonly<Record<OutcomeName | 'unlogged', number>>;

export const noRequests: UsageCounts = {
  succeeded: 0,
  clientErrors: 0,
  rateLimited: 0,
  banned: 0,
  serverErrors: 0,
  unlogged: 0,
};

/** The requests of a key in one hour. */
export interface KeyHour extends UsageCounts {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** Hours since 1970-01-01T00:00:00Z. */
  readonly hour: number;
  readonly keyId: string;
}

/** Returns the outcome of a response. @param code its error code; '' for a success */
export function outcomeOf(status: number, code: string): OutcomeName {
  if (status < 400) return 'succeeded';
  if (status >= 500) return 'serverErrors';
  if (status !== 429) return 'clientErrors';
  return code === 'api_key_banned' ? 'banned' : code === 'rate_limit_exceeded' ? 'rateLimited' : 'clientErrors';
}

/**
 * Adds requests to the counts of the same key and hour. Locks rows in the order of their keys, so that writers do not
 * deadlock.
 */
export async function addUsage(tx: Transaction, usage: readonly KeyHour[]): Promise<void> {
  const sorted = usage.toSorted(
    (a, b) =>
      a.accountId - b.accountId || compare(a.deployment, b.deployment) || a.hour - b.hour || compare(a.keyId, b.keyId),
  );
  for (let start = 0; start < sorted.length; start += ROWS_AT_ONCE) {
    const rows = sorted
      .slice(start, start + ROWS_AT_ONCE)
      .map(row => [
        ...[row.accountId, row.deployment, row.hour, row.keyId],
        ...[row.succeeded, row.clientErrors, row.rateLimited, row.banned, row.serverErrors, row.unlogged],
      ]);
    await tx.run(addCounts, { rows: JSON.stringify(rows) });
  }
}

const ROWS_AT_ONCE = 500;

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The usage to read: the hours from `from` up to `until`, exclusive. */
interface UsageRange {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly from: number;
  readonly until: number;
  /** Only of this key. */
  readonly keyId?: string | undefined;
}

/** Returns the usage of an account on a deployment by hour, oldest first. Hours without requests are absent. */
export async function usageByHour(
  reader: Reader,
  { keyId = '', ...range }: UsageRange,
): Promise<(UsageCounts & { readonly hour: number })[]> {
  return reader.all(countsByHour({ ofKey: keyId !== '' }), { ...range, keyId });
}

/** Returns the usage of an account on a deployment by key, the most used first; at most a hundred keys. */
export async function usageByKey(
  reader: Reader,
  { keyId = '', ...range }: UsageRange,
): Promise<(UsageCounts & { readonly keyId: string })[]> {
  return reader.all(countsByKey({ ofKey: keyId !== '' }), { ...range, keyId });
}

/** Returns the requests of each key of an account in the hours from `from` up to `until`, exclusive, oldest first. */
export async function usageByKeyAndHour(
  reader: Reader,
  range: Omit<UsageRange, 'deployment' | 'keyId'>,
): Promise<Omit<KeyHour, 'accountId'>[]> {
  return reader.all(keyHours, range);
}

/** Deletes the usage of hours that began more than `USAGE_KEPT_MS` ago, at most `limit` rows. Returns their number. */
export async function deleteOldUsage(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteBefore, { before: Math.floor((tx.now - USAGE_KEPT_MS) / HOUR_MS), limit });
}

/** The retention of the usage of an hour. */
export const USAGE_KEPT_MS = 90 * DAY_MS;

/** Deletes the usage of an account, at most `limit` rows. Returns their number. */
export async function deleteUsageOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  return tx.run(deleteOfAccount, { accountId, limit });
}

const primaryKey = ['account_id', 'deployment', 'hour', 'key_id'] as const;
const counters = ['succeeded', 'client_errors', 'rate_limited', 'banned', 'server_errors', 'unlogged'] as const;

const addCounts = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('usage')
    .columns([...primaryKey, ...counters])
    .expression(
      engine === 'sqlite'
        ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
                value ->> 8, value ->> 9
              from json_each(${p.rows}) where true`
        : sql`select (r ->> 0)::bigint, r ->> 1, (r ->> 2)::bigint, r ->> 3, (r ->> 4)::bigint, (r ->> 5)::bigint,
                (r ->> 6)::bigint, (r ->> 7)::bigint, (r ->> 8)::bigint, (r ->> 9)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (r, number) order by number`,
    )
    .onConflict(conflict =>
      conflict
        .columns(primaryKey)
        .doUpdateSet(
          Object.fromEntries(
            counters.map(name => [name, sql<number>`usage.${sql.ref(name)} + excluded.${sql.ref(name)}`]),
          ),
        ),
    ),
);

type RangeParams = Params<{ [Name in keyof UsageRange]-?: NonNullable<UsageRange[Name]> }>;

/** Selects the sums of the counters in a range. */
function sums(db: Builder<Tables>, p: RangeParams, engine: EngineName, ofKey: boolean) {
  const sum = (name: (typeof counters)[number]) =>
    engine === 'postgres' ? sql<number>`sum(${sql.ref(name)})::bigint` : sql<number>`sum(${sql.ref(name)})`;
  return db
    .selectFrom('usage')
    .select([
      sum('succeeded').as('succeeded'),
      sum('client_errors').as('clientErrors'),
      sum('rate_limited').as('rateLimited'),
      sum('banned').as('banned'),
      sum('server_errors').as('serverErrors'),
      sum('unlogged').as('unlogged'),
    ])
    .where('account_id', '=', p.accountId)
    .where('deployment', '=', p.deployment)
    .where('hour', '>=', p.from)
    .where('hour', '<', p.until)
    .$if(ofKey, rows => rows.where('key_id', '=', p.keyId));
}

const keyHours = query((db, p: Params<Omit<UsageRange, 'deployment' | 'keyId'>>) =>
  db
    .selectFrom('usage')
    .select(['deployment', 'hour', 'key_id as keyId'])
    .select(['succeeded', 'client_errors as clientErrors', 'rate_limited as rateLimited'])
    .select(['banned', 'server_errors as serverErrors', 'unlogged'])
    .where('account_id', '=', p.accountId)
    .where('deployment', 'in', [sql.lit('production' as const), sql.lit('staging' as const)])
    .where('hour', '>=', p.from)
    .where('hour', '<', p.until)
    .orderBy('hour')
    .orderBy('deployment')
    .orderBy('key_id'),
);

const countsByHour = queriesByShape(['ofKey'], ({ ofKey }: { ofKey: boolean }) =>
  query((db, p: RangeParams, engine) => sums(db, p, engine, ofKey).select('hour').groupBy('hour').orderBy('hour')),
);

const countsByKey = queriesByShape(['ofKey'], ({ ofKey }: { ofKey: boolean }) =>
  query((db, p: RangeParams, engine) => {
    const total = sql<number>`sum(succeeded + client_errors + rate_limited + banned + server_errors)`;
    const byKey = sums(db, p, engine, ofKey).select('key_id as keyId').groupBy('key_id');
    return byKey.orderBy(total, 'desc').orderBy('key_id').limit(sql.lit(KEYS_MAX));
  }),
);

/** The maximum number of keys of `usageByKey`. */
export const KEYS_MAX = 100;

const deleteBefore = deletingOldest('usage', primaryKey, 'hour');

const deleteOfAccount = query((db, p: Params<{ accountId: number; limit: number }>) =>
  db.deleteFrom('usage').where(eb =>
    eb(
      eb.refTuple(...primaryKey),
      'in',
      eb
        .selectFrom('usage')
        .select(primaryKey)
        .where('account_id', '=', p.accountId)
        .limit(p.limit)
        .$asTuple(...primaryKey),
    ),
  ),
);
