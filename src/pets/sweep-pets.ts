import { type Database, type Params, query } from '../schema.ts';
import { lockPets } from './lock-pets.ts';

/**
 * Frees every animal whose hold or order has run out by `now`, each at its own moment, and writes it down.
 *
 * Reads count them as free anyway; this is what mirrors and histories hear of it from. Nothing is lost when it breaks
 * off or is left out. Costs one look at an index where nothing is due; else a transaction for each hundred animals.
 * Safe to repeat, also by several processes at once: an animal that another one has in hand is left to it.
 * @throws {StorageError} as `Database.write`
 */
export async function sweepPets(database: Database, now: number): Promise<void> {
  while ((await database.first(firstDue, { now })) !== undefined) {
    const freed = await database.write(async tx => {
      const due = await tx.all(someDue, { now: Math.min(now, tx.now), most: PETS_AT_ONCE });
      if (due.length > 0) {
        await lockPets(
          tx,
          due.map(({ id }) => id),
        );
      }
      return due.length;
    });
    // The rest is in the hands of others.
    if (freed === 0) return;
  }
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
