import { slotOf } from '../lib/storage/counter-slots.ts';
import { dayOf } from '../lib/time.ts';
import {
  type CounterTable,
  deletingOldest,
  type Params,
  query,
  type Reader,
  sql,
  statement,
  type Transaction,
} from '../schema.ts';

/** The days over which the bytes of events are bounded: `eventBytes`. */
export const EVENT_BYTES_DAYS = 30;

/** Counts the bytes of an event for the account that caused it. */
export function countEventBytes(tx: Transaction, accountId: number, bytes: number): void {
  tx.increment(counters, `${accountId} ${dayOf(tx.now)}`, bytes);
}

/** Returns the bytes of the events that an account has caused in the last 30 days, today included. */
export async function eventBytesOf(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(bytesSince, { accountId, day: dayOf(now) - EVENT_BYTES_DAYS + 1 }))!.bytes;
}

/** Deletes up to `limit` counters of days that do not count any more, and returns how many. */
export async function deleteOldEventBytes(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteOld, { before: dayOf(tx.now) - EVENT_BYTES_DAYS, limit });
}

const primaryKey = ['account_id', 'day', 'slot'] as const;

const counters: CounterTable = {
  table: 'event_bytes',
  add(tx, sums) {
    const rows = sums.map(([key, by]) => [...key.split(' '), by]);
    return [statement(addBytes, { slot: slotOf(tx), rows: JSON.stringify(rows) })];
  },
};

/** Adds to counters in the order of the rows, each of which has an account, a day and a number. */
const addBytes = query((db, p: Params<{ slot: number; rows: string }>, engine) =>
  db
    .insertInto('event_bytes')
    .columns(['slot', 'account_id', 'day', 'bytes'])
    .expression(
      engine === 'sqlite'
        ? sql`select ${p.slot}, cast(value ->> 0 as integer), cast(value ->> 1 as integer), value ->> 2
              from json_each(${p.rows}) where true`
        : sql`select cast(${p.slot} as bigint), (row ->> 0)::bigint, (row ->> 1)::bigint, (row ->> 2)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (row, number) order by number`,
    )
    .onConflict(conflict =>
      conflict
        .columns(primaryKey)
        .doUpdateSet(eb => ({ bytes: eb('event_bytes.bytes', '+', eb.ref('excluded.bytes')) })),
    ),
);

const bytesSince = query((db, p: Params<{ accountId: number; day: number }>) =>
  db
    .selectFrom('event_bytes')
    .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
    .where('account_id', '=', p.accountId)
    .where('day', '>=', p.day),
);

const deleteOld = deletingOldest('event_bytes', primaryKey, 'day');
