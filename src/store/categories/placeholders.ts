import { onePer } from '../../lib/one-per.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { record } from '../../model/log/log.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { categoryLimitExceeded, hasRoom, type NewCategories } from './bound.ts';
import { categoryEvent, categoryNotFound, insertCategory } from './rows.ts';
import { freeSlug } from './slugs.ts';

/**
 * Ensures that a category exists until the transaction ends. An unknown id gets a placeholder: a category whose name is
 * its id and that belongs to no account. Idempotent, also under concurrency.
 * @param creatorId the account whose pet names the category: a placeholder counts against its bound
 * @throws {Problem} `category_not_found` under `strict`, which creates no placeholders; `category_limit_exceeded`
 */
export async function ensureCategory(
  tx: Transaction,
  id: number,
  categories: NewCategories,
  creatorId: number | null,
): Promise<void> {
  if (await exists(tx, id)) return;
  if (categories === 'strict') throw categoryNotFound(id, '/categoryId');
  if (categories !== 'open') {
    const { max, planned } = typeof categories === 'number' ? { max: categories, planned: 0 } : categories;
    if (!(await hasRoom(tx, creatorId, max - planned))) {
      // Another pet of the account may have created it meanwhile.
      if (await exists(tx, id)) return;
      throw categoryLimitExceeded(max);
    }
  }

  let slug = `category-${id}`;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const row = {
      id,
      name: `Category ${id}`,
      slug,
      parentId: null,
      placeholder: 1,
      accountId: null,
      creatorId,
      ...NO_VALUES,
    };
    if ((await tx.first(insertCategory, { ...row, createdAt: tx.now, updatedAt: tx.now })) !== undefined) {
      return record(tx, categoryEvent('created', null, row));
    }
    // Another transaction has inserted it and may have deleted it since; or another category has the slug.
    if (await exists(tx, id)) return;
    slug = await freeSlug(tx, `category-${id}`);
  }
  throw new StorageError('unavailable', `Category ${id} is created and deleted again and again.`);
}

/** Reports whether a category exists. If so, it exists until the transaction ends. */
async function exists(tx: Transaction, id: number): Promise<boolean> {
  const locked = lockedIn(tx);
  if (locked.has(id)) return true;
  const found = await tx.first(lockedCategory, { id });
  tx.refreshNow();
  if (found !== undefined) locked.add(id);
  return found !== undefined;
}

/** The categories that a transaction has locked. */
const lockedIn = onePer<Transaction, Set<number>>(() => new Set());

const NO_VALUES = { breeds: null, colors: null };

/** How often to retry when other transactions interfere. */
const ATTEMPTS_MAX = 10;

/** PostgreSQL would let another transaction delete the category before the commit; SQLite serializes writes. */
const lockedCategory = query((db, p: Params<{ id: number }>, engine) => {
  const category = db.selectFrom('categories').select('id').where('id', '=', p.id);
  return engine === 'postgres' ? category.forKeyShare() : category;
});
