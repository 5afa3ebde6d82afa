import type { PreconditionCheck } from '../../lib/http/route.ts';
import { countText } from '../../lib/text.ts';
import { type CategoryRow, categoryColumns } from '../../model/category.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { lockOwnCategory } from './categories.ts';
import { categoryEvent } from './rows.ts';
import { lockTree } from './tree.ts';

/**
 * Deletes an empty category. A pet that names its id later creates a placeholder.
 * @throws {Problem} `no_such_category`; `not_owner`; `category_in_use`; also any error of `checkPreconditions`
 */
export async function deleteCategory(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const category = await lockOwnCategory(tx, actor, id, checkPreconditions);
  await tx.first(lockCategory, { id });
  tx.refreshNow();
  const contents = await contentsOf(tx, id);
  if (contents !== undefined) throw inUse(id, contents);
  await deleteLocked(tx, category, 'deleted', actor.accountId);
}

/**
 * Deletes up to `most` empty categories, except the built-in ones, with an event each. Parents that become empty are
 * deleted by the next call.
 * @returns the number of categories deleted
 */
export async function deleteEmptyCategories(tx: Transaction, most: number): Promise<number> {
  await lockTree(tx);
  let deleted = 0;
  for (const category of await tx.all(emptyCategories, { most })) {
    // A pet may have been added meanwhile; under the lock none can be added.
    await tx.first(lockCategory, { id: category.id });
    tx.refreshNow(category.updatedAt);
    if ((await contentsOf(tx, category.id)) !== undefined) continue;
    await deleteLocked(tx, category, 'deleted', null);
    deleted++;
  }
  return deleted;
}

/** Deletes an empty category and records its end. Lock the tree and the category first. */
export async function deleteLocked(
  tx: Transaction,
  category: CategoryRow,
  action: 'deleted' | 'merged',
  accountId: number | null,
  details?: { readonly intoId: number },
): Promise<void> {
  const { id } = category;
  await tx.run(deleteCounts, { key: String(id) });
  await tx.run(deleteRow, { id });
  await record(tx, categoryEvent(action, accountId, category, details));
}

/** Locks a category until the transaction ends: transactions that add a pet to it wait. */
export const lockCategory = query((db, p: Params<{ id: number }>, engine) => {
  const category = db.selectFrom('categories').select('id').where('id', '=', p.id);
  return engine === 'postgres' ? category.forUpdate() : category;
});

/** The number of pets and of child categories in a category. */
interface Contents {
  readonly pets: number;
  readonly categories: number;
}

/**
 * Counts the pets and children of a category; `undefined` if it is empty. Exact if the tree and the category are
 * locked.
 */
export async function contentsOf(reader: Reader, id: number): Promise<Contents | undefined> {
  const { categories } = (await reader.first(countChildren, { id }))!;
  // An index shows whether there is any pet; read the counters only then.
  const anyPet = (await reader.first(petIn, { id })) !== undefined;
  if (!anyPet && categories === 0) return undefined;
  const counts = anyPet ? await reader.all(petCounts, { key: String(id) }) : [];
  return { pets: counts.reduce((sum, row) => sum + row.pets, 0), categories };
}

function inUse(id: number, { pets, categories }: Contents) {
  const parts = [
    ...(pets > 0 ? [pets === 1 ? '1 animal' : `${countText(pets)} animals`] : []),
    ...(categories > 0 ? [categories === 1 ? '1 category' : `${countText(categories)} categories`] : []),
  ];
  const message = `Category ${id} contains ${parts.join(' and ')}. Merge it into another category, which takes over its contents.`;
  return problem('category_in_use', message);
}

const BUILT_IN_ID_MAX = 8;

const emptyCategories = query((db, p: Params<{ most: number }>) =>
  db
    .selectFrom('categories')
    .select(categoryColumns.stored())
    .where('id', '>', BUILT_IN_ID_MAX)
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

const countChildren = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('categories')
    .select(({ fn }) => fn.countAll<number>().as('categories'))
    .where('parent_id', '=', p.id),
);

const petIn = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select('id').where('category_id', '=', p.id).limit(1),
);

const petCounts = query((db, p: Params<{ key: string }>) =>
  db.selectFrom('pet_counts').select('pets').where('kind', '=', 'category').where('key', '=', p.key),
);

const deleteRow = query((db, p: Params<{ id: number }>) => db.deleteFrom('categories').where('id', '=', p.id));

/** The counters of an empty category add up to zero. */
const deleteCounts = query((db, p: Params<{ key: string }>) =>
  db.deleteFrom('pet_counts').where('kind', '=', 'category').where('key', '=', p.key),
);
