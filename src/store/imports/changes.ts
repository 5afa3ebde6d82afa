import type { FieldError } from '../../lib/http/problem.ts';
import { nearestValue } from '../../lib/suggestion.ts';
import { petFields } from '../../model/pet.ts';
import type { PetValues } from '../exports/columns.ts';
import { type CellContext, CellError, type PetContext } from '../exports/derived.ts';
import { type PresetColumn, parseCell, printCell } from '../exports/presets.ts';
import { type RowError, shortened } from './errors.ts';
import type { CellRow } from './rows.ts';

/**
 * The changes of a row: the members of a body, their columns by JSON Pointer, errors of cells, and the paths that are
 * absent because of them.
 */
export interface RowChange {
  readonly body: Record<string, unknown>;
  readonly sources: ReadonlyMap<string, Source>;
  readonly errors: readonly RowError[];
  readonly absent: ReadonlySet<string>;
  /** The names of the columns in the file, by JSON Pointer. */
  readonly names: ReadonlyMap<string, string>;
}

interface Source {
  readonly column: string;
  readonly cell: string;
  readonly choices: readonly string[];
}

/** Returns the changes of a row's cells. A cell that equals the export of the stored pet is not a change. */
export async function changeOf(
  row: CellRow,
  rules: Omit<CellContext, 'cell' | 'species'>,
  printed: PetContext,
): Promise<RowChange> {
  const { pet } = rules;
  const context = { ...rules, species: printed.species, cell: (name: string) => cellNamed(row, name) };
  const body: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  const errors: RowError[] = [];
  const absent = new Set<string>();
  const names = new Map<string, string>();
  for (const [index, column] of row.columns.entries()) {
    if (column === undefined || column.derived?.holds === 'photo') continue;
    const cell = row.cells[index];
    const name = row.names[index]!.trim();
    const path = `/${column.derived?.field ?? column.from.replace('.', '/')}`;
    names.set(path, name);
    if (cell === undefined || cell === printedCell(column, pet, printed)) continue;
    try {
      const values = await parseCell(column, cell, context);
      merge(body, values);
      const source = { column: name, cell, choices: column.own?.choices ?? [] };
      for (const path of pathsOf(values)) sources.set(path, source);
    } catch (error) {
      errors.push(rowErrorOf(error, name, cell));
      absent.add(path);
    }
  }
  for (const field of Object.keys(body)) body[field] = completed(field, body[field]);
  return { body: pet === undefined ? withoutNull(body) : body, sources, errors, absent, names };
}

/** Returns the exported cell of the stored pet; '' for a new pet. */
function printedCell(column: PresetColumn, pet: CellContext['pet'], printed: PetContext): string {
  return pet === undefined ? '' : printCell(column, pet, printed);
}

/** Returns the error of a row for a cell that cannot be converted. Rethrows any other error. */
function rowErrorOf(error: unknown, column: string, cell: string): RowError {
  if (!(error instanceof CellError)) throw error;
  const { code, message, suggestion } = error;
  return { column, code, message, value: shortened(cell), ...(suggestion && { suggestion }) };
}

/** Returns the cell of a field's column, or of the column with this name in the file; '' if there is none. */
function cellNamed({ columns, names, cells }: CellRow, name: string): string {
  const bound = columns.findIndex(column => column?.from === name);
  const index = bound < 0 ? names.findIndex(one => one.trim().toUpperCase() === name) : bound;
  return cells[index] ?? '';
}

/** Returns the changes of a row of NDJSON. */
export function changeIn(values: PetValues, pet: PetValues | undefined): RowChange {
  const changed = Object.entries(values).filter(
    ([name, value]) => name !== 'id' && (pet === undefined || JSON.stringify(value) !== JSON.stringify(pet[name])),
  );
  const body = Object.fromEntries(changed);
  return {
    body: pet === undefined ? withoutNull(body) : body,
    sources: new Map(),
    errors: [],
    absent: new Set(),
    names: new Map(),
  };
}

/** Returns all errors of a row: those of its cells, and those of its body assigned to their cells. */
export function rowErrors(errors: readonly FieldError[], change: RowChange): RowError[] {
  const others = errors.filter(({ path }) => !change.absent.has(path));
  return [...change.errors, ...others.map(error => rowError(error, change))];
}

function rowError({ path, code, message }: FieldError, change: RowChange): RowError {
  const column = columnOf(path, change);
  const source = sourceOf(path, change);
  if (source === undefined) return { column, code, message };
  if (source.cell === '') return { column, code: 'required', message: 'Must not be empty.', value: '' };
  const suggestion = nearestValue(source.cell, source.choices);
  return { column, code, message, value: shortened(source.cell), ...(suggestion && { suggestion }) };
}

/** Returns the column of a body's member, or its field in NDJSON. */
export function columnOf(path: string, change: RowChange): string {
  return sourceOf(path, change)?.column ?? change.names.get(path) ?? shortened(path.slice(1).replaceAll('/', '.'));
}

function sourceOf(path: string, { sources }: RowChange): Source | undefined {
  return sources.get(path) ?? sources.get(path.slice(0, path.lastIndexOf('/')));
}

function merge(body: Record<string, unknown>, values: PetValues): void {
  for (const [field, value] of Object.entries(values)) {
    const before = body[field];
    body[field] = isObject(before) && isObject(value) ? { ...before, ...value } : value;
  }
}

/** If an object loses a required member, removes the whole object. */
function completed(field: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { required = [] } = petFields[field as keyof typeof petFields].schema as { required?: readonly string[] };
  const isDeleted = required.length > 0 && Object.values(value).every(member => member === null);
  return isDeleted ? null : value;
}

/**
 * Returns a body without `null`, also within the objects of its fields. Deeper values are unchanged, because they can
 * be nested deeply.
 */
function withoutNull(body: PetValues): Record<string, unknown> {
  const members = Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    if (value === null) return [];
    if (!isObject(value)) return [[name, value]];
    const inner = Object.entries(value).filter(([, member]) => member !== null);
    return inner.length === 0 ? [] : [[name, Object.fromEntries(inner)]];
  });
  return Object.fromEntries(members);
}

function pathsOf(values: PetValues): string[] {
  return Object.entries(values).flatMap(([field, value]) => [
    `/${field}`,
    ...(isObject(value) ? Object.keys(value).map(member => `/${field}/${member}`) : []),
  ]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
