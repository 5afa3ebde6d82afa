import { type Database, type NextDue, type Params, query } from '../../model/schema.ts';
import { lockPets } from './lock.ts';

/**
 * Ends every reservation that has expired by `now`, as of its expiry, and records that the pet is available.
 *
 * Reads treat such a pet as available anyway, so a late or interrupted run changes only when histories and lists of
 * changes show the expiry. Costs one index lookup if no reservation is due, otherwise one transaction per hundred pets.
 * Idempotent and safe to run in several processes: each skips the pets that another has locked.
 * @throws {StorageError} like `Database.write`
 */
export async function expireReservations(database: Database, now: number): Promise<void> {
  // If a batch expires no reservation, other processes have locked the remaining ones.
  while ((await expireReservationBatch(database, now)) > 0);
}

export const nextReservationExpiry: NextDue = db =>
  db
    .selectFrom('pets')
    .select('reserved_until as dueAt')
    .where('reserved_until', 'is not', null)
    .orderBy('reserved_until')
    .limit(1);

/** The same for at most a hundred pets. Returns the number of ended reservations. */
export async function expireReservationBatch(database: Database, now: number): Promise<number> {
  if ((await database.first(anyExpired, { now })) === undefined) return 0;
  return database.write(async tx => {
    const due = await tx.all(lockExpired, { now: Math.min(now, tx.now), most: BATCH_SIZE });
    const ids = due.map(({ id }) => id);
    // Locking ends an expired reservation.
    if (ids.length > 0) await lockPets(tx, ids);
    return ids.length;
  });
}

/** Few enough that a transaction stays short. */
const BATCH_SIZE = 100;

const anyExpired = query((db, p: Params<{ now: number }>) =>
  db.selectFrom('pets').select('id').where('reserved_until', '<=', p.now).orderBy('reserved_until').limit(1),
);

const lockExpired = query((db, p: Params<{ now: number; most: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select('id')
    .where('reserved_until', '<=', p.now)
    .orderBy('reserved_until')
    .limit(p.most);
  return engine === 'postgres' ? pets.forUpdate().skipLocked() : pets;
});
