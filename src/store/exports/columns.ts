import type { TSchema } from 'typebox';
import { petFields } from '../../model/pet.ts';
import { answerIn, chipsIn, choiceIn, isNoChoice, isNothing } from './read-cells.ts';

/** A column of a table of pets: a field that callers write, or a member of an object field. */
export interface PetColumn {
  /** The name of the field, with the member after a point: `breeds.primary`. */
  readonly name: string;
  readonly field: string;
  readonly member: string | undefined;
  /** The format of the value in a cell; lists and the texts of `extra` are JSON. */
  readonly kind: 'text' | 'date' | 'integer' | 'number' | 'boolean' | 'list' | 'json';
  /** The allowed values of the column, if they are few. */
  readonly choices: readonly string[] | undefined;
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly '~document'?: { readonly format?: string };
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
  const { type, enum: choices, '~document': documented } = schema as JsonSchema;
  if (type === 'integer' || type === 'number' || type === 'boolean') return { kind: type, choices };
  if (type === 'array' || type === 'object') return { kind: type === 'array' ? 'list' : 'json', choices };
  return { kind: documented?.format === 'date' ? 'date' : 'text', choices };
}

/** The JSON values of a pet by field. */
export type PetValues = Readonly<Record<string, unknown>>;

/** Returns the cell of a column: '' if the pet has no value. */
export function cellOf({ field, member, kind }: PetColumn, pet: PetValues): string {
  const whole = pet[field] ?? undefined;
  const value = member === undefined ? whole : (whole as PetValues | undefined)?.[member];
  if (value === undefined || value === null) return '';
  return kind === 'json' || kind === 'list' ? JSON.stringify(value) : String(value);
}

/**
 * Returns the value of a cell written by a person; null for ''. A cell of another kind stays a text, so that validation
 * rejects it with a description of valid values.
 */
export function cellValue({ name, kind, choices }: PetColumn, cell: string): unknown {
  if (cell === '' || (kind !== 'text' && isNothing(cell))) return null;
  if (choices) return choiceIn(choices, cell, name) ?? (isNoChoice(choices, cell) ? null : cell);
  switch (kind) {
    case 'boolean':
      return booleanOf(cell);
    case 'list':
      return listOf(cell, name);
    case 'json':
      return jsonOf(cell);
    case 'integer':
      return /^ *-?\d{1,16} *$/.test(cell) ? Number(cell) : cell;
    case 'number':
      return /^ *-?\d+(\.\d+|,(?!\d{3} *$)\d+)?(e[+-]?\d+)? *$/i.test(cell) ? Number(cell.replace(',', '.')) : cell;
    default:
      return cell;
  }
}

function booleanOf(cell: string): boolean | string | null {
  const answer = answerIn(cell);
  if (answer === undefined) return cell;
  return answer === 'unknown' ? null : answer === 'yes';
}

/** Returns the items of a list in JSON, or separated by commas, semicolons or line breaks. */
function listOf(cell: string, name: string): unknown {
  const value = jsonOf(cell);
  if (typeof value === 'object') return value;
  const items = cell.split(/[,;\n]/).map(item => item.trim());
  const given = items.filter(item => item !== '');
  if (name !== 'microchips') return given;
  const chips = chipsIn(given);
  return chips.length === 0 ? null : chips;
}

function jsonOf(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}
