import type { OnConflictBuilder } from 'kysely';
import { type CounterTable, type Params, query, type Reader, sql, type Tables, type Transaction } from '../schema.ts';

/** A number for each account, in a row of its own; an account without a row has 0. */
export interface AccountCounter {
  /**
   * Adds to the number of an account and returns the sum. On PostgreSQL the next addition waits until this transaction
   * ends, so that concurrent transactions cannot exceed a bound.
   */
  add(tx: Transaction, accountId: number, by: number): Promise<number>;
  /** Adds to the number of an account at the end of the transaction. */
  addLater(tx: Transaction, accountId: number, by: number): void;
  /** Returns the number of an account. */
  read(reader: Reader, accountId: number): Promise<number>;
}

/** Returns the counter whose numbers are in `column` of `table`. */
export function accountCounter<Table extends 'order_counts' | 'stored_bytes'>(
  table: Table,
  column: Table extends 'order_counts' ? 'open' : 'bytes',
): AccountCounter {
  // The queries are the same for every table, so they have the types of one.
  const [counts, count] = [table as 'order_counts', column as 'open'];

  const addToStored = (conflict: OnConflictBuilder<Tables, 'order_counts'>) =>
    conflict
      .column('account_id')
      .doUpdateSet(eb => ({ [count]: eb(`${counts}.${count}`, '+', eb.ref(`excluded.${count}`)) }));

  const addOne = query((db, p: Params<{ accountId: number; by: number }>) =>
    db
      .insertInto(counts)
      .values({ account_id: p.accountId, [count]: p.by })
      .onConflict(addToStored)
      .returning(`${count} as sum`),
  );

  /** Adds to counters in the order of the rows, each of which has an account and a number. */
  const addEach = query((db, p: Params<{ rows: string }>, engine) =>
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

  const countOf = query((db, p: Params<{ accountId: number }>) =>
    db.selectFrom(counts).select(`${count} as sum`).where('account_id', '=', p.accountId),
  );

  const increments: CounterTable = { table, add: (tx, sums) => tx.run(addEach, { rows: JSON.stringify(sums) }) };

  return {
    async add(tx, accountId, by) {
      return (await tx.first(addOne, { accountId, by }))!.sum;
    },
    addLater(tx, accountId, by) {
      tx.increment(increments, String(accountId), by);
    },
    async read(reader, accountId) {
      return (await reader.first(countOf, { accountId }))?.sum ?? 0;
    },
  };
}
