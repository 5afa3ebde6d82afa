import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { StorageError } from '../lib/storage/database.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import type { CategoryPatch, NewCategory } from './category.ts';
import { contentsOf } from './category-contents.ts';
import { unusedId, useId } from './category-ids.ts';
import {
  type CategoryEventData,
  type CategoryRow,
  categoryEtag,
  categoryStateOf,
  findCategory,
  insertCategory,
  ownerIn,
} from './category-rows.ts';
import { lockTree, requirePlace } from './category-tree.ts';
import { freeSlug, isSlugTaken, slugOf, slugTaken } from './slugs.ts';

export { descendantsOf } from './category-tree.ts';
export { listCategories } from './list-categories.ts';
export { ensureCategory } from './placeholders.ts';

/** Throws when the caller has another version in mind than the one with this entity tag. */
type Expectation = (etag: string) => void;

/**
 * Adds a category, which belongs to the actor's account, and writes it down. Its id is the smallest above 1,000 that
 * none ever had. Where no slug is given it is made from the name.
 *
 * Not safe to repeat: each call adds one.
 * @throws {Problem} `category_not_found` for the parent; `invalid_body` where the tree would get too deep;
 *   `category_slug_taken`
 */
export async function createCategory(
  tx: Transaction,
  actor: Actor,
  { name, slug: given, parentId: below }: NewCategory,
): Promise<CategoryRow> {
  const parentId = below ?? null;
  await lockTree(tx);
  if (parentId !== null) await requirePlace(tx, parentId, undefined, { path: '/parentId' });
  const { accountId } = actor;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    if (given !== undefined && (await isSlugTaken(tx, given))) throw slugTaken(given);
    const id = await unusedId(tx);
    const slug = given ?? (await freeSlug(tx, slugOf(name) || `category-${id}`));
    const category = { id, name, slug, parentId, accountId, placeholder: 0 };
    const inserted = await tx.first(insertCategory, { ...category, now: tx.now });
    // An animal named the same id at the same time.
    if (inserted === undefined) continue;
    await useId(tx, id);
    const data: CategoryEventData = { category: categoryStateOf(category), ...ownerIn(category) };
    await record(tx, { kind: 'category', action: 'created', subjectId: id, accountId, data });
    return { ...category, createdAt: tx.now, updatedAt: tx.now, version: inserted.version };
  }
  throw new StorageError('unavailable', 'Animals name the ids of new categories again and again meanwhile.');
}

/**
 * The category with this id.
 * @throws {Problem} `no_such_category`
 */
export async function getCategory(reader: Reader, id: number): Promise<CategoryRow> {
  const category = await findCategory(reader, id);
  if (category === undefined) throw problem('no_such_category', `There is no category ${id}.`);
  return category;
}

/**
 * Changes some members of a category; `null` as the parent takes it to the top. A placeholder that is given a name is
 * none any more; a slug stays until another one is given. A change that changes nothing is none.
 *
 * Outside of the transaction goes `withFreeSlug`: an animal may name a category to which the slug falls, meanwhile.
 * @throws {Problem} `no_such_category`; `not_owner`; what `expect` throws; `category_slug_taken`; `category_not_found`,
 *   `category_cycle` and `invalid_body` for the parent
 */
export async function updateCategory(
  tx: Transaction,
  actor: Actor,
  id: number,
  { name, slug, parentId }: CategoryPatch,
  expect: Expectation = () => {},
): Promise<CategoryRow> {
  const before = await lockOwn(tx, actor, id, expect);
  const after: CategoryRow = {
    ...before,
    ...(name !== undefined && { name, placeholder: 0 }),
    ...(slug !== undefined && { slug }),
    ...(parentId !== undefined && { parentId }),
    version: before.version + 1,
    updatedAt: tx.now,
  };
  const was = differences(before, after);
  if (Object.keys(was).length === 0) return before;
  if (after.slug !== before.slug && (await isSlugTaken(tx, after.slug))) throw slugTaken(after.slug);
  if (after.parentId !== null && after.parentId !== before.parentId) {
    await requirePlace(tx, after.parentId, id, { path: '/parentId' });
  }

  const { createdAt: _, accountId: __, ...columns } = after;
  await tx.run(changeCategory, columns);
  const data: CategoryEventData = { category: categoryStateOf(after), was, ...ownerIn(after) };
  await record(tx, { kind: 'category', action: 'updated', subjectId: id, accountId: actor.accountId, data });
  return after;
}

