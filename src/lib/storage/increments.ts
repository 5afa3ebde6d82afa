import type { MaybePromise } from '../maybe-promise.ts';
import type { CounterTable, Transaction } from './database.ts';

/** Increments that were collected and not yet written. */
export class PendingIncrements {
  readonly #tables = new Map<CounterTable, Map<string, number>>();

  increment(counters: CounterTable, key: string, by: number): void {
    let sums = this.#tables.get(counters);
    if (sums === undefined) {
      sums = new Map();
      this.#tables.set(counters, sums);
    }
    sums.set(key, (sums.get(key) ?? 0) + by);
  }

  /** Reports whether a statement with these words mentions a table with pending increments, which must be written first. */
  concern(words: ReadonlySet<string>): boolean {
    for (const { table } of this.#tables.keys()) if (words.has(table)) return true;
    return false;
  }

  get isEmpty(): boolean {
    return this.#tables.size === 0;
  }

  /** Writes all increments. Synchronous where the transaction is. */
  write(tx: Transaction): MaybePromise<unknown> {
    const tables = [...this.#tables];
    this.#tables.clear();
    const written = tables.map(([counters, sums]) => {
      // Every transaction locks counters in the same order, so that two of them cannot deadlock.
      const sorted = [...sums].filter(([, by]) => by !== 0).sort(([one], [other]) => (one < other ? -1 : 1));
      return sorted.length === 0 ? undefined : counters.add(tx, sorted);
    });
    return written.some(result => result instanceof Promise) ? Promise.all(written) : undefined;
  }
}
