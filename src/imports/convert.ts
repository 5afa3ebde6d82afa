import { ASM3_NOTHING, isAsm3Column } from '../exports/asm3.ts';
import { type PetValues, petColumnList } from '../exports/columns.ts';
import { type CellContext, CellError, type PetContext } from '../exports/derived.ts';
import {
  columnsOf,
  type ExportPreset,
  type PresetColumn,
  parseCell,
  presetNames,
  printCell,
} from '../exports/presets.ts';
import type { FieldError } from '../lib/http/problem.ts';
import { nearest, nearestValue } from '../lib/suggestion.ts';
import { lineRules } from '../lib/text.ts';
import { petFields } from '../pets/pet.ts';
import type { ImportError } from './import.ts';

/** An error or a warning without its line. */
export type RowError = Omit<ImportError, 'level' | 'line'>;

/** The columns of a file, in its order; `undefined` for one that is ignored. */
export type FileColumns = readonly (PresetColumn | undefined)[];

/**
 * Looks up the columns of a file in a preset by their names, and else by their aliases, without case, spaces and punctuation.
 * Returns the columns, and the names of unknown or repeated ones. Columns that a program is known to have beside them are
 * neither.
 */
export function bindColumns(preset: ExportPreset, names: readonly string[]) {
  const indexes = new Map(names.map((name, index) => [foldedName(name), index] as const).toReversed());
  const columns: (PresetColumn | undefined)[] = names.map(() => undefined);
  for (const column of columnsOf(preset)) {
    const name = foldedNamesOf(column).find(name => indexes.has(name));
    if (name === undefined) continue;
    columns[indexes.get(name)!] = column;
    indexes.delete(name);
  }
  const isKnown = (name: string) => name.trim() === '' || (preset === 'asm3' && isAsm3Column(name));
  const unknown = names.filter((name, index) => columns[index] === undefined && !isKnown(name));
  return { columns, unknown };
}

/** Returns the preset that clearly more columns of a file belong to; `undefined` if none is clearly better. */
export function betterPreset(preset: ExportPreset, names: readonly string[]): ExportPreset | undefined {
  const countIn = (name: ExportPreset) =>
    bindColumns(name, names).columns.filter(column => column !== undefined).length;
  const counts = new Map(presetNames.map(name => [name, countIn(name)]));
  const most = Math.max(...counts.values());
  const count = counts.get(preset)!;
  // Lists of people have some names of other programs, too.
  if (most - count < 3 || count > most * 0.75) return undefined;
  return presetNames.find(name => counts.get(name) === most);
}

function foldedNamesOf(column: PresetColumn): readonly string[] {
  return foldedNames.getOrInsertComputed(column, ({ name, aliases }) => [name, ...aliases].map(foldedName));
}

const foldedNames = new Map<PresetColumn, readonly string[]>();

function foldedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

const fieldNames = ['id', ...new Set(petColumnList.map(({ field }) => field))];

/** Returns the members of a row of NDJSON that are no fields of pets. */
export function unknownMembersOf(values: PetValues): string[] {
  return Object.keys(values).filter(name => !fieldNames.includes(name));
}

/** Returns the warning of such a member. */
export function unknownMember(name: string): RowError {
  const suggestion = nearest(name.slice(0, 100), fieldNames);
  const message = 'Animals have no such field: it is ignored in all rows.';
  return { column: shortened(name), code: 'unknown_member', message, ...(suggestion && { suggestion }) };
}

/** Returns the warning of a column that is ignored: it is unknown, or another one of the file has the same values. */
export function ignoredColumn(
  preset: ExportPreset,
  name: string,
  columns: FileColumns,
  names: readonly string[],
): RowError {
  const folded = foldedName(name);
  const read = columns.findIndex(column => column !== undefined && foldedNamesOf(column).includes(folded));
  const column = shortened(name);
  if (read >= 0) {
    const other = foldedName(names[read]!) === folded ? 'the first one' : shortened(names[read]!.trim());
    const message = `The file has this column twice: ${other} is read, and this one is ignored.`;
    return { column, code: 'duplicate_column', message };
  }
  const known = columnsOf(preset).flatMap(column => [column.name, ...column.aliases]);
  const suggestion = nearest(name.trim().slice(0, 100), known);
  const message = 'The column is not known: it is ignored.';
  return { column, code: 'unknown_column', message, ...(suggestion && { suggestion }) };
}

/** The identifier of a row: that of the account, or the `id` of the service. */
export type Identifier =
  | {
      readonly externalId: string;
      /** The cell, if it has white space around the identifier: the animals of earlier releases can have it, too. */
      readonly exact?: string;
      /** The name in a column that other programs identify animals by: an export writes the `id` of those without their own. */
      readonly name?: string;
    }
  | { readonly id: number };

