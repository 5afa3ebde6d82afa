import type { OnConflictBuilder } from 'kysely';
import {
  type CounterSums,
  type MaybePromise,
  type Params,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';

/** A number for each account, stored in a row per account; an account without a row has 0. */
export interface AccountCounter {
  /** Adds to the number of an account and returns it, like `Transaction.incrementAndGet`. */
  add(tx: Transaction, accountId: number, by: number): MaybePromise<number>;
  /** Adds to the number of an account at the end of the transaction. */
  addLater(tx: Transaction, accountId: number, by: number): void;
  /** Returns the number of an account. */
  read(reader: Reader, accountId: number): Promise<number>;
}

/** Returns the counter whose numbers are in `column` of `table`. */
export function accountCounter<Table extends 'order_counts' | 'stored_bytes' | 'photo_bytes'>(
  table: Table,
  column: Table extends 'order_counts' ? 'open' : 'bytes',
): AccountCounter {
  // The queries are the same for every table, so they use the types of one table.
  const [counts, count] = [table as 'order_counts', column as 'open'];

  const addToStored = (conflict: OnConflictBuilder<Tables, 'order_counts'>) =>
    conflict
      .column('account_id')
      .doUpdateSet(eb => ({ [count]: eb(`${counts}.${count}`, '+', eb.ref(`excluded.${count}`)) }));

  const addOne = query((db, p: Params<{ key: string; by: number }>) =>
    db
      .insertInto(counts)
      .values({ account_id: sql<number>`cast(${p.key} as bigint)`, [count]: p.by })
      .onConflict(addToStored)
      .returning(`${count} as number`),
  );

  /** Adds to counters in the order of the given rows, each with an account and a number. */
  const addEach = query((db, p: Params<CounterSums>, engine) =>
    db
      .insertInto(counts)
      .columns(['account_id', count])
      .expression(
        engine === 'sqlite'
          ? sql`select cast(value ->> 0 as integer), value ->> 1 from json_each(${p.rows}) where true`
          : sql`select (row ->> 0)::bigint, (row ->> 1)::bigint
                from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (row, number) order by number`,
      )
      .onConflict(addToStored),
  );

  const numberOf = query((db, p: Params<{ key: string }>) =>
    db.selectFrom(counts).select(`${count} as number`).where('account_id', '=', sql<number>`cast(${p.key} as bigint)`),
  );

  const counters = { table, add: addEach, addOne, numberOf };

  return {
    add: (tx, accountId, by) => tx.incrementAndGet(counters, String(accountId), by),
    addLater: (tx, accountId, by) => tx.increment(counters, String(accountId), by),
    async read(reader, accountId) {
      return (await reader.first(numberOf, { key: String(accountId) }))?.number ?? 0;
    },
  };
}
