import { problem } from '../../errors.ts';
import type { Actor } from '../../events/event.ts';
import type { Database, Transaction } from '../../schema.ts';
import { getCategory, lockCategory, removeCategory } from '../categories.ts';
import { contentsOf } from '../category-contents.ts';
import { type CategoryRow, categoryEtag } from '../category-rows.ts';
import { lockTree, requirePlace } from '../category-tree.ts';
import { moveCategories } from '../move-categories.ts';
import { movePets } from './move-pets.ts';

/** Which category goes, and which takes over what is in it. */
export interface Merger {
  readonly id: number;
  readonly intoId: number;
}

/**
 * Merges a category into another: every animal in it and every category below it moves there, with an event each, and
 * it is gone. Who asks has to be an admin.
 *
 * It moves no more than a transaction should; where there is more, `movingAhead` has to be around the transaction.
 * @returns the category that took over
 * @throws {Problem} `no_such_category`; `not_owner`; what `expect` throws; `category_not_found` for the target;
 *   `category_cycle` when it is the category itself or stands below it; `invalid_body` where the tree would get too deep
 */
export async function mergeCategory(
  tx: Transaction,
  actor: Actor,
  merger: Merger,
  expect: (etag: string) => void = () => {},
): Promise<CategoryRow> {
  const category = await judge(tx, actor, merger);
  expect(categoryEtag(category));
  await tx.first(lockCategory, { id: merger.id });
  tx.refreshNow(category.updatedAt);
  await moveSome(tx, actor, merger);
  if ((await contentsOf(tx, merger.id)) !== undefined) throw tooMuch;
  await removeCategory(tx, category, { action: 'merged', accountId: actor.accountId, intoId: merger.intoId });
  return getCategory(tx, merger.intoId);
}

/**
 * Attempts a merger, and where there is more to move than one transaction should, moves it ahead in portions, so that
 * nobody has to wait for long, and attempts it again. What was moved stays moved when it breaks off; then it can be
 * asked for again.
 * @param attempt a transaction of its own with `mergeCategory` in it
 * @throws {Problem} `category_in_use` when others fill the category faster than it is emptied; what the attempt throws
 */
export async function movingAhead<T>(
  database: Database,
  actor: Actor,
  merger: Merger,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (error !== tooMuch) throw error;
    }
    await movePortions(database, actor, merger);
  }
  throw problem('category_in_use', `Category ${merger.id} is filled faster than it is emptied; try again later.`);
}

/** Thrown where a transaction would have to move more than it should; undoes it. */
const tooMuch = new Error('There is more in the category than one transaction moves.');

/** How many animals, and how many categories, a transaction moves. */
const PORTION = 500;
const ROUNDS_MAX = 20;

async function movePortions(database: Database, actor: Actor, merger: Merger): Promise<void> {
  let moved: number;
  do {
    moved = await database.write(async tx => {
      await judge(tx, actor, merger);
      return moveSome(tx, actor, merger);
    });
  } while (moved >= PORTION);
}

async function moveSome(tx: Transaction, { accountId }: Actor, { id: from, intoId: to }: Merger): Promise<number> {
  const pets = await movePets(tx, { from, to, most: PORTION, accountId });
  return Math.max(pets, await moveCategories(tx, { from, to, most: PORTION, accountId }));
}

/** The category, where it may be merged. The tree is locked then, so that this stays true. */
async function judge(tx: Transaction, actor: Actor, { id, intoId }: Merger): Promise<CategoryRow> {
  await lockTree(tx);
  const category = await getCategory(tx, id);
  if (!actor.admin) {
    throw problem('not_owner', 'Only an admin may merge categories: what is in them belongs to many accounts.');
  }
  await requirePlace(tx, intoId, id, { path: '/intoId', without: true });
  return category;
}
