import type { Limits } from '../plans/plan.ts';
import {
  type Database,
  type DeploymentName,
  type MaybePromise,
  type Params,
  query,
  sql,
  type Transaction,
} from '../schema.ts';
import type { PendingWrite } from './write-behind.ts';

const DAY_MS = 86_400_000;

/** Returns the UTC calendar day of a time (milliseconds), as days since 1970-01-01. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** Returns the Unix second at which `day` ends. */
export function endOfDay(day: number): number {
  return (day + 1) * (DAY_MS / 1000);
}

/** The requests that a node has reserved for an account on one day. */
export interface Reservation {
  readonly node: string;
  readonly reserved: number;
}

/**
 * The requests that one node has counted for one account, deployment and day, reserved ahead on disk in blocks.
 *
 * A block is 1 % of the day limit or one minute limit, whichever is more. A reservation is on disk before the response to
 * a request that needs it; the next block is reserved when half a block is left. So no counted request is ever lost, and
 * a crash costs an account at most one block.
 */
export class DayCount implements PendingWrite {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly node: string;
  day: number;
  /** The requests that this node has counted. */
  own = 0;
  /** The requests that all other nodes have reserved. */
  others = 0;
  /** The requests that this node has reserved on disk. */
  reserved = 0;
  /** Whether the stored reservations of `day` have been read. */
  loaded = false;
  #limits: Limits = { perMinute: 0, perDay: 0 };
  #half = 0;
  #written = { day: 0, reserved: 0 };

  constructor(accountId: number, deployment: DeploymentName, node: string, day: number) {
    this.accountId = accountId;
    this.deployment = deployment;
    this.node = node;
    this.day = day;
  }

  set limits(limits: Limits) {
    this.#limits = limits;
    this.#half = blockOf(limits) / 2;
  }

  /** Starts another day; `loaded` if nothing can be stored for it yet. */
  startDay(day: number, loaded: boolean): void {
    this.day = day;
    this.own = 0;
    this.others = 0;
    this.reserved = 0;
    this.loaded = loaded;
  }

  /** Adds the stored reservations of the day to the requests counted in memory meanwhile. */
  load(rows: readonly Reservation[]): void {
    this.others = 0;
    for (const { node, reserved } of rows) {
      if (node !== this.node) this.others += reserved;
      else if (!this.loaded) {
        this.reserved = reserved;
        this.own += reserved;
      }
    }
    this.loaded = true;
  }

  /** Whether at most half a block is left and more can be reserved. */
  get needsReservation(): boolean {
    return this.reserved - this.own <= this.#half && this.loaded && this.#target() > this.reserved;
  }

  write(tx: Transaction): MaybePromise<unknown> {
    this.#written = { day: this.day, reserved: Math.max(this.reserved, this.#target()) };
    return tx.run(raiseReserved, {
      accountId: this.accountId,
      deployment: this.deployment,
      node: this.node,
      ...this.#written,
    });
  }

  written(): void {
    const { day, reserved } = this.#written;
    if (day === this.day && reserved > this.reserved) this.reserved = reserved;
  }

  #target(): number {
    const most = this.#limits.perDay - this.others;
    return Math.max(this.own, Math.min(most, this.own - 1 + blockOf(this.#limits)));
  }
}

/** Returns the number of requests per reservation. */
export function blockOf({ perMinute, perDay }: Limits): number {
  return Math.max(Math.ceil(perDay / 100), perMinute);
}

/** Returns the stored reservations of an account on one day. */
export async function reservations(
  database: Database,
  accountId: number,
  deployment: DeploymentName,
  day: number,
): Promise<readonly Reservation[]> {
  return await database.all(reservationsOf, { accountId, deployment, day });
}

/** Replaces reservations by exact counts, so that a clean shutdown loses nothing. */
export async function saveExactCounts(database: Database, counts: readonly DayCount[]): Promise<void> {
  for (let i = 0; i < counts.length; i += ROWS_AT_ONCE) {
    const batch = counts.slice(i, i + ROWS_AT_ONCE);
    const rows = batch.map(count => [count.accountId, count.deployment, count.day, count.node, count.own] as const);
    await database.write(tx => tx.run(setExact, { rows: JSON.stringify(rows) }));
    for (const [index, count] of batch.entries()) count.reserved = rows[index]![4];
  }
}

/** Deletes up to `most` counts of past days, and returns how many. Yesterday's stay, for nodes whose clock is behind. */
export async function deleteOldDayCounts(tx: Transaction, most: number): Promise<number> {
  return tx.run(deleteOld, { day: dayOf(tx.now) - 1, most });
}

/** The number of rows per transaction, so that none blocks other writes for long. */
const ROWS_AT_ONCE = 1000;

const primaryKey = ['account_id', 'deployment', 'day', 'node'] as const;

type AccountDay = Pick<DayCount, 'accountId' | 'deployment' | 'day'>;

const reservationsOf = query((db, p: Params<AccountDay>) =>
  db
    .selectFrom('day_counts')
    .select(['node', 'reserved'])
    .where('account_id', '=', p.accountId)
    .where('deployment', '=', p.deployment)
    .where('day', '=', p.day),
);

const raiseReserved = query((db, p: Params<AccountDay & Reservation>, engine) =>
  db
    .insertInto('day_counts')
    .values({ account_id: p.accountId, deployment: p.deployment, day: p.day, node: p.node, reserved: p.reserved })
    .onConflict(conflict =>
      conflict.columns(primaryKey).doUpdateSet({
        reserved: sql<number>`${sql.raw(engine === 'sqlite' ? 'max' : 'greatest')}(day_counts.reserved, excluded.reserved)`,
      }),
    ),
);

const setExact = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('day_counts')
    .columns([...primaryKey, 'reserved'])
    .expression(
      engine === 'sqlite'
        ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each(${p.rows}) where true`
        : sql`select (r ->> 0)::bigint, r ->> 1, (r ->> 2)::bigint, r ->> 3, (r ->> 4)::bigint
              from json_array_elements(cast(${p.rows} as json)) as r`,
    )
    .onConflict(conflict =>
      conflict.columns(primaryKey).doUpdateSet(eb => ({ reserved: eb.ref('excluded.reserved') })),
    ),
);

const deleteOld = query((db, p: Params<{ day: number; most: number }>, engine) =>
  db.deleteFrom('day_counts').where(eb =>
    eb(
      eb.refTuple(...primaryKey),
      'in',
      eb
        .selectFrom('day_counts')
        .select(primaryKey)
        .where('day', '<', p.day)
        .orderBy('day')
        .limit(p.most)
        .$if(engine === 'postgres', old => old.forUpdate().skipLocked())
        .$asTuple(...primaryKey),
    ),
  ),
);