/** Returns the identifier of a row, or `undefined` if it has none that is valid. */
export function identifierOf(columns: FileColumns, cells: readonly string[]): Identifier | undefined {
  const cellOf = (matches: (column: PresetColumn) => boolean) => {
    const index = columns.findIndex(column => column !== undefined && matches(column));
    return index < 0 ? '' : (cells[index] ?? '');
  };
  const ownId = cellOf(({ derived }) => derived?.holds === 'identifier');
  if (ownId.trim() !== '') {
    const name = cellOf(({ from }) => from === 'name');
    return identifier(ownId, '', name);
  }
  const externalId = cellOf(({ from }) => from === 'externalId');
  const id = cellOf(({ derived }) => derived?.holds === 'id');
  return identifier(externalId, id.trim());
}

/** Returns the identifier of a row of NDJSON with the fields of pets. */
export function identifierIn({ externalId, id }: PetValues): Identifier | undefined {
  return identifier(typeof externalId === 'string' ? externalId : '', typeof id === 'number' ? String(id) : '');
}

function identifier(exact: string, id: string, name?: string): Identifier | undefined {
  const externalId = exact.trim();
  if (externalId === '') return /^[1-9]\d{0,14}$/.test(id) ? { id: Number(id) } : undefined;
  if (identifiers.errorOf(externalId) !== undefined) return undefined;
  return { externalId, ...(exact !== externalId && { exact }), ...(name && { name }) };
}

const identifiers = lineRules(100);

/** Returns the text that stands for an identifier in the table of keys. */
export function keyOf(identifier: Identifier): string {
  return 'id' in identifier ? `i${identifier.id}` : `e${identifier.externalId}`;
}

/** A row of a file: its cells, the columns that they belong to, and the names of these in the file. */
export interface CellRow {
  readonly columns: FileColumns;
  readonly names: readonly string[];
  readonly cells: readonly string[];
}

/**
 * Reports whether a row has a cell of each column, or lacks only empty ones of spreadsheet programs: Excel leaves out the
 * separators at the end of rows if many of them have no value there. The identifier, the name and the category are never left out.
 */
export function isWhole(columns: FileColumns, cells: readonly string[]): boolean {
  const needed = columns.findLastIndex(
    column => column !== undefined && (NEEDED.has(column.from) || column.derived?.field === 'categoryId'),
  );
  return cells.length > needed && cells.slice(columns.length).every(cell => cell.trim() === '');
}

const NEEDED: ReadonlySet<string> = new Set(['id', 'externalId', 'ownId', 'name']);

/** Returns a row without the texts that a program writes for no value. */
export function withoutNothing(preset: ExportPreset, row: CellRow): CellRow {
  if (preset !== 'asm3') return row;
  const isNothing = (cell: string, column: FileColumns[number]) =>
    cell === ASM3_NOTHING && column?.from !== 'name' && column?.from !== 'ownId';
  return { ...row, cells: row.cells.map((cell, index) => (isNothing(cell, row.columns[index]) ? '' : cell)) };
}

/**
 * What a row changes: the members of a body, the columns that they come from by JSON Pointer, errors of cells, and the paths
 * that are absent because of them.
 */
export interface RowChange {
  readonly body: Record<string, unknown>;
  readonly sources: ReadonlyMap<string, Source>;
  readonly errors: readonly RowError[];
  readonly absent: ReadonlySet<string>;
  /** The columns of the file by JSON Pointer. */
  readonly names: ReadonlyMap<string, string>;
}

interface Source {
  readonly column: string;
  readonly cell: string;
  readonly choices: readonly string[];
}

/** Returns what the cells of a row change. A cell that an export would print for the stored pet is no change. */
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
    if (cell === undefined || cell === (pet === undefined ? '' : printCell(column, pet, printed))) continue;
    try {
      const values = await parseCell(column, cell, context);
      merge(body, values);
      const source = { column: name, cell, choices: column.own?.choices ?? [] };
      for (const path of pathsOf(values)) sources.set(path, source);
    } catch (error) {
      if (!(error instanceof CellError)) throw error;
      const { code, message, suggestion } = error;
      errors.push({ column: name, code, message, value: shortened(cell), ...(suggestion && { suggestion }) });
      absent.add(path);
    }
  }
  for (const field of Object.keys(body)) body[field] = completed(field, body[field]);
  return { body: pet === undefined ? withoutNull(body) : body, sources, errors, absent, names };
}

/** Returns the cell of the column that is written from a field, or has this name in the file; '' if there is none. */
function cellNamed({ columns, names, cells }: CellRow, name: string): string {
  const bound = columns.findIndex(column => column?.from === name);
  const index = bound < 0 ? names.findIndex(one => one.trim().toUpperCase() === name) : bound;
  return cells[index] ?? '';
}

/** Returns what a row of NDJSON changes. */
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

/** Returns all errors of a row: those of its cells, and those of its body as errors of the cells that it comes from. */
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

/** Returns the column that a member of a body comes from, or its field in NDJSON. */
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

/** An object that loses a member that it cannot be without loses all. */
function completed(field: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { required = [] } = petFields[field as keyof typeof petFields].schema as { required?: readonly string[] };
  const isDeleted = required.length > 0 && Object.values(value).every(member => member === null);
  return isDeleted ? null : value;
}

/** Returns a body without `null`, in the objects of its fields too. What these contain is left as it is: it can be nested deeply. */
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

/** Returns the beginning of a text, so that errors are short. */
export function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}
