import { recordAll } from '../events/log.ts';
import { type Params, query, type Transaction } from '../schema.ts';
import {
  type CategoryEventData,
  type CategoryRow,
  categoryColumns,
  categoryStateOf,
  ownerIn,
} from './category-rows.ts';

/**
 * Moves categories that stand directly below one to another, with all that is below them, by rising id, and writes it
 * down for each of them. The tree is locked, and has room for them there.
 * @param most how many at most
 * @returns how many it were
 */
export async function moveCategories(
  tx: Transaction,
  { from, to, most, accountId }: { from: number; to: number; most: number; accountId: number | null },
): Promise<number> {
  const moving = await tx.all(directlyBelow, { from, most });
  if (moving.length === 0) return 0;
  for (let first = 0; first < moving.length; first += RECORDED_AT_ONCE) {
    await recordAll(
      tx,
      moving.slice(first, first + RECORDED_AT_ONCE).map(category => ({
        kind: 'category',
        action: 'updated',
        subjectId: category.id,
        accountId,
        data: movedBelow(to, category),
      })),
    );
  }
  return tx.run(move, { from, to, last: moving.at(-1)!.id, now: tx.now });
}

const RECORDED_AT_ONCE = 100;

function movedBelow(to: number, category: CategoryRow): CategoryEventData {
  return {
    category: categoryStateOf({ ...category, parentId: to }),
    was: { parentId: category.parentId },
    ...ownerIn(category),
    reason: 'category_merged',
  };
}

const directlyBelow = query((db, p: Params<{ from: number; most: number }>) =>
  db.selectFrom('categories').select(categoryColumns).where('parent_id', '=', p.from).orderBy('id').limit(p.most),
);

const move = query((db, p: Params<{ from: number; to: number; last: number; now: number }>) =>
  db
    .updateTable('categories')
    .set(eb => ({ parent_id: p.to, version: eb('version', '+', 1), updated_at: p.now }))
    .where('parent_id', '=', p.from)
    .where('id', '<=', p.last),
);
