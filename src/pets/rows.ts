import type { Expression, SqlBool } from 'kysely';
import { columnsFor } from '../lib/fields/columns.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { type Reader, selectJsonNumbers, sql } from '../schema.ts';
import { petFields } from './pet.ts';

/** The columns of queries over pets. */
export const petColumns = columnsFor(petFields);

/** Conversions between JSON values and rows of pets. */
export const petValues = valuesFor(petFields);

/** Reports whether a number is in a parameter that is a JSON array of numbers. */
export function among(number: Expression<number>, json: Expression<string>, engine: Reader['engine']) {
  return engine === 'sqlite'
    ? sql<SqlBool>`${number} in ${selectJsonNumbers(json, engine)}`
    : sql<SqlBool>`${number} = any (array${selectJsonNumbers(json, engine)})`;
}
