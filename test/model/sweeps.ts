import type { Database } from '../../src/model/schema.ts';
import { expireHolds } from '../../src/store/holds/expiry.ts';
import { expireOrders } from '../../src/store/orders/expiry.ts';
import { expireReservations } from '../../src/store/pets/expiry.ts';

/** The functions that record all expiries of one kind. */
export const sweeps = { pets: expireReservations, holds: repeated(expireHolds), orders: repeated(expireOrders) };

/** Records all expiries. */
export async function sweepAll(database: Database, now: number): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(database, now);
}

/** Runs batches until one changes nothing. */
function repeated(batch: typeof expireOrders) {
  return async (database: Database, now: number): Promise<void> => {
    while ((await batch(database, now)) > 0);
  };
}
