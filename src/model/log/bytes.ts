import { dayOf } from '../../lib/time.ts';
import { EVENT_BYTES_DAYS } from '../rules.ts';
import { type CounterSums, deletingOldest, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';

/** Counts the bytes of an event for the account that caused it, if there is one. */
export function countEventBytes(tx: Transaction, accountId: number | null, bytes: number): void {
  if (accountId !== null) tx.increment(eventBytes, `${accountId} ${dayOf(tx.now)}`, bytes);
}

/** Returns the bytes of the events that an account has caused in the last `EVENT_BYTES_DAYS`, including today. */
export async function eventBytesOf(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(bytesSince, { accountId, day: dayOf(now) - EVENT_BYTES_DAYS + 1 }))!.bytes;
}

/** Deletes up to `limit` counters of days that no longer count. Returns their number. */
export async function deleteOldEventBytes(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteOld, { before: dayOf(tx.now) - EVENT_BYTES_DAYS, limit });
}

const primaryKey = ['account_id', 'day', 'slot'] as const;

/** Adds to counters in the order of the given rows, each with an account, a day and a number. */
const addBytes = query((db, p: Params<CounterSums>, engine) =>
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

const eventBytes = { table: 'event_bytes', add: addBytes };

const bytesSince = query((db, p: Params<{ accountId: number; day: number }>) =>
  db
    .selectFrom('event_bytes')
    .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
    .where('account_id', '=', p.accountId)
    .where('day', '>=', p.day),
);

const deleteOld = deletingOldest('event_bytes', primaryKey, 'day');
