import { columnsFor } from '../lib/fields/columns.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { type Params, query, type Reader, sql } from '../schema.ts';
import {
  type CategoryEventData,
  type CategoryRow,
  type CategoryState,
  categoryFields,
  type InsertedCategoryRow,
} from './category.ts';

/** The columns of queries over categories. */
export const categoryColumns = columnsFor(categoryFields);

/** Conversions between JSON values and rows of categories. */
export const categoryValues = valuesFor(categoryFields);

/** Returns the category with this id. */
export async function findCategory(reader: Reader, id: number): Promise<CategoryRow | undefined> {
  return reader.first(categoryById, { id });
}

/** Returns the data that every event about a category has: its state and its owner. */
export function eventDataOf(category: Omit<InsertedCategoryRow, 'createdAt' | 'updatedAt'>): CategoryEventData {
  const { accountId } = category;
  const state: CategoryState = categoryValues.stateOf(category);
  return { category: state, ...(accountId !== null && { ownerId: accountId }) };
}

/**
 * Inserts a category and returns its version; no row if its id or slug is taken. It waits for a concurrent transaction
 * that takes one of them.
 *
 * A deleted id may be reused when a pet names it. The versions then continue after the last one, as every version has an
 * event.
 */
export const insertCategory = query((db, p: Params<InsertedCategoryRow>) =>
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
