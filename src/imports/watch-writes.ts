import type { Query, Transaction } from '../schema.ts';

/** A transaction that tells whether it has written. */
export interface WatchedTransaction {
  readonly tx: Transaction;
  /** Returns how often it has written or may have. */
  writes(): number;
}

/** Returns a transaction that counts the statements that change rows, and increments. */
export function watchWrites(tx: Transaction): WatchedTransaction {
  let writes = 0;
  const note = <P, R>(query: Query<P, R>) => {
    if (query.compiledFor(tx.engine).changedTable !== undefined) writes++;
    return query;
  };
  return {
    writes: () => writes,
    tx: {
      engine: tx.engine,
      origin: tx.origin,
      get now() {
        return tx.now;
      },
      refreshNow: after => tx.refreshNow(after),
      requireVisibleBefore: (end, late) => tx.requireVisibleBefore(end, late),
      all: (query, params) => tx.all(note(query), params),
      first: (query, params) => tx.first(note(query), params),
      run: (query, params) => tx.run(note(query), params),
      insert: (query, params) => tx.insert(note(query), params),
      increment(counters, key, by) {
        writes++;
        tx.increment(counters, key, by);
      },
      incrementAndGet(counters, key, by) {
        writes++;
        return tx.incrementAndGet(counters, key, by);
      },
      notify(topic) {
        writes++;
        return tx.notify(topic);
      },
    },
  };
}
