import { recordAll } from '../../events/log.ts';
import type { PetEventData } from '../../pets/change.ts';
import { updateCounts } from '../../pets/counts.ts';
import { lockPets } from '../../pets/lock.ts';
import type { PetState } from '../../pets/pet.ts';
import { petColumns, petValues } from '../../pets/rows.ts';
import { type Params, query, selectJsonNumbers, sql, type Transaction } from '../../schema.ts';

/**
 * Moves animals from one category, which is merged, to another: those with the lowest ids, locked in that order. Each
 * gets a new version and an event, and is counted where it is then. What they are kept for stays as it is; what has run
 * out is ended first.
 *
 * A few statements, however many they are. The category that they go to stays until the transaction ends.
 * @param most how many at most
 * @returns how many it were
 */
export async function movePets(
  tx: Transaction,
  { from, to, most, accountId }: { from: number; to: number; most: number; accountId: number | null },
): Promise<number> {
  let moving = await tx.all(lockedIn, { category: from, most });
  tx.refreshNow(Math.max(0, ...moving.map(({ updatedAt }) => updatedAt)));
  if (moving.length === 0) return 0;
  const runOut = moving.filter(({ reservedUntil }) => reservedUntil !== null && reservedUntil <= tx.now);
  if (runOut.length > 0) {
    await lockPets(
      tx,
      runOut.map(({ id }) => id),
    );
    moving = await tx.all(lockedIn, { category: from, most });
  }

  for (let first = 0; first < moving.length; first += RECORDED_AT_ONCE) {
    await recordAll(
      tx,
      moving.slice(first, first + RECORDED_AT_ONCE).map(pet => ({
        kind: 'pet',
        action: 'updated',
        subjectId: pet.id,
        accountId,
        data: movedTo(to, petValues.stateOf(pet), pet.accountId),
      })),
    );
  }
  await tx.run(move, { ids: JSON.stringify(moving.map(({ id }) => id)), category: to, now: tx.now });
  updateCounts(tx, [
    { categoryId: from, by: -moving.length },
    { categoryId: to, by: moving.length },
  ]);
  return moving.length;
}

const RECORDED_AT_ONCE = 100;

function movedTo(categoryId: number, before: PetState, ownerId: number): PetEventData {
  return { pet: { ...before, categoryId }, was: { categoryId: before.categoryId }, reason: 'category_merged', ownerId };
}

const lockedIn = query((db, p: Params<{ category: number; most: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select(petColumns.stored())
    .where('category_id', '=', p.category)
    .orderBy('id')
    .limit(p.most);
  return engine === 'postgres' ? pets.forUpdate() : pets;
});

/** Whether an animal is kept: then its next version is that of its running out, as for `changePet`. */
const isKept = sql`exists(select 1 from reservations where reservations.pet_id = pets.id and active = 1)`;

const move = query((db, p: Params<{ ids: string; category: number; now: number }>, engine) =>
  db
    .updateTable('pets')
    .set({
      category_id: p.category,
      version: sql<number>`version + case when ${isKept} then 2 else 1 end`,
      updated_at: p.now,
    })
    .where('id', 'in', selectJsonNumbers(p.ids, engine)),
);
