import { type OrderRow, petIdsOf } from '../../model/order.ts';
import { type Database, type NextDue, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { lockPets } from '../pets/lock.ts';
import { recordOrderEvent } from './events.ts';
import { countEndedLater } from './open-orders.ts';
import { orderColumns } from './rows.ts';

/**
 * Ends placed orders that have expired by `now`, at most 50, as of their expiry: makes their pets available and records
 * `order.expired`.
 *
 * Reads treat such an order as expired anyway, so a late or interrupted run has no visible effect. Costs one index
 * lookup if no order is due, otherwise one transaction. Idempotent and safe to run in several processes.
 * @returns the number of orders that it ended; 0 if other processes are ending those that are due
 * @throws {StorageError} like `Database.write`
 */
export async function expireOrders(database: Database, now: number): Promise<number> {
  const due = await database.all(findExpired, { now });
  return due.length === 0 ? 0 : database.write(tx => endAll(tx, due));
}

export const nextOrderExpiry: NextDue = db =>
  db
    .selectFrom('orders')
    .select('expires_at as dueAt')
    .where('status', '=', sql.lit('placed'))
    .orderBy('expires_at')
    .limit(1);

type DueOrder = Pick<OrderRow, 'id' | 'petId' | 'petIds'>;

/** Locking the pets makes them available, and serializes processes that expire the same orders. */
async function endAll(tx: Transaction, due: readonly DueOrder[]): Promise<number> {
  await lockPets(tx, due.flatMap(petIdsOf));
  let ended = 0;
  for (const { id } of due) {
    const order = await tx.first(endExpired, { id, now: tx.now });
    if (order === undefined) continue;
    await recordOrderEvent(tx, order, null, { was: { ...order, status: 'placed' }, at: order.updatedAt });
    countEndedLater(tx, order.accountId);
    ended++;
  }
  return ended;
}

const findExpired = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('orders')
    .select(['id', 'pet_id as petId', 'pet_ids as petIds'])
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .limit(50),
);

/** Changes nothing if a step was taken or the order has ended. */
const endExpired = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('orders')
    .set(eb => ({ status: 'expired', version: eb('version', '+', 1), updated_at: eb.ref('expires_at') as never }))
    .where('id', '=', p.id)
    .where('status', '=', 'placed')
    .where('expires_at', '<=', p.now)
    .returning(orderColumns.stored()),
);
