import type { Clock } from '../lib/clock.ts';
import { batchJob } from '../lib/jobs/batch-job.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { lockPets } from '../pets/lock.ts';
import { type Database, type NextDue, type Params, query, sql, type Transaction } from '../schema.ts';
import { recordOrderEvent } from './events.ts';
import { orderColumns } from './rows.ts';

/**
 * Ends every placed order that has expired by `now`, as of its expiry: makes its pet available and records
 * `order.expired`.
 *
 * Reads treat such an order as expired anyway, so a late or interrupted run loses nothing. It costs one index lookup if
 * no order is due, else one transaction per batch. Safe to repeat and to run in several processes.
 * @throws {StorageError} as `Database.write`
 */
export async function expireOrders(database: Database, now: number): Promise<void> {
  // If a batch expires nothing, another process is expiring it.
  while ((await expireBatch(database, now)) > 0);
}

/** Returns the job that ends expired orders, a batch at a time. */
export function orderExpiryJob(deps: { readonly database: Database; readonly clock: Clock }): JobType<never> {
  return batchJob('orders', () => expireBatch(deps.database, Math.floor(deps.clock.now())));
}

/** When the next order expires. */
export const nextOrderExpiry: NextDue = db =>
  db
    .selectFrom('orders')
    .select('expires_at as dueAt')
    .where('status', '=', sql.lit('placed'))
    .orderBy('expires_at')
    .limit(1);

/** The maximum number of orders per transaction. */
const BATCH_SIZE = 50;

/** Returns the number of orders that it ended. */
async function expireBatch(database: Database, now: number): Promise<number> {
  const due = await database.all(findExpired, { now });
  return due.length === 0 ? 0 : database.write(tx => expireAll(tx, due));
}

/** Locking the pets makes them available, and serializes processes that expire the same orders. */
async function expireAll(tx: Transaction, due: readonly { id: number; petId: number }[]): Promise<number> {
  const petIds = due.map(({ petId }) => petId);
  await lockPets(tx, petIds);
  let ended = 0;
  for (const { id } of due) {
    const order = await tx.first(endExpired, { id, now: tx.now });
    if (order === undefined) continue;
    await recordOrderEvent(tx, order, { accountId: null, was: { ...order, status: 'placed' }, at: order.updatedAt });
    ended++;
  }
  return ended;
}

const findExpired = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('orders')
    .select(['id', 'pet_id as petId'])
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .limit(BATCH_SIZE),
);

/** Changes nothing if the order has taken a step or has been ended. */
const endExpired = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('orders')
    .set(eb => ({ status: 'expired', version: eb('version', '+', 1), updated_at: eb.ref('expires_at') as never }))
    .where('id', '=', p.id)
    .where('status', '=', 'placed')
    .where('expires_at', '<=', p.now)
    .returning(orderColumns.stored()),
);
