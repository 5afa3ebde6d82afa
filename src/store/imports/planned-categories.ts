import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { type NewCategories, newCategoriesOf } from '../categories/bound.ts';
import { findCategory } from '../categories/rows.ts';
import type { Chunk } from './chunk.ts';
import { insertKeys } from './chunk-writer.ts';

// A dry run rolls its chunks back, so the categories that they would have created are stored among the keys of the
// import, and count for later chunks.

/** Returns how an unknown category of a row is treated. */
export async function categoryRulesFor(chunk: Chunk, categoryId: number | undefined): Promise<NewCategories> {
  const { tx, row, rules } = chunk;
  const max = newCategoriesOf(rules, row);
  if (row.dry_run === 0 || max === 'strict' || categoryId === undefined) return max;
  if ((await findCategory(tx, categoryId)) !== undefined) return max;
  chunk.unknownCategories.add(categoryId);
  const { planned } = (await tx.first(countPlanned, { id: row.id, beside: keyOfCategory(categoryId) }))!;
  return { max, planned };
}

/** Returns the categories that the rows of a chunk of a dry run have created. */
export async function createdCategories({ tx, unknownCategories }: Chunk): Promise<number[]> {
  const created: number[] = [];
  for (const id of unknownCategories) if ((await findCategory(tx, id)) !== undefined) created.push(id);
  return created;
}

/** Records the categories that a chunk of a dry run would have created. */
export async function recordPlanned(tx: Transaction, importId: number, categoryIds: readonly number[]): Promise<void> {
  const keys = categoryIds.map(id => [keyOfCategory(id), 0]);
  if (keys.length > 0) await tx.all(insertKeys, { id: importId, keys: JSON.stringify(keys) });
}

/** Returns the key of a category. Keys of animals begin differently; see `keyOf`. */
function keyOfCategory(id: number): string {
  return `c${id}`;
}

/** Counts the planned categories, except one, that do not exist in the transaction. */
const countPlanned = query((db, p: Params<{ id: number; beside: string }>) =>
  db
    .selectFrom('import_keys')
    .select(({ fn }) => fn.countAll<number>().as('planned'))
    .where('import_id', '=', p.id)
    .where('key', '>', sql.lit('c'))
    .where('key', '<', sql.lit('d'))
    .where('key', '<>', p.beside)
    .where(sql<boolean>`not exists (select 1 from categories where id = cast(substr(key, 2) as bigint))`),
);
