import { DAY_MS, dayOf } from '../../lib/time.ts';
import { succeedsWithin } from '../../lib/timeout.ts';
import { type Database, deletingOldest, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import type { MinuteWindow } from './minute-window.ts';
import type { PendingWrite, WriteBehind } from './write-behind.ts';

/** The requests that a node has reserved for a subject on one day. */
export interface ReservedRequests {
  readonly node: string;
  readonly reserved: number;
}

/**
 * The requests that one node has counted for one subject and day. They are reserved on disk in advance, in blocks.
 *
 * A reservation is on disk before the response to a request that needs it, so no counted request is ever lost. A block
 * has as many requests as the subject sent in the last minute, or twice as many as in this second; at least
 * `BLOCK_MIN`, and at most 1 % of the day limit: a crash costs the subject at most that, or one request. The next block
 * is reserved when half a block is left.
 */
export class DayCount implements PendingWrite {
  /** The name of the subject. */
  readonly subject: string;
  readonly node: string;
  day = 0;
  /** The Unix second at which `day` ends. */
  end = 0;
  /** The requests that this node has counted. */
  own = 0;
  /** The requests that all other nodes have reserved. */
  others = 0;
  /** The requests that this node has reserved on disk. */
  reserved = 0;
  /** Whether the stored counts of `day` have been read. */
  loaded = false;
  #perDay = 0;
  #blockMax = 1;
  /** The number of requests to reserve in advance. */
  #block = 1;

  constructor(subject: string, node: string, day: number) {
    this.subject = subject;
    this.node = node;
    this.startDay(day, false);
  }

  /** @param nodes the number of nodes that reserve for the subject; together they lose at most 1 % */
  setLimit(perDay: number, nodes: number): void {
    this.#perDay = perDay;
    this.#blockMax = Math.max(1, Math.floor(perDay / 100 / nodes));
  }

  /** Starts another day. `loaded` is true if no counts can be stored for it yet. */
  startDay(day: number, loaded: boolean): void {
    this.day = day;
    this.end = (day + 1) * (DAY_MS / 1000);
    this.own = 0;
    this.others = 0;
    this.reserved = 0;
    this.loaded = loaded;
  }

  /** Reverses the count of a request at a time (milliseconds); has no effect on another day. */
  remove(at: number): void {
    if (dayOf(at) === this.day && this.own > 0) this.own--;
  }

  /** Adds the stored counts of the day to the requests counted in memory meanwhile. */
  load(rows: readonly ReservedRequests[]): void {
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

  /**
   * Reserves the next block if few reserved requests are left. Returns a promise only if a counted request is not
   * reserved on disk yet; it resolves once it is, or when storage fails.
   * @param minute the subject's requests in the last minute
   */
  reserve(writeBehind: WriteBehind, minute: MinuteWindow): Promise<void> | undefined {
    // Half a block lasts for another second of a burst, during which the next block is written.
    const latest = minute.pairs.at(-1) ?? 0;
    this.#block = Math.min(this.#blockMax, Math.max(BLOCK_MIN, minute.total, 2 * latest));
    const left = this.reserved - this.own;
    if (left > this.#block / 2 || !this.loaded || this.#target() <= this.reserved) return undefined;
    const written = writeBehind.add(this);
    if (this.own <= this.reserved || writeBehind.state === 'memory') return undefined;
    return this.#waitFor(written, writeBehind);
  }

  async #waitFor(written: Promise<void>, writeBehind: WriteBehind): Promise<void> {
    const { day, own } = this;
    await written;
    while (this.reserved < own && this.day === day && writeBehind.state === 'durable') await writeBehind.add(this);
  }

  async write(tx: Transaction): Promise<() => void> {
    const { subject, node, day } = this;
    const reserved = Math.max(this.reserved, this.#target());
    await tx.run(raiseReserved, { subject, node, day, reserved });
    return () => {
      if (day === this.day && reserved > this.reserved) this.reserved = reserved;
    };
  }

  #target(): number {
    return Math.max(this.own, Math.min(this.#perDay - this.others, this.own + this.#block));
  }
}

/** The smallest block, for slow subjects: few of their requests need a write. */
const BLOCK_MIN = 100;

/** How long to wait for stored counts. */
export const READ_MS = 1000;

/**
 * Reads the stored counts of a subject on one day, one for each node, and passes them to `use`. Waits for a second at
 * most; after that, `use` may still be called. Reports a failure to `writeBehind`, and never rejects.
 * @returns whether the counts were read in time
 */
export async function readReserved(
  { database, writeBehind }: { readonly database: Database; readonly writeBehind: WriteBehind },
  { subject, day }: DayCount,
  use: (rows: readonly ReservedRequests[]) => void,
): Promise<boolean> {
  const reading = async () => use(await database.all(reservedOf, { subject, day }));
  if (await succeedsWithin(reading(), READ_MS)) return true;
  writeBehind.reportTimeout();
  return false;
}

/**
 * Replaces stored counts, which include requests reserved in advance, by exact ones, so that a clean shutdown loses
 * none.
 */
export async function saveExactCounts(database: Database, counts: readonly DayCount[]): Promise<void> {
  for (let i = 0; i < counts.length; i += ROWS_AT_ONCE) {
    const batch = counts.slice(i, i + ROWS_AT_ONCE);
    const rows = batch.map(count => [count.subject, count.day, count.node, count.own] as const);
    await database.write(tx => tx.run(setExact, { rows: JSON.stringify(rows) }));
    for (const [index, count] of batch.entries()) count.reserved = rows[index]![3];
  }
}

/**
 * Deletes up to `limit` counts of past days. Returns their number. Keeps yesterday's, for nodes whose clock is behind.
 */
export async function deleteOldDayCounts(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteOld, { before: dayOf(tx.now) - 1, limit });
}

/** The number of rows per transaction, so that a transaction does not block other writes for long. */
const ROWS_AT_ONCE = 1000;

const primaryKey = ['subject', 'day', 'node'] as const;

type SubjectDay = Pick<DayCount, 'subject' | 'day'>;

const reservedOf = query((db, p: Params<SubjectDay>) =>
  db.selectFrom('day_counts').select(['node', 'reserved']).where('subject', '=', p.subject).where('day', '=', p.day),
);

const raiseReserved = query((db, p: Params<SubjectDay & ReservedRequests>, engine) =>
  db
    .insertInto('day_counts')
    .values({ subject: p.subject, day: p.day, node: p.node, reserved: p.reserved })
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
        ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(${p.rows}) where true`
        : sql`select r ->> 0, (r ->> 1)::bigint, r ->> 2, (r ->> 3)::bigint
              from json_array_elements(cast(${p.rows} as json)) as r`,
    )
    .onConflict(conflict =>
      conflict.columns(primaryKey).doUpdateSet(eb => ({ reserved: eb.ref('excluded.reserved') })),
    ),
);

const deleteOld = deletingOldest('day_counts', primaryKey, 'day');
