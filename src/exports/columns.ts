import type { TSchema } from 'typebox';
import { petFields } from '../pets/pet.ts';

/** A column of a table of pets: a field that callers write, or a member of one that is an object. */
export interface PetColumn {
  /** The name of the field, with the member after a point: `breeds.primary`. */
  readonly name: string;
  readonly field: string;
  readonly member: string | undefined;
  /** How a cell writes the value; `json` for lists and for the texts of `extra`. */
  readonly kind: 'text' | 'integer' | 'number' | 'boolean' | 'json';
  /** The values that the column may have, if they are few. */
  readonly choices: readonly string[] | undefined;
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
}

/** The columns of the preset `petstore`, derived from the fields of pets. */
export const petColumnList: readonly PetColumn[] = Object.entries(petFields).flatMap(
  ([field, { schema, ...options }]) => ('write' in options ? columnsOf(field, schema) : []),
);

function columnsOf(field: string, schema: TSchema): PetColumn[] {
  const { type, properties } = schema as JsonSchema;
  if (type !== 'object' || properties === undefined) {
    return [{ name: field, field, member: undefined, ...kindOf(schema) }];
  }
  return Object.entries(properties).map(([member, schema]) => {
    return { name: `${field}.${member}`, field, member, ...kindOf(schema) };
  });
}

function kindOf(schema: TSchema): Pick<PetColumn, 'kind' | 'choices'> {
  const { type, enum: choices } = schema as JsonSchema;
  if (type === 'integer' || type === 'number' || type === 'boolean') return { kind: type, choices };
  return { kind: type === 'array' || type === 'object' ? 'json' : 'text', choices };
}

/** The JSON values of a pet by field. */
export type PetValues = Readonly<Record<string, unknown>>;

/** Returns the cell of a column: '' where the pet has no value. */
export function cellOf({ field, member, kind }: PetColumn, pet: PetValues): string {
  const whole = pet[field] ?? undefined;
  const value = member === undefined ? whole : (whole as PetValues | undefined)?.[member];
  if (value === undefined || value === null) return '';
  return kind === 'json' ? JSON.stringify(value) : String(value);
}

/**
 * Returns the value of a cell; null for ''. A cell that is not of the column's kind stays a text, so that validation rejects
 * it and says what is valid.
 */
export function cellValue({ kind }: PetColumn, cell: string): unknown {
  if (cell === '') return null;
  if (kind === 'text') return cell;
  if (kind === 'boolean') return cell === 'true' ? true : cell === 'false' ? false : cell;
  if (kind === 'json') return jsonOf(cell);
  const pattern = kind === 'integer' ? /^-?\d{1,16}$/ : /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
  return pattern.test(cell) ? Number(cell) : cell;
}

function jsonOf(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}
