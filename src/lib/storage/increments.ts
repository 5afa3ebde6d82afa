import type { MaybePromise } from '../maybe-promise.ts';
import type { CounterTable, ReadableCounterTable, Transaction } from './database.ts';
import { inOneStatement } from './query.ts';

const noNumbers = () => new Map<string, number>();

/** Increments that were collected and not yet written. */
export class PendingIncrements {
  readonly #tables = new Map<CounterTable, Map<string, number>>();
  /** The stored numbers of counters, without pending increments, as far as they were read. */
  readonly #stored = new Map<CounterTable, Map<string, number>>();

  /** Returns the sum of the pending increments of the counter. */
  increment(counters: CounterTable, key: string, by: number): number {
    const sums = this.#tables.getOrInsertComputed(counters, noNumbers);
    const sum = (sums.get(key) ?? 0) + by;
    sums.set(key, sum);
    return sum;
  }

  /** Returns the stored number of a counter from `read`, called once until the increments of its table are written. */
  stored(counters: ReadableCounterTable, key: string, read: () => number): number {
    return this.#stored.getOrInsertComputed(counters, noNumbers).getOrInsertComputed(key, read);
  }

  /** Reports whether a statement with these words mentions a table with pending increments, which must be written first. */
  concern(words: ReadonlySet<string>): boolean {
    for (const { table } of this.#tables.keys()) if (words.has(table)) return true;
    return false;
  }

  get isEmpty(): boolean {
    return this.#tables.size === 0;
  }

  /** Writes all increments: synchronously on SQLite, and in one statement on PostgreSQL. */
  write(tx: Transaction): MaybePromise<unknown> {
    // Every transaction locks counters in the same order, so that two of them cannot deadlock.
    const tables = [...this.#tables].sort(([one], [other]) => (one.table < other.table ? -1 : 1));
    this.#tables.clear();
    this.#stored.clear();
    const statements = tables.flatMap(([counters, sums]) => {
      const sorted = [...sums].filter(([, by]) => by !== 0).sort(([one], [other]) => (one < other ? -1 : 1));
      return sorted.length === 0 ? [] : counters.add(tx, sorted);
    });
    if (tx.engine === 'sqlite' || statements.length === 1) {
      let last: MaybePromise<unknown>;
      for (const { query, params } of statements) last = tx.run(query, params);
      return last;
    }
    if (statements.length === 0) return undefined;
    const params = statements.map(({ params }) => params);
    return tx.run(inOneStatement(statements.map(({ query }) => query)), params);
  }
}
