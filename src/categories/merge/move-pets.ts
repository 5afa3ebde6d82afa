import { recordEvents } from '../../events/log.ts';
import { nextVersion, petEvent } from '../../pets/change.ts';
import { updateCounts } from '../../pets/counts.ts';
import { updateFacets } from '../../pets/facets.ts';
import { lockPets } from '../../pets/lock.ts';
import { petColumns } from '../../pets/pet.ts';
import { type Params, query, selectJsonNumbers, type Transaction } from '../../schema.ts';

/**
 * Moves up to `most` pets of a category to another one, by id ascending, with a new version and an event each. Holds and
 * orders stay as they are; expired ones end first. The number of statements is fixed. Lock the target first.
 * @returns the number of pets moved
 */
export async function movePets(
  tx: Transaction,
  { from, to, most, accountId }: { from: number; to: number; most: number; accountId: number | null },
): Promise<number> {
  let moving = await tx.all(lockedPetsOf, { category: from, most });
  tx.refreshNow(Math.max(0, ...moving.map(({ updatedAt }) => updatedAt)));
  if (moving.length === 0) return 0;
  const expired = moving.filter(({ reservedUntil }) => reservedUntil !== null && reservedUntil <= tx.now);
  if (expired.length > 0) {
    const ids = expired.map(({ id }) => id);
    await lockPets(tx, ids);
    moving = await tx.all(lockedPetsOf, { category: from, most });
  }

  const details = { was: { categoryId: from }, reason: 'category_merged' } as const;
  await recordEvents(
    tx,
    moving.map(pet => petEvent('updated', accountId, { ...pet, categoryId: to }, details)),
  );
  await tx.run(move, { ids: JSON.stringify(moving.map(({ id }) => id)), category: to, now: tx.now });
  updateCounts(tx, { categoryId: from }, -moving.length);
  updateCounts(tx, { categoryId: to }, moving.length);
  for (const pet of moving) updateFacets(tx, pet, { ...pet, categoryId: to });
  return moving.length;
}

const lockedPetsOf = query((db, p: Params<{ category: number; most: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select(petColumns.stored())
    .where('category_id', '=', p.category)
    .orderBy('id')
    .limit(p.most);
  return engine === 'postgres' ? pets.forUpdate() : pets;
});

const move = query((db, p: Params<{ ids: string; category: number; now: number }>, engine) =>
  db
    .updateTable('pets')
    .set({
      category_id: p.category,
      version: nextVersion,
      updated_at: p.now,
    })
    .where('id', 'in', selectJsonNumbers(p.ids, engine)),
);