/**
 * Takes a category away that nothing is in. An animal that names its id later gets a placeholder.
 * @throws {Problem} `no_such_category`; `not_owner`; what `expect` throws; `category_in_use`
 */
export async function deleteCategory(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Expectation = () => {},
): Promise<void> {
  const category = await lockOwn(tx, actor, id, expect);
  await tx.first(lockCategory, { id });
  tx.refreshNow();
  const contents = await contentsOf(tx, id);
  if (contents !== undefined) throw inUse(id, contents);
  await removeCategory(tx, category, { action: 'deleted', accountId: actor.accountId });
}

/**
 * Removes a category that nothing is in, and writes down how it ended. The tree is locked, and the category against new
 * animals (`lockCategory`).
 */
export async function removeCategory(
  tx: Transaction,
  category: CategoryRow,
  { action, accountId, intoId }: { action: 'deleted' | 'merged'; accountId: number | null; intoId?: number },
): Promise<void> {
  await tx.run(removeCounts, { key: String(category.id) });
  await tx.run(remove, { id: category.id });
  const data: CategoryEventData = {
    category: categoryStateOf(category),
    ...ownerIn(category),
    ...(intoId !== undefined && { intoId }),
  };
  await record(tx, { kind: 'category', action, subjectId: category.id, accountId, data });
}

/** Keeps new animals out of a category until the transaction ends; those who bring one wait. */
export const lockCategory = query((db, p: Params<{ id: number }>, engine) => {
  const category = db.selectFrom('categories').select('id').where('id', '=', p.id);
  return engine === 'postgres' ? category.forUpdate() : category;
});

/** How often animals may come between. */
const ATTEMPTS_MAX = 10;

async function lockOwn(tx: Transaction, actor: Actor, id: number, expect: Expectation): Promise<CategoryRow> {
  await lockTree(tx);
  const category = await getCategory(tx, id);
  tx.refreshNow(category.updatedAt);
  if (!actor.admin && (category.accountId === null || category.accountId !== actor.accountId)) {
    throw problem(
      'not_owner',
      category.accountId === null
        ? `Category ${id} belongs to nobody; only an admin may change it.`
        : `Category ${id} belongs to another account; only that account or an admin may change it.`,
    );
  }
  expect(categoryEtag(category));
  return category;
}

function differences(before: CategoryRow, after: CategoryRow): NonNullable<CategoryEventData['was']> {
  return {
    ...(before.name !== after.name && { name: before.name }),
    ...(before.slug !== after.slug && { slug: before.slug }),
    ...(before.parentId !== after.parentId && { parentId: before.parentId }),
    ...(before.placeholder !== after.placeholder && { placeholder: before.placeholder === 1 }),
  };
}

function inUse(id: number, { pets, categories }: { pets: number; categories: number }) {
  const parts = [
    ...(pets > 0 ? [pets === 1 ? '1 animal' : `${pets.toLocaleString('en')} animals`] : []),
    ...(categories > 0 ? [categories === 1 ? '1 category' : `${categories.toLocaleString('en')} categories`] : []),
  ];
  const message = `Category ${id} has ${parts.join(' and ')} in it. Merge it into another category, which takes over all of it.`;
  return problem('category_in_use', message);
}

const changeCategory = query((db, p: Params<Omit<CategoryRow, 'createdAt' | 'accountId'>>) =>
  db
    .updateTable('categories')
    .set({
      name: p.name,
      slug: p.slug,
      parent_id: p.parentId,
      placeholder: p.placeholder,
      version: p.version,
      updated_at: p.updatedAt,
    })
    .where('id', '=', p.id),
);

const remove = query((db, p: Params<{ id: number }>) => db.deleteFrom('categories').where('id', '=', p.id));

/** They add up to nothing by now. */
const removeCounts = query((db, p: Params<{ key: string }>) =>
  db.deleteFrom('pet_counts').where('kind', '=', 'category').where('key', '=', p.key),
);
