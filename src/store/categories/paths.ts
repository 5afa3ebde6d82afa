import { amongNumbers, type Params, query, type Reader } from '../../model/schema.ts';

/** A category in menus and breadcrumbs. */
export interface NamedCategory {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly parentId: number | null;
}

/** Returns each of the categories with its ancestors, the top level first. Omits unknown ids. */
export async function categoryPaths(
  reader: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly NamedCategory[]>> {
  const known = new Map<number, NamedCategory>();
  let wanted = [...new Set(ids)];
  // Each iteration reads one level of the tree, which has at most ten.
  while (wanted.length > 0) {
    const rows = await reader.all(categoriesByIds, { ids: JSON.stringify(wanted) });
    for (const row of rows) known.set(row.id, row);
    const parents = rows.flatMap(({ parentId }) => (parentId === null || known.has(parentId) ? [] : [parentId]));
    wanted = [...new Set(parents)];
  }
  const paths = new Map<number, readonly NamedCategory[]>();
  for (const id of new Set(ids)) {
    const path: NamedCategory[] = [];
    for (let category = known.get(id); category !== undefined; category = known.get(category.parentId ?? 0)) {
      path.unshift(category);
    }
    if (path.length > 0) paths.set(id, path);
  }
  return paths;
}

/** Returns the categories at the top level, for a choice of the kind of an animal: up to 200. */
export function mainCategories(reader: Reader): Promise<NamedCategory[]> {
  return categoriesWithin(reader, null, 200);
}

/**
 * Returns the categories to choose from within a category, or at the top level: up to `most` by id, without
 * placeholders. Reads a limited number of rows, so it may miss categories after many placeholders.
 */
export function categoriesWithin(reader: Reader, parentId: number | null, most: number): Promise<NamedCategory[]> {
  const values = { parentId: parentId ?? 0, most, read: READ_MAX };
  return Promise.resolve(reader.all(parentId === null ? topLevel : childrenOf, values));
}

const READ_MAX = 1000;

const columns = ['id', 'name', 'slug', 'parent_id as parentId'] as const;

const categoriesByIds = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('categories')
    .select(columns)
    .where(({ ref }) => amongNumbers(ref('id'), p.ids, engine)),
);

type Within = { parentId: number; most: number; read: number };

const withinQuery = ({ top }: { readonly top: boolean }) =>
  query((db, p: Params<Within>) => {
    const children = db
      .selectFrom('categories')
      .select([...columns, 'placeholder'])
      .$if(top, rows => rows.where('parent_id', 'is', null))
      .$if(!top, rows => rows.where('parent_id', '=', p.parentId))
      .orderBy('parent_id')
      .orderBy('id')
      .limit(p.read);
    return db
      .selectFrom(children.as('children'))
      .select(['id', 'name', 'slug', 'parentId'])
      .where('placeholder', '=', 0)
      .orderBy('id')
      .limit(p.most);
  });

const topLevel = withinQuery({ top: true });
const childrenOf = withinQuery({ top: false });
