import { columnsFor } from '../lib/fields/columns.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { sql } from '../schema.ts';
import { type HoldRow, holdFields, statusAt } from './hold.ts';

export const holdColumns = columnsFor(holdFields);

/** Conversions between JSON values and rows of holds. */
export const holdValues = valuesFor(holdFields);

/** A row of `selectHold`, in which pets and owners are one text. */
export type HoldRecord = Omit<HoldRow, 'petIds' | 'ownerIds'> & { readonly pets: string | null };

/**
 * The columns of a query that reads holds as of a time; `parseHold` returns the hold of such a row.
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

/** Returns the hold of a row of `selectHold`. */
export function parseHold({ pets, ...row }: HoldRecord): HoldRow {
  const pairs = pets === null ? [] : pets.split(',').map(pet => pet.split(' ').map(Number) as [number, number]);
  return { ...row, petIds: pairs.map(([petId]) => petId), ownerIds: pairs.map(([, ownerId]) => ownerId) };
}
