import { type Params, query, type Transaction } from '../schema.ts';
import { lockCategory, removeCategory } from './categories.ts';
import { contentsOf } from './category-contents.ts';
import { categoryColumns } from './category-rows.ts';
import { lockTree } from './category-tree.ts';

/**
 * Takes categories away that nothing is in, beyond the usual ones, and writes it down. What stood above them is empty
 * then, and goes with the next call.
 * @param most how many at most
 * @returns how many it were
 */
export async function removeEmptyCategories(tx: Transaction, most: number): Promise<number> {
  await lockTree(tx);
  let removed = 0;
  for (const category of await tx.all(empty, { most })) {
    // Somebody may be bringing an animal: who looks again behind the lock knows.
    await tx.first(lockCategory, { id: category.id });
    tx.refreshNow(category.updatedAt);
    if ((await contentsOf(tx, category.id)) !== undefined) continue;
    await removeCategory(tx, category, { action: 'deleted', accountId: null });
    removed++;
  }
  return removed;
}

/** The usual ones are those of the first migration. */
const USUAL_IDS_MAX = 8;

const empty = query((db, p: Params<{ most: number }>) =>
  db
    .selectFrom('categories')
    .select(categoryColumns)
    .where('id', '>', USUAL_IDS_MAX)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('pets').select('pets.id').whereRef('pets.category_id', '=', 'categories.id'))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom('categories as below').select('below.id').whereRef('below.parent_id', '=', 'categories.id')),
      ),
    )
    .orderBy('id')
    .limit(p.most),
);
