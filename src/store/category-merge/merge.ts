import { etagOf } from '../../lib/etag.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import type { Origin } from '../../lib/origin.ts';
import type { CategoryRow } from '../../model/category.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { recordEvents } from '../../model/log/log.ts';
import { petColumns } from '../../model/pet.ts';
import { type Database, type Params, query, selectJsonNumbers, type Transaction } from '../../model/schema.ts';
import { getCategory } from '../categories/categories.ts';
import { contentsOf, deleteLocked, lockCategory } from '../categories/deletion.ts';
import { lockTree, moveChildren, requireParent } from '../categories/tree.ts';
import { nextVersion, petEvent } from '../pets/change.ts';
import { updateCounts } from '../pets/counts.ts';
import { updateFacets } from '../pets/facets.ts';
import { lockPets } from '../pets/lock.ts';

/** The category to merge, and its target. */
interface Merge {
  readonly id: number;
  readonly intoId: number;
}

/**
 * Merges a category into another: moves its pets and children there, with an event each, and deletes it. The actor must
 * be an admin.
 *
 * It moves a limited number of rows; run the transaction inside `movingAhead`, which moves the remaining rows.
 * @returns the target
 * @throws {Problem} `no_such_category`; `not_owner`; `category_not_found` for the target; `category_cycle` if it is the
 *   category itself or a descendant; `invalid_body` if the tree would get too deep; also any error of
 *   `checkPreconditions`
 */
export async function mergeCategory(
  tx: Transaction,
  actor: Actor,
  merge: Merge,
  checkPreconditions?: PreconditionCheck,
): Promise<CategoryRow> {
  const category = await lockMergeable(tx, actor, merge);
  checkPreconditions?.(etagOf(category));
  await tx.first(lockCategory, { id: merge.id });
  tx.refreshNow(category.updatedAt);
  await moveBatch(tx, actor, merge);
  if ((await contentsOf(tx, merge.id)) !== undefined) throw tooLarge;
  await deleteLocked(tx, category, 'merged', actor.accountId, { intoId: merge.intoId });
  return getCategory(tx, merge.intoId);
}

/**
 * Runs a merge. If there are too many rows for one transaction, moves them in batches first and runs the merge again.
 * After an interruption, moved rows stay moved; repeat the merge.
 * @param attempt runs a separate transaction that calls `mergeCategory`
 * @param origin the origin of the batches
 * @throws {Problem} `category_in_use` if pets are added faster than they move; any error of `attempt`
 */
export async function movingAhead<T>(
  database: Database,
  actor: Actor,
  merge: Merge,
  attempt: () => Promise<T>,
  origin?: Origin,
): Promise<T> {
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (error !== tooLarge) throw error;
    }
    await moveBatches(database, actor, merge, origin);
  }
  throw problem('category_in_use', `Animals are added to category ${merge.id} faster than they move; try again later.`);
}

/** Thrown to roll back a transaction that would have to move too many rows. */
const tooLarge = new Error('The category contains more than one transaction moves.');

/** The maximum number of pets, and of categories, that a transaction moves. */
const BATCH = 500;
const ROUNDS_MAX = 20;

async function moveBatches(database: Database, actor: Actor, merge: Merge, origin: Origin | undefined): Promise<void> {
  let moved: number;
  do {
    moved = await database.write(async tx => {
      await lockMergeable(tx, actor, merge);
      return moveBatch(tx, actor, merge);
    }, origin);
  } while (moved >= BATCH);
}

async function moveBatch(tx: Transaction, { accountId }: Actor, { id: from, intoId: to }: Merge): Promise<number> {
  const pets = await movePets(tx, { from, to, most: BATCH, accountId });
  return Math.max(pets, await moveChildren(tx, { from, to, most: BATCH, accountId }));
}

/** Locks the tree and returns the category if it can be merged. */
async function lockMergeable(tx: Transaction, actor: Actor, { id, intoId }: Merge): Promise<CategoryRow> {
  await lockTree(tx);
  const category = await getCategory(tx, id);
  if (!actor.admin) {
    throw problem('not_owner', 'Only an admin can merge categories: their animals belong to many accounts.');
  }
  await requireParent(tx, intoId, id, { path: '/intoId', childrenOnly: true });
  return category;
}

/**
 * Moves up to `most` pets of a category to another category, by id ascending, with a new version and an event each.
 * Holds and orders do not change; expired ones end first. The number of statements is fixed. Lock the target first.
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
