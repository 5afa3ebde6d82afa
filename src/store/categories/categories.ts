import { etagOf } from '../../lib/etag.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { StorageError } from '../../lib/storage/database.ts';
import {
  type CategoryPatch,
  type CategoryRow,
  categoryColumns,
  categoryValues,
  type NewCategory,
} from '../../model/category.ts';
import { invalidMembers, problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { BOUND_MAX } from '../../model/plan.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { categoryLimitExceeded, hasRoom } from './bound.ts';
import { markUsed, unusedId } from './ids.ts';
import { categoryEvent, findCategory, insertCategory } from './rows.ts';
import { freeSlug, isSlugTaken, slugOf, slugTaken } from './slugs.ts';
import { lockTree, requireParent } from './tree.ts';

/**
 * Creates a category that belongs to the actor's account, and records `category.created`. Its id is the smallest above
 * 1,000 that no category ever had. A missing slug is derived from the name. Not idempotent.
 * @param max how many categories the account may have created
 * @throws {Problem} `category_not_found` for the parent; `invalid_body` if the tree would get too deep;
 *   `category_slug_taken`; `category_limit_exceeded`
 */
export async function createCategory(
  tx: Transaction,
  { accountId }: Actor,
  category: NewCategory,
  max = BOUND_MAX,
): Promise<CategoryRow> {
  const written = categoryValues.toRow(category);
  const { name, slug: wanted, parentId } = { ...written, slug: category.slug };
  await lockTree(tx);
  if (parentId !== null) await requireParent(tx, parentId, undefined, { path: '/parentId' });
  if (!(await hasRoom(tx, accountId, max))) throw categoryLimitExceeded(max);
  const maker = { accountId, creatorId: accountId };
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    if (wanted !== undefined && (await isSlugTaken(tx, wanted))) throw slugTaken(wanted);
    const id = await unusedId(tx);
    const slug = wanted ?? (await freeSlug(tx, slugOf(name) || `category-${id}`));
    const row = { ...written, id, slug, placeholder: 0, ...maker, createdAt: tx.now, updatedAt: tx.now };
    const inserted = await tx.first(insertCategory, row);
    // A pet has named the same id meanwhile.
    if (inserted === undefined) continue;
    await markUsed(tx, id);
    await record(tx, categoryEvent('created', accountId, row));
    return { ...row, version: inserted.version };
  }
  throw new StorageError('unavailable', 'New pets repeatedly take the ids of new categories.');
}

/** Returns the category with this id; throws `no_such_category`. */
export async function getCategory(reader: Reader, id: number): Promise<CategoryRow> {
  const category = await findCategory(reader, id);
  if (category === undefined) throw problem('no_such_category', `There is no category ${id}.`);
  return category;
}

/**
 * Changes members of a category and records `category.updated`; `null` as the parent moves it to the top level. A
 * placeholder that gets a name becomes a regular category. A patch without differences changes nothing.
 *
 * Run the transaction inside `withSlugConflict`: a pet may create a placeholder with the same slug meanwhile.
 * @throws {Problem} `no_such_category`; `not_owner`; `category_slug_taken`; `category_not_found`, `category_cycle` and
 *   `invalid_body` for the parent; also any error of `checkPreconditions`
 */
export async function updateCategory(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: CategoryPatch,
  checkPreconditions?: PreconditionCheck,
): Promise<CategoryRow> {
  const before = await lockOwnCategory(tx, actor, id, checkPreconditions);
  const change = categoryValues.merge(before, patch, invalidMembers);
  const placeholder = patch.name === undefined ? before.placeholder : 0;
  const after: CategoryRow = { ...before, ...change, placeholder, version: before.version + 1, updatedAt: tx.now };
  const was = categoryValues.changesOf(before, after);
  if (was === undefined) return before;
  if (after.slug !== before.slug && (await isSlugTaken(tx, after.slug))) throw slugTaken(after.slug);
  if (after.parentId !== null && after.parentId !== before.parentId) {
    await requireParent(tx, after.parentId, id, { path: '/parentId' });
  }
  await tx.run(changeCategory, after);
  await record(tx, categoryEvent('updated', actor.accountId, after, { was }));
  return after;
}

/**
 * Locks the tree and returns a category that the actor may change.
 * @throws {Problem} `no_such_category`; `not_owner`; also any error of `checkPreconditions`
 */
export async function lockOwnCategory(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<CategoryRow> {
  await lockTree(tx);
  const category = await getCategory(tx, id);
  tx.refreshNow(category.updatedAt);
  if (!actor.admin && (category.accountId === null || category.accountId !== actor.accountId)) {
    throw problem(
      'not_owner',
      category.accountId === null
        ? `Category ${id} belongs to no account; only an admin can change it.`
        : `Category ${id} belongs to another account; only that account or an admin can change it.`,
    );
  }
  checkPreconditions?.(etagOf(category));
  return category;
}

/** How often pets may take the id of a new category before its creation fails. */
const ATTEMPTS_MAX = 10;

const changeCategory = query((db, p: Params<CategoryRow>) =>
  db.updateTable('categories').set(categoryColumns.updated(p)).where('id', '=', p.id),
);
