import { problem } from '../errors.ts';
import { accountCounter } from '../plans/account-counter.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import type { OrderStatus } from './order.ts';

/** The number of placed and approved orders of each account. */
const openOrders = accountCounter('order_counts', 'open');

/**
 * Counts a new order of an account, which is open until it is delivered, cancelled or expires. Call it last: on PostgreSQL
 * the next order of the account waits until this transaction ends, so that concurrent orders cannot exceed `max`.
 * @throws {Problem} `order_limit_exceeded`
 */
export async function countOrder(tx: Transaction, accountId: number, max: number): Promise<void> {
  const open = await openOrders.add(tx, accountId, 1);
  if (open <= max || open - (await countExpired(tx, accountId, tx.now)) <= max) return;
  const message = `The account has ${max} open orders, the maximum of its plan.`;
  throw problem('order_limit_exceeded', `${message} Cancel one, or wait until one is delivered or expires.`);
}

/** Reports whether an order with this status is open: neither delivered nor cancelled nor expired. */
export function isOpen(status: OrderStatus): boolean {
  return status === 'placed' || status === 'approved';
}

/** Counts an order of an account as ended, in the transaction of the request that ends it. Call it last, as `countOrder`. */
export async function countEnded(tx: Transaction, accountId: number): Promise<void> {
  await openOrders.add(tx, accountId, -1);
}

/** Does the same for a job, which may end orders of many accounts: all at the end of its transaction. */
export function countEndedLater(tx: Transaction, accountId: number): void {
  openOrders.addLater(tx, accountId, -1);
}

/** Returns the number of open orders of an account as of `now`. */
export async function countOpen(reader: Reader, accountId: number, now: number): Promise<number> {
  const open = await openOrders.read(reader, accountId);
  return open === 0 ? 0 : open - (await countExpired(reader, accountId, now));
}

/** Returns how many orders of an account have expired by `now` and still count as open, until the sweep records that. */
async function countExpired(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(expiredOf, { accountId, now }))!.expired;
}

/** Follows the index by expiry: few orders have expired and are not recorded, but an account can have many open ones. */
const expiredOf = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('orders')
    .select(eb => eb.fn.countAll<number>().as('expired'))
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .where(sql`account_id + 0`, '=', p.accountId),
);
