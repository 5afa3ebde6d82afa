import { problem } from '../errors.ts';
import { type CounterTable, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import type { OrderStatus } from './order.ts';

/**
 * Counts a new order of an account, which is open until it is delivered, cancelled or expires. Call it last: on PostgreSQL
 * the next order of the account waits until this transaction ends, so that concurrent orders cannot exceed `max`.
 * @throws {Problem} `order_limit_exceeded`
 */
export async function countOrder(tx: Transaction, accountId: number, max: number): Promise<void> {
  const { open } = (await tx.first(countNew, { accountId }))!;
  if (open <= max || open - (await countExpired(tx, accountId, tx.now)) <= max) return;
  const message = `The account has ${max} open orders, the maximum of its plan.`;
  throw problem('order_limit_exceeded', `${message} Cancel one, or wait until one is delivered or expires.`);
}

/** Reports whether an order with this status is open: neither delivered nor cancelled nor expired. */
export function isOpen(status: OrderStatus): boolean {
  return status === 'placed' || status === 'approved';
}

/** Counts an order of an account as ended, in the transaction that ends it. */
export function countEnded(tx: Transaction, accountId: number): void {
  tx.increment(orderCounters, String(accountId), -1);
}

/** Returns the number of open orders of an account as of `now`. */
export async function countOpen(reader: Reader, accountId: number, now: number): Promise<number> {
  const counted = await reader.first(countOf, { accountId });
  return counted === undefined ? 0 : counted.open - (await countExpired(reader, accountId, now));
}

/** Returns how many orders of an account have expired by `now` and still count as open, until the sweep records that. */
async function countExpired(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(expiredOf, { accountId, now }))!.expired;
}

const orderCounters: CounterTable = {
  table: 'order_counts',
  add: (tx, sums) => tx.run(addToCounts, { rows: JSON.stringify(sums) }),
};

const countNew = query((db, p: Params<{ accountId: number }>) =>
  db
    .insertInto('order_counts')
    .values({ account_id: p.accountId, open: 1 })
    .onConflict(conflict =>
      conflict.column('account_id').doUpdateSet(eb => ({ open: eb('order_counts.open', '+', sql.lit(1)) })),
    )
    .returning('open'),
);

/** Adds to counters in the order of the rows, each of which has an account and a number. */
const addToCounts = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('order_counts')
    .columns(['account_id', 'open'])
    .expression(
      engine === 'sqlite'
        ? sql`select cast(value ->> 0 as integer), value ->> 1 from json_each(${p.rows}) where true`
        : sql`select (row ->> 0)::bigint, (row ->> 1)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (row, number) order by number`,
    )
    .onConflict(conflict =>
      conflict
        .column('account_id')
        .doUpdateSet(eb => ({ open: eb('order_counts.open', '+', eb.ref('excluded.open')) })),
    ),
);

const countOf = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('order_counts').select('open').where('account_id', '=', p.accountId),
);

/** Follows the index by expiry: few orders have expired and are not recorded, but an account can have many open ones. */
const expiredOf = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('orders')
    .select(eb => eb.fn.countAll<number>().as('expired'))
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .where(sql`account_id + 0`, '=', p.accountId),
);
