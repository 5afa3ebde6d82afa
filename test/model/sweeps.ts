import { expireHolds } from '../../src/holds/expiry.ts';
import { expireOrders } from '../../src/orders/expiry.ts';
import { expireReservations } from '../../src/pets/expiry.ts';
import type { Database } from '../../src/schema.ts';

/** The functions that record expiries. */
export const sweeps = { pets: expireReservations, holds: expireHolds, orders: expireOrders };

/** Records all expiries. */
export async function sweepAll(database: Database, now: number): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(database, now);
}
