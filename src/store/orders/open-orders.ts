import { accountCounter } from '../../access/plans/account-counter.ts';
import { problem } from '../../model/errors.ts';
import type { OrderStatus } from '../../model/order.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/** The number of placed and approved orders of each account. */
const openOrders = accountCounter('order_counts', 'open');

/**
 * Counts a new open order of an account. Call it last: on PostgreSQL the account's next order waits until this
 * transaction ends, so that concurrent orders cannot exceed `max`.
 * @throws {Problem} `order_limit_exceeded`
 */
export async function countOrder(tx: Transaction, accountId: number, max: number): Promise<void> {
  const open = await openOrders.add(tx, accountId, 1);
  if (open <= max || open - (await countExpired(tx, accountId, tx.now)) <= max) return;
  const message = `The account has ${max} open orders, the maximum of its plan.`;
  throw problem('order_limit_exceeded', `${message} Cancel an order, or wait until one is delivered or expires.`);
}

/** Reports whether an order with this status is open: neither delivered nor cancelled nor expired. */
export function isOpen(status: OrderStatus): boolean {
  return status === 'placed' || status === 'approved';
}

/**
 * Counts an order of an account as ended, in the transaction of the request that ends it. Call it last, like
 * `countOrder`.
 */
export async function countEnded(tx: Transaction, accountId: number): Promise<void> {
  await openOrders.add(tx, accountId, -1);
}

/** The same for a job, which may end orders of many accounts; counts all at the end of the transaction. */
export function countEndedLater(tx: Transaction, accountId: number): void {
  openOrders.addLater(tx, accountId, -1);
}

/** Returns the number of open orders of an account as of `now`. */
export async function countOpen(reader: Reader, accountId: number, now: number): Promise<number> {
  const open = await openOrders.read(reader, accountId);
  return open === 0 ? 0 : open - (await countExpired(reader, accountId, now));
}

/**
 * Returns the number of an account's orders that have expired by `now` and still count as open until the sweep records
 * the expiry.
 */
async function countExpired(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(expiredOf, { accountId, now }))!.expired;
}

/** Uses the index by expiry: few expired orders are not recorded, but an account can have many open orders. */
const expiredOf = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('orders')
    .select(eb => eb.fn.countAll<number>().as('expired'))
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .where(sql`account_id + 0`, '=', p.accountId),
);
