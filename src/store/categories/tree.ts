import { type ScanRequest, startScan } from '../../lib/http/pagination/scan-queue.ts';
import { countText } from '../../lib/text.ts';
import { categoryColumns } from '../../model/category.ts';
import { problem } from '../../model/errors.ts';
import { recordEvents } from '../../model/log/log.ts';
import { CATEGORY_LEVELS_MAX } from '../../model/rules.ts';
import { type Params, query, type Reader, selectJsonNumbers, sql, type Transaction } from '../../model/schema.ts';
import { categoryEvent, categoryNotFound, findCategory } from './rows.ts';

/**
 * Returns the ids of a category and its descendants, ascending, or `undefined` for more than `max`. The category itself
 * is always included, even if it does not exist.
 * @param request the request that needs them: it waits in the scan queue if there are many
 */
export async function descendantsOf(
  reader: Reader,
  id: number,
  max: number,
  request?: ScanRequest,
): Promise<number[] | undefined> {
  const ids = [id];
  const unread: Unread = { from: 0, to: 1, after: FIRST };
  const isDone = () => unread.from === ids.length || ids.length > max;
  while (!isDone() && ids.length <= FEW) await readChildren(reader, ids, unread);
  if (!isDone()) {
    using scan = startScan(request);
    while (!isDone()) {
      await scan.turn();
      await readChildren(reader, ids, unread);
    }
  }
  return ids.length > max ? undefined : ids.sort((a, b) => a - b);
}

/** The categories whose children are read next, as a range of ids, and the child that was read last. */
interface Unread {
  from: number;
  to: number;
  after: { readonly parentId: number; readonly id: number };
}

const FIRST: Unread['after'] = { parentId: 0, id: 0 };

/**
 * Reads the next children of some categories of a tree, level by level, and adds them to `ids`. A recursive query would
 * read all children of a category at once.
 */
async function readChildren(reader: Reader, ids: number[], unread: Unread): Promise<void> {
  const parents = JSON.stringify(ids.slice(unread.from, unread.to));
  const children = await reader.all(childrenIn, { parents, ...unread.after, most: CHILDREN_PER_READ });
  for (const { id } of children) ids.push(id);
  if (children.length === CHILDREN_PER_READ) unread.after = children.at(-1)!;
  else {
    unread.from = unread.to;
    unread.to = Math.min(ids.length, unread.from + PARENTS_PER_READ);
    unread.after = FIRST;
  }
}

/**
 * Locks the tree of categories until the transaction ends, and notifies the topic `categories`. Call it before locking
 * any row. SQLite serializes writes anyway.
 */
export async function lockTree(tx: Transaction): Promise<void> {
  if (tx.engine === 'postgres') await tx.first(advisoryLock, {});
  await tx.notify('categories');
  tx.refreshNow();
}

/**
 * Throws if a category cannot become the parent of another category. Lock the tree first.
 * @param moving the category that moves with its descendants; absent for a new category
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
  // A category that moves up or stays on its level has enough levels for its descendants.
  if (newLevel <= oldLevel) return;
  const rows = await tx.all(subtree, { id: moving, rows: MOVED_DOWN_MAX + 1 });
  if (rows.length > MOVED_DOWN_MAX) {
    const message = `Category ${moving} has more than ${countText(MOVED_DOWN_MAX)} descendants; it cannot move further down.`;
    throw problem('invalid_body', message, { errors: [{ path, code: 'too_many_below', message }] });
  }
  requireLevels(newLevel + Math.max(...rows.map(({ level }) => level)), path);
}

/**
 * Moves up to `most` children of a category to another parent, with their descendants, by id ascending, with an event
 * each. Lock the tree first, and call `requireParent`.
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
  if (levels <= CATEGORY_LEVELS_MAX) return;
  const message = `The tree of categories has at most ${CATEGORY_LEVELS_MAX} levels; this would make ${levels}.`;
  throw problem('invalid_body', message, { errors: [{ path, code: 'too_deep', message }] });
}

/** Returns the ids of a category and its ancestors. */
async function pathOf(reader: Reader, id: number): Promise<number[]> {
  return (await reader.all(ancestry, { id })).map(row => row.id);
}

/** Limits how long the check before a move blocks others. */
const MOVED_DOWN_MAX = 10_000;

/** If both deployments are in one database, they share the lock and only wait for each other. */
const advisoryLock = query(db =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore categories'), 0)`.as('locked')),
);

/** The number of descendants that are read without waiting for a turn. */
const FEW = 500;
const PARENTS_PER_READ = 500;
const CHILDREN_PER_READ = 1000;

const childrenIn = query((db, p: Params<Unread['after'] & { parents: string; most: number }>, engine) =>
  db
    .selectFrom('categories')
    .select([sql<number>`parent_id`.as('parentId'), 'id'])
    .where('parent_id', 'in', selectJsonNumbers(p.parents, engine))
    .where(eb => eb(eb.refTuple('parent_id', 'id'), '>', eb.tuple(p.parentId, p.id)))
    .orderBy('parent_id')
    .orderBy('id')
    .limit(p.most),
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
