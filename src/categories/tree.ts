import { problem } from '../errors.ts';
import { recordEvents } from '../events/log.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { categoryColumns } from './category.ts';
import { categoryEvent, categoryNotFound, findCategory } from './rows.ts';

/** The maximum depth of the tree of categories. */
const LEVELS_MAX = 10;

/**
 * Returns the ids of a category and its descendants, ascending, or `undefined` for more than `max`. The category itself
 * is always among them, even if it does not exist.
 */
export async function descendantsOf(reader: Reader, id: number, max: number): Promise<number[] | undefined> {
  const rows = await reader.all(subtree, { id, rows: max + 1 });
  return rows.length > max ? undefined : rows.map(row => row.id).sort((a, b) => a - b);
}

/** Locks the tree of categories until the transaction ends. Lock it before any row. SQLite serializes writes anyway. */
export async function lockTree(tx: Transaction): Promise<void> {
  if (tx.engine === 'postgres') await tx.first(advisoryLock, {});
  tx.refreshNow();
}

/**
 * Throws if a category cannot become the parent of another one. Lock the tree first.
 * @param moving the category that moves with its descendants; absent for a new one
 * @param options.path the member of the body that names the parent
 * @param options.childrenOnly whether only the children of `moving` move
 * @throws {Problem} `category_not_found`, `category_cycle`, or `invalid_body` for too many levels
 */
export async function requireParent(
  tx: Transaction,
  parentId: number,
  moving: number | undefined,
  { path, childrenOnly = false }: { readonly path: string; readonly childrenOnly?: boolean },
): Promise<void> {
  if ((await findCategory(tx, parentId)) === undefined) throw categoryNotFound(parentId, path);
  const ancestors = await pathOf(tx, parentId);
  if (moving === undefined) return requireLevels(ancestors.length + 1, path);
  if (ancestors.includes(moving)) {
    const message =
      parentId === moving
        ? `Category ${moving} cannot contain itself; choose another one.`
        : `Category ${parentId} is a descendant of category ${moving}; choose one that is not.`;
    throw problem('category_cycle', message);
  }
  const oldLevel = (await pathOf(tx, moving)).length;
  const newLevel = ancestors.length + (childrenOnly ? 0 : 1);
  // A category that moves up, or sideways, keeps enough levels for its descendants.
  if (newLevel <= oldLevel) return;
  const rows = await tx.all(subtree, { id: moving, rows: MOVED_DOWN_MAX + 1 });
  if (rows.length > MOVED_DOWN_MAX) {
    const message = `Category ${moving} has more than ${MOVED_DOWN_MAX.toLocaleString('en')} descendants; it cannot move further down.`;
    throw problem('invalid_body', message, { errors: [{ path, code: 'too_many_below', message }] });
  }
  requireLevels(newLevel + Math.max(...rows.map(({ level }) => level)), path);
}

/**
 * Moves up to `most` children of a category to another parent, with their descendants, by id ascending, and records an
 * event for each. Lock the tree first, and call `requireParent`.
 * @returns the number of categories moved
 */
export async function moveChildren(
  tx: Transaction,
  { from, to, most, accountId }: { from: number; to: number; most: number; accountId: number | null },
): Promise<number> {
  const moving = await tx.all(childrenOf, { from, most });
  if (moving.length === 0) return 0;
  const details = { was: { parentId: from }, reason: 'category_merged' } as const;
  await recordEvents(
    tx,
    moving.map(category => categoryEvent('updated', accountId, { ...category, parentId: to }, details)),
  );
  return tx.run(move, { from, to, last: moving.at(-1)!.id, now: tx.now });
}

function requireLevels(levels: number, path: string): void {
  if (levels <= LEVELS_MAX) return;
  const message = `The tree of categories has at most ${LEVELS_MAX} levels; this would make ${levels}.`;
  throw problem('invalid_body', message, { errors: [{ path, code: 'too_deep', message }] });
}

/** Returns the ids of a category and its ancestors. */
async function pathOf(reader: Reader, id: number): Promise<number[]> {
  return (await reader.all(ancestry, { id })).map(row => row.id);
}

/** Limits how long the check before a move blocks others. */
const MOVED_DOWN_MAX = 10_000;

/** Both deployments in one database share the lock, which only makes them wait. */
const advisoryLock = query(db =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore categories'), 0)`.as('locked')),
);

/** Both engines stop the recursion at the limit. */
const subtree = query((db, p: Params<{ id: number; rows: number }>) =>
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

const ancestry = query((db, p: Params<{ id: number }>) =>
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

const childrenOf = query((db, p: Params<{ from: number; most: number }>) =>
  db
    .selectFrom('categories')
    .select(categoryColumns.stored())
    .where('parent_id', '=', p.from)
    .orderBy('id')
    .limit(p.most),
);

const move = query((db, p: Params<{ from: number; to: number; last: number; now: number }>) =>
  db
    .updateTable('categories')
    .set(({ eb }) => ({ parent_id: p.to, version: eb('version', '+', 1), updated_at: p.now }))
    .where('parent_id', '=', p.from)
    .where('id', '<=', p.last),
);
