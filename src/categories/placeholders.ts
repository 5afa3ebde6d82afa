import { problem } from '../errors.ts';
import { record } from '../events/log.ts';
import { StorageError } from '../lib/storage/database.ts';
import { type Params, query, type Transaction } from '../schema.ts';
import { type CategoryEventData, categoryStateOf, insertCategory } from './category-rows.ts';
import { freeSlug } from './slugs.ts';

/**
 * Makes sure that a category exists, and stays until the transaction ends: one that was never seen before gets a
 * placeholder, named after its id, which belongs to nobody.
 *
 * Part of the caller's transaction; safe to repeat, also by several at once.
 * @throws {Problem} `category_not_found` under `strict`, where nothing is made up
 */
export async function ensureCategory(tx: Transaction, id: number, categories: 'open' | 'strict'): Promise<void> {
  const there = async () => {
    const found = await tx.first(lockedCategory, { id });
    tx.refreshNow();
    return found !== undefined;
  };
  if (await there()) return;
  if (categories === 'strict') {
    const message = `There is no category ${id}.`;
    throw problem('category_not_found', message, {
      errors: [{ path: '/categoryId', code: 'category_not_found', message }],
    });
  }

  let slug = `category-${id}`;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const category = { id, name: `Category ${id}`, slug, parentId: null, accountId: null, placeholder: 1 };
    if ((await tx.first(insertCategory, { ...category, now: tx.now })) !== undefined) {
      const data: CategoryEventData = { category: categoryStateOf(category) };
      return record(tx, { kind: 'category', action: 'created', subjectId: id, accountId: null, data });
    }
    // Another one made it first, and may have removed it by now; or a category of another id has the slug.
    if (await there()) return;
    slug = await freeSlug(tx, `category-${id}`);
  }
  throw new StorageError('unavailable', `Category ${id} was made and removed again and again meanwhile.`);
}

/** How often others may come between. */
const ATTEMPTS_MAX = 10;

/** On PostgreSQL another transaction might remove it before ours is committed; on SQLite writes come one by one. */
const lockedCategory = query((db, p: Params<{ id: number }>, engine) => {
  const category = db.selectFrom('categories').select('id').where('id', '=', p.id);
  return engine === 'postgres' ? category.forKeyShare() : category;
});
