import { type Params, query, type Reader } from '../schema.ts';

/**
 * How many animals and categories are directly in a category; `undefined` where there is nothing.
 *
 * Exact in a transaction that has locked the tree and the category.
 */
export async function contentsOf(
  reader: Reader,
  id: number,
): Promise<{ readonly pets: number; readonly categories: number } | undefined> {
  const { categories } = (await reader.first(categoriesIn, { id }))!;
  // The counters are read only where there is an animal: a look at the index decides.
  const anyPet = (await reader.first(petIn, { id })) !== undefined;
  if (!anyPet && categories === 0) return undefined;
  const pets = anyPet ? (await reader.all(counts, { key: String(id) })).reduce((sum, row) => sum + row.pets, 0) : 0;
  return { pets, categories };
}

const categoriesIn = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('categories')
    .select(eb => eb.fn.countAll<number>().as('categories'))
    .where('parent_id', '=', p.id),
);

const petIn = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select('id').where('category_id', '=', p.id).limit(1),
);

const counts = query((db, p: Params<{ key: string }>) =>
  db.selectFrom('pet_counts').select('pets').where('kind', '=', 'category').where('key', '=', p.key),
);
