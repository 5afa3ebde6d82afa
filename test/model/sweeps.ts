import { sweepHolds } from '../../src/holds/sweep-holds.ts';
import { sweepOrders } from '../../src/orders/sweep-orders.ts';
import { sweepPets } from '../../src/pets/sweep-pets.ts';
import type { Database } from '../../src/schema.ts';

/** What writes down that something has run out. */
export const sweeps = { pets: sweepPets, holds: sweepHolds, orders: sweepOrders };

/** Writes down all that has run out. */
export async function sweepAll(database: Database, now: number): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(database, now);
}
