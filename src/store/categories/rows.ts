import type { InsertRowOf, RecordedRowOf } from '../../lib/fields/field.ts';
import type { Problem } from '../../lib/http/problem.ts';
import {
  type CategoryEventData,
  type CategoryFields,
  type CategoryRow,
  categoryColumns,
  categoryValues,
} from '../../model/category.ts';
import { problem } from '../../model/errors.ts';
import type { NewEvent } from '../../model/log/event.ts';
import { type Params, query, type Reader, sql } from '../../model/schema.ts';

export async function findCategory(reader: Reader, id: number): Promise<CategoryRow | undefined> {
  return reader.first(categoryById, { id });
}

/** Returns the error for a category that does not exist, which the member of a body at `path` names. */
export function categoryNotFound(id: number, path: string): Problem {
  const message = `There is no category ${id}.`;
  return problem('category_not_found', message, { errors: [{ path, code: 'category_not_found', message }] });
}

/** Returns the event for a change of a category. */
export function categoryEvent(
  action: 'created' | 'updated' | 'deleted' | 'merged',
  accountId: number | null,
  category: RecordedRowOf<CategoryFields> & Pick<CategoryRow, 'id' | 'accountId'>,
  details?: Omit<CategoryEventData, 'category' | 'ownerId'>,
): NewEvent {
  const owner = category.accountId === null ? {} : { ownerId: category.accountId };
  const data: CategoryEventData = { category: categoryValues.stateOf(category), ...owner, ...details };
  return { kind: 'category', action, subjectId: category.id, accountId, data };
}

/**
 * Inserts a category and returns its version; no row if its id or slug is taken. Waits for a concurrent transaction
 * that takes one of them.
 *
 * A deleted id may be reused when a pet names it. Its versions then continue after the last version, because every
 * version has an event.
 */
export const insertCategory = query((db, p: Params<InsertRowOf<CategoryFields>>) =>
  db
    .insertInto('categories')
    .values({
      ...categoryColumns.inserted(p),
      version: sql<number>`(select count(*) + 1 from events where kind = 'category' and subject_id = ${p.id})`,
    })
    .onConflict(conflict => conflict.doNothing())
    .returning('version'),
);

const categoryById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').select(categoryColumns.stored()).where('id', '=', p.id),
);
