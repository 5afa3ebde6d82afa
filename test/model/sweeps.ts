import { expireHolds } from '../../src/holds/expiry.ts';
import { expireOrders } from '../../src/orders/expiry.ts';
import { expireReservations } from '../../src/pets/expiry.ts';
import type { Database } from '../../src/schema.ts';

/** What writes down that something has run out. */
export const sweeps = { pets: expireReservations, holds: expireHolds, orders: expireOrders };

/** Writes down all that has run out. */
export async function sweepAll(database: Database, now: number): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(database, now);
}
