import { problem } from '../errors.ts';
import { type Params, query, type Transaction } from '../schema.ts';

/**
 * Makes sure that a category exists: one that was never seen before gets a placeholder, named after its id.
 *
 * Part of the caller's transaction; safe to repeat, also by several at once.
 * @throws {Problem} `category_not_found` under `strict`, where nothing is made up
 */
export async function ensureCategory(tx: Transaction, id: number, categories: 'open' | 'strict'): Promise<void> {
  if ((await tx.first(categoryById, { id })) !== undefined) return;
  if (categories === 'strict') {
    const message = `There is no category ${id}.`;
    throw problem('category_not_found', message, {
      errors: [{ path: '/categoryId', code: 'category_not_found', message }],
    });
  }
  await tx.run(insertPlaceholder, { id, name: `Category ${id}`, now: tx.now });
}

const categoryById = query((db, p: Params<{ id: number }>, engine) => {
  const category = db.selectFrom('categories').select('id').where('id', '=', p.id);
  // On PostgreSQL another transaction might remove it before ours is committed; on SQLite writes come one by one.
  return engine === 'postgres' ? category.forKeyShare() : category;
});

const insertPlaceholder = query((db, p: Params<{ id: number; name: string; now: number }>) =>
  db
    .insertInto('categories')
    .values({ id: p.id, name: p.name, placeholder: 1, created_at: p.now })
    .onConflict(conflict => conflict.column('id').doNothing()),
);
