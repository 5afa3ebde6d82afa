import type { Clock } from '../lib/clock.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { lockPets } from '../pets/lock-pets.ts';
import { type Database, type NextDue, type Params, query, sql, type Transaction } from '../schema.ts';
import { recordOrderEvent } from './events.ts';
import { orderColumns } from './rows.ts';

/**
 * Ends every placed order that has run out by `now` without approval, each at its own moment: its animal is free, its
 * row says so, and the log has it once.
 *
 * Reads count them as expired anyway; this is what histories hear of it from. Nothing is lost when it breaks off or is
 * left out. Costs one look at an index where nothing is due; else a transaction for each fifty orders. Safe to repeat,
 * also by several processes at once.
 * @throws {StorageError} as `Database.write`
 */
export async function expireOrders(database: Database, now: number): Promise<void> {
  // What is still due where none was ended is in the hands of others.
  while ((await sweepSome(database, now)) > 0);
}

/** The work of ending the orders that ran out without approval, fifty at a time. */
export function orderExpiryJob({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): Work<never> {
  return {
    name: 'orders',
    atOnce: 1,
    async take() {
      return { rows: await sweepSome(database, Math.floor(clock.now())), jobs: [] };
    },
    async work() {},
  };
}

/** When the next order runs out. */
export const nextOrderExpiry: NextDue = db =>
  db
    .selectFrom('orders')
    .select('expires_at as dueAt')
    .where('status', '=', sql.lit('placed'))
    .orderBy('expires_at')
    .limit(1);

/** How many orders it ended. */
async function sweepSome(database: Database, now: number): Promise<number> {
  const due = await database.all(someDue, { now, most: ORDERS_AT_ONCE });
  return due.length === 0 ? 0 : database.write(tx => expire(tx, due));
}

/** How many orders are ended in one transaction. */
const ORDERS_AT_ONCE = 50;

async function expire(tx: Transaction, due: readonly { id: number; petId: number }[]): Promise<number> {
  // Whoever has an animal may change its order; those who sweep wait for each other here.
  await lockPets(
    tx,
    due.map(({ petId }) => petId),
  );
  let ended = 0;
  for (const { id } of due) {
    const order = await tx.first(expireOrder, { id, now: tx.now });
    if (order === undefined) continue;
    await recordOrderEvent(tx, order, { accountId: null, was: { ...order, status: 'placed' }, at: order.updatedAt });
    ended++;
  }
  return ended;
}

const someDue = query((db, p: Params<{ now: number; most: number }>) =>
  db
    .selectFrom('orders')
    .select(['id', 'pet_id as petId'])
    .where('status', '=', sql.lit('placed'))
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .limit(p.most),
);

/** Nothing where it took a step, or was ended, meanwhile. */
const expireOrder = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('orders')
    .set(eb => ({ status: 'expired', version: eb('version', '+', 1), updated_at: eb.ref('expires_at') as never }))
    .where('id', '=', p.id)
    .where('status', '=', 'placed')
    .where('expires_at', '<=', p.now)
    .returning(orderColumns(p.now)),
);
