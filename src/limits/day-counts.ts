import type { Limits } from '../plans/plan.ts';
import { type Database, type DeploymentName, type Params, query, type Soon, sql, type Transaction } from '../schema.ts';
import type { Change } from './write-behind.ts';

const DAY_MS = 86_400_000;

/** The UTC calendar day of a moment (milliseconds), as days since 1970-01-01. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** The Unix second at which the day after `day` begins. */
export function endOfDay(day: number): number {
  return (day + 1) * (DAY_MS / 1000);
}

/** What the nodes have reserved for an account on one day. */
export interface Reservation {
  readonly node: string;
  readonly reserved: number;
}

/**
 * The requests that one node has counted for one account on one deployment and day, reserved ahead on disk.
 *
 * A block is 1 % of the day or one minute's limit, whichever is more. What is reserved is on disk before a request that
 * needs it is answered, and the next block is asked for when half of one is left: so no counted request is ever
 * forgotten, and a crash costs an account no more than a block.
 */
export class DayCount implements Change {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly node: string;
  day: number;
  /** What this node has counted. */
  own = 0;
  /** What all other nodes have reserved. */
  others = 0;
  /** How many of this node's own are reserved on disk. */
  reserved = 0;
  /** Whether what is on disk for `day` was read. */
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

  /** Goes over to another day; `loaded` where it is known that nothing of it is on disk. */
  begin(day: number, loaded: boolean): void {
    this.day = day;
    this.own = 0;
    this.others = 0;
    this.reserved = 0;
    this.loaded = loaded;
  }

  /** Goes on from what is on disk for its day, beside what was counted meanwhile in memory. */
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

  /** Whether half of a block or less is left, and more can be reserved. */
  get due(): boolean {
    return this.reserved - this.own <= this.#half && this.loaded && this.#target() > this.reserved;
  }

  write(tx: Transaction): Soon<unknown> {
    this.#written = { day: this.day, reserved: Math.max(this.reserved, this.#target()) };
    return tx.run(raise, {
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

/** How many requests are reserved at a time. */
export function blockOf({ perMinute, perDay }: Limits): number {
  return Math.max(Math.ceil(perDay / 100), perMinute);
}

/** What is reserved on disk for an account on one day. */
export async function reservations(
  database: Database,
  accountId: number,
  deployment: DeploymentName,
  day: number,
): Promise<readonly Reservation[]> {
  return await database.all(reservationsOf, { accountId, deployment, day });
}

/** Leaves exact numbers in place of what was reserved: nothing is lost by a clean stop. */
export async function keepExact(database: Database, counts: readonly DayCount[]): Promise<void> {
  for (let i = 0; i < counts.length; i += ROWS_AT_ONCE) {
    const exact = counts.slice(i, i + ROWS_AT_ONCE).map(count => ({ count, own: count.own }));
    const rows = exact.map(({ count: { accountId, deployment, day, node }, own }) => [
      accountId,
      deployment,
      day,
      node,
      own,
    ]);
    await database.write(tx => tx.run(setExact, { rows: JSON.stringify(rows) }));
    for (const { count, own } of exact) count.reserved = own;
  }
}

/** How many rows one transaction writes, so that it blocks nobody for long. */
const ROWS_AT_ONCE = 1000;

const reservationsOf = query((db, p: Params<{ accountId: number; deployment: DeploymentName; day: number }>) =>
  db
    .selectFrom('day_counts')
    .select(['node', 'reserved'])
    .where('account_id', '=', p.accountId)
    .where('deployment', '=', p.deployment)
    .where('day', '=', p.day),
);

const raise = query(
  (
    db,
    p: Params<{ accountId: number; deployment: DeploymentName; day: number; node: string; reserved: number }>,
    engine,
  ) =>
    db
      .insertInto('day_counts')
      .values({ account_id: p.accountId, deployment: p.deployment, day: p.day, node: p.node, reserved: p.reserved })
      .onConflict(conflict =>
        conflict.columns(['account_id', 'deployment', 'day', 'node']).doUpdateSet({
          reserved: sql<number>`${sql.raw(engine === 'sqlite' ? 'max' : 'greatest')}(day_counts.reserved, excluded.reserved)`,
        }),
      ),
);

const setExact = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('day_counts')
    .columns(['account_id', 'deployment', 'day', 'node', 'reserved'])
    .expression(
      engine === 'sqlite'
        ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each(${p.rows}) where true`
        : sql`select (r ->> 0)::bigint, r ->> 1, (r ->> 2)::bigint, r ->> 3, (r ->> 4)::bigint
              from json_array_elements(cast(${p.rows} as json)) as r`,
    )
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'deployment', 'day', 'node'])
        .doUpdateSet(eb => ({ reserved: eb.ref('excluded.reserved') })),
    ),
);
