import { problem } from '../errors.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { findCategory } from './category-rows.ts';

/** How many levels the tree has at most. */
export const LEVELS_MAX = 10;

/**
 * The ids of a category and of every one below it, ascending; `undefined` where there are more than `max`.
 *
 * The category itself is always among them, whether it exists or not.
 */
export async function descendantsOf(reader: Reader, id: number, max: number): Promise<number[] | undefined> {
  const rows = await reader.all(below, { id, rows: max + 1 });
  return rows.length > max ? undefined : rows.map(row => row.id).sort((a, b) => a - b);
}

/**
 * Lets nobody else change the tree of categories until the transaction ends: what was read of it stays true. Taken
 * before any row is locked. On the embedded engine writes come one by one anyway.
 */
export async function lockTree(tx: Transaction): Promise<void> {
  if (tx.engine === 'postgres') await tx.first(treeAlone, {});
  tx.refreshNow();
}

/**
 * Refuses to put a category below another where the tree does not allow it. The tree is locked.
 * @param moving the category that moves with all that is below it; left out for a new one
 * @param options.path the member of the body that names the parent
 * @param options.without whether only what is below the category moves, and not the category itself
 * @throws {Problem} `category_not_found`, `category_cycle`, or `invalid_body` for too many levels
 */
export async function requirePlace(
  tx: Transaction,
  parentId: number,
  moving: number | undefined,
  { path, without = false }: { readonly path: string; readonly without?: boolean },
): Promise<void> {
  if ((await findCategory(tx, parentId)) === undefined) {
    const message = `There is no category ${parentId}.`;
    throw problem('category_not_found', message, { errors: [{ path, code: 'category_not_found', message }] });
  }
  const line = await lineOf(tx, parentId);
  if (moving === undefined) return requireLevels(line.length + 1, path);
  if (line.includes(moving)) {
    const message =
      parentId === moving
        ? `Category ${moving} cannot go into itself; choose another one.`
        : `Category ${parentId} stands below category ${moving}; choose one that does not.`;
    throw problem('category_cycle', message);
  }
  const old = (await lineOf(tx, moving)).length;
  const next = line.length + (without ? 0 : 1);
  // Who does not go down has room for all that is below.
  if (next <= old) return;
  const rows = await tx.all(below, { id: moving, rows: MOVED_DOWN_MAX + 1 });
  if (rows.length > MOVED_DOWN_MAX) {
    const message = `Category ${moving} has more than ${MOVED_DOWN_MAX.toLocaleString('en')} below it; it cannot go further down.`;
    throw problem('invalid_body', message, { errors: [{ path, code: 'too_many_below', message }] });
  }
  requireLevels(next + Math.max(...rows.map(({ level }) => level)), path);
}

function requireLevels(levels: number, path: string): void {
  if (levels <= LEVELS_MAX) return;
  const message = `The tree of categories has at most ${LEVELS_MAX} levels; this would make ${levels}.`;
  throw problem('invalid_body', message, { errors: [{ path, code: 'too_deep', message }] });
}

/** A category and what stands above it, up to the top. */
async function lineOf(reader: Reader, id: number): Promise<number[]> {
  return (await reader.all(above, { id })).map(row => row.id);
}

/** So many can be looked through before a move without holding anyone up. */
const MOVED_DOWN_MAX = 10_000;

/** Taken until the transaction ends. Both deployments in one database share it, which only makes them wait. */
const treeAlone = query(db =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore categories'), 0)`.as('taken')),
);

/** Both engines stop walking down where enough rows were found. */
const below = query((db, p: Params<{ id: number; rows: number }>) =>
  db
    .withRecursive('below(id, level)', with_ =>
      with_.selectNoFrom([sql<number>`cast(${p.id} as bigint)`.as('id'), sql<number>`0`.as('level')]).unionAll(
        with_
          .selectFrom('categories')
          .innerJoin('below', 'below.id', 'categories.parent_id')
          .select(['categories.id as id', sql<number>`below.level + 1`.as('level')]),
      ),
    )
    .selectFrom('below')
    .select(['id', 'level'])
    .limit(p.rows),
);

const above = query((db, p: Params<{ id: number }>) =>
  db
    .withRecursive('above(id, parent_id)', with_ =>
      with_
        .selectFrom('categories')
        .select(['id', 'parent_id'])
        .where('id', '=', p.id)
        .unionAll(
          with_
            .selectFrom('categories')
            .innerJoin('above', 'above.parent_id', 'categories.id')
            .select(['categories.id as id', 'categories.parent_id as parent_id']),
        ),
    )
    .selectFrom('above')
    .select('id'),
);
