import { slotOf } from './counter-slots.ts';
import type { CounterTable, Transaction } from './database.ts';
import { inOneStatement } from './query.ts';

/** The sum of the pending increments of a counter. */
interface PendingSum {
  by: number;
  /** The stored number, once `Transaction.incrementAndGet` has read it. */
  stored?: number;
}

/** Increments that were collected but not written yet. */
export class PendingIncrements {
  readonly #tables = new Map<CounterTable, Map<string, PendingSum>>();

  /** Adds to a counter, and returns the sum of its pending increments. */
  increment(counters: CounterTable, key: string, by: number): PendingSum {
    const sums = this.#tables.getOrInsertComputed(counters, () => new Map<string, PendingSum>());
    const sum = sums.getOrInsertComputed(key, () => ({ by: 0 }));
    sum.by += by;
    return sum;
  }

  /**
   * Reports whether a statement that contains these words mentions a table with pending increments, which must be
   * written first.
   */
  concern(words: ReadonlySet<string>): boolean {
    for (const { table } of this.#tables.keys()) if (words.has(table)) return true;
    return false;
  }

  /** Writes all increments: at once on SQLite, and with one queued statement on PostgreSQL. */
  write(tx: Transaction): void {
    if (this.#tables.size === 0) return;
    // All transactions lock counters in the same order, so that they cannot deadlock.
    const tables = [...this.#tables].sort(([one], [other]) => (one.table < other.table ? -1 : 1));
    this.#tables.clear();
    const slot = tx.engine === 'sqlite' ? 0 : slotOf(tx);
    const statements = tables.flatMap(([{ add, subtract = add }, sums]) => {
      const sorted = [...sums].filter(([, { by }]) => by !== 0).sort(([one], [other]) => (one < other ? -1 : 1));
      return [...new Set([add, subtract])].flatMap(query => {
        const own = sorted.filter(([, { by }]) => (by > 0 ? add : subtract) === query);
        const rows = own.map(([key, { by }]) => [...key.split(' '), by]);
        return rows.length === 0 ? [] : [{ query, params: { slot, rows: JSON.stringify(rows) } }];
      });
    });
    if (tx.engine === 'postgres' && statements.length > 1) {
      const params = statements.map(({ params }) => params);
      tx.queue(inOneStatement(statements.map(({ query }) => query)), params);
      return;
    }
    for (const { query, params } of statements) tx.queue(query, params);
  }
}
