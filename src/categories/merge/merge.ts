import { problem } from '../../errors.ts';
import type { Actor } from '../../events/event.ts';
import { etagOf } from '../../lib/etag.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import type { Origin } from '../../lib/origin.ts';
import type { Database, Transaction } from '../../schema.ts';
import { getCategory } from '../categories.ts';
import type { CategoryRow } from '../category.ts';
import { contentsOf, deleteLocked, lockCategory } from '../deletion.ts';
import { lockTree, moveChildren, requireParent } from '../tree.ts';
import { movePets } from './move-pets.ts';

/** The category to merge, and its target. */
export interface Merge {
  readonly id: number;
  readonly intoId: number;
}

/**
 * Merges a category into another: moves its pets and children there, with an event each, and deletes it. The actor must
 * be an admin.
 *
 * It moves a limited number of rows; run the transaction inside `movingAhead`, which moves the others.
 * @returns the target
 * @throws {Problem} `no_such_category`; `not_owner`; what `checkPreconditions` throws; `category_not_found` for the target;
 *   `category_cycle` if it is the category itself or a descendant; `invalid_body` if the tree would get too deep
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
 * Runs a merge; if there is more to move than one transaction should, moves it in batches first and runs the merge again.
 * After an interruption, what was moved stays moved; repeat the merge.
 * @param attempt a transaction of its own that calls `mergeCategory`
 * @param origin of the batches
 * @throws {Problem} `category_in_use` if pets are added faster than they move; what `attempt` throws
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

/** How many pets, and how many categories, a transaction moves. */
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
