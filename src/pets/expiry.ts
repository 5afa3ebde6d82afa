import type { Clock } from '../lib/clock.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { type Database, type NextDue, type Params, query } from '../schema.ts';
import { lockPets } from './lock.ts';

/**
 * Frees every animal whose hold or order has run out by `now`, each at its own moment, and writes it down.
 *
 * Reads count them as free anyway; this is what mirrors and histories hear of it from. Nothing is lost when it breaks
 * off or is left out. Costs one look at an index where nothing is due; else a transaction for each hundred animals.
 * Safe to repeat, also by several processes at once: an animal that another one has in hand is left to it.
 * @throws {StorageError} as `Database.write`
 */
export async function expireReservations(database: Database, now: number): Promise<void> {
  // Where none can be had, the rest is in the hands of others.
  while ((await sweepSome(database, now)) > 0);
}

/** The work of freeing the animals whose hold or order has run out, a hundred at a time. */
export function reservationExpiryJob({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): Work<never> {
  return {
    name: 'pets',
    atOnce: 1,
    async take() {
      return { rows: await sweepSome(database, Math.floor(clock.now())), jobs: [] };
    },
    async work() {},
  };
}

/** When the next animal is to be freed. */
export const nextReservationExpiry: NextDue = db =>
  db
    .selectFrom('pets')
    .select('reserved_until as dueAt')
    .where('reserved_until', 'is not', null)
    .orderBy('reserved_until')
    .limit(1);

/** How many animals it freed. */
async function sweepSome(database: Database, now: number): Promise<number> {
  if ((await database.first(firstDue, { now })) === undefined) return 0;
  return database.write(async tx => {
    const due = await tx.all(someDue, { now: Math.min(now, tx.now), most: PETS_AT_ONCE });
    if (due.length > 0) {
      await lockPets(
        tx,
        due.map(({ id }) => id),
      );
    }
    return due.length;
  });
}

/** How many animals are freed in one transaction. */
const PETS_AT_ONCE = 100;

const firstDue = query((db, p: Params<{ now: number }>) =>
  db.selectFrom('pets').select('id').where('reserved_until', '<=', p.now).orderBy('reserved_until').limit(1),
);

const someDue = query((db, p: Params<{ now: number; most: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select('id')
    .where('reserved_until', '<=', p.now)
    .orderBy('reserved_until')
    .limit(p.most);
  return engine === 'postgres' ? pets.forUpdate().skipLocked() : pets;
});
