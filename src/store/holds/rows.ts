import { columnsFor } from '../../lib/fields/columns.ts';
import { valuesFor } from '../../lib/fields/values.ts';
import { type HoldRow, holdFields, statusAt } from '../../model/hold.ts';
import { sql } from '../../model/schema.ts';

export const holdColumns = columnsFor(holdFields);

/** Conversions between JSON values and rows of holds. */
export const holdValues = valuesFor(holdFields);

/** A row of `selectHold`, which has pets and owners in one text. */
export type HoldRecord = Omit<HoldRow, 'petIds' | 'ownerIds'> & { readonly pets: string | null };

/**
 * The columns of a query that reads holds as of a time; `parseHold` converts such a row to a hold.
 * @param now an expression: whole milliseconds since the Unix epoch
 */
export const selectHold = (now: unknown) =>
  [
    ...holdColumns.full(now),
    statusAt(now).as('status'),
    sql<string | null>`(
      select string_agg(pet_id || ' ' || owner_id, ',' order by pet_id) from reservations where hold_id = holds.id
    )`.as('pets'),
  ] as const;

/** Converts a row of `selectHold` to a hold. */
export function parseHold({ pets, ...row }: HoldRecord): HoldRow {
  const pairs = pets === null ? [] : pets.split(',').map(pet => pet.split(' ').map(Number) as [number, number]);
  return { ...row, petIds: pairs.map(([petId]) => petId), ownerIds: pairs.map(([, ownerId]) => ownerId) };
}
