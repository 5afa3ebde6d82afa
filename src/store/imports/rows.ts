import { countText, lineRules } from '../../lib/text.ts';
import { EXTERNAL_ID_LENGTH_MAX } from '../../model/profile.ts';
import { ASM3_NOTHING } from '../exports/asm3.ts';
import type { PetValues } from '../exports/columns.ts';
import type { PresetColumn } from '../exports/presets.ts';
import { type FileHeader, headerOf } from './columns.ts';
import { type RowError, shortened } from './errors.ts';

/**
 * A row of a file: the number of its first line, and its cells, or the text of its line for JSON. A stored row also has
 * the number of an earlier line with the same identifier.
 */
export type ImportRecord = readonly [line: number, content: readonly string[] | string, firstLine?: number];

/** A row of a file, read. */
export interface FileRow {
  /** The identifier of its animal; absent if the row has no valid one. */
  readonly identifier?: Identifier | undefined;
  /** The cells of CSV, or of NDJSON with the columns of another program. */
  readonly cells?: CellRow;
  /** The fields of an animal in NDJSON. */
  readonly values?: PetValues;
  /** Why the row as a whole cannot be imported. */
  readonly error?: RowError;
}

/** The cells of a row, and their columns. */
export interface CellRow extends FileHeader {
  readonly cells: readonly string[];
}

/**
 * Reads a row.
 * @param header the columns of CSV; those of NDJSON are in each row
 * @param content the cells of CSV, or the line of NDJSON
 */
export function readRow(header: FileHeader, content: ImportRecord[1]): FileRow {
  if (typeof content !== 'string') return readCells({ ...header, cells: content });
  const values = objectIn(content);
  if (values === undefined) return { error: invalidLine };
  if (header.preset === 'petstore') return { identifier: identifierIn(values), values };
  const names = Object.keys(values);
  const cells = Object.values(values).map(cell => (typeof cell === 'string' ? cell : ''));
  const row = readCells({ ...headerOf(header.preset, names), cells });
  const wrong = names.find(name => typeof values[name] !== 'string');
  if (wrong === undefined) return row;
  return { ...row, error: { column: shortened(wrong), code: 'invalid_type', message: 'Must be a string.' } };
}

function readCells(given: CellRow): FileRow {
  const row = withoutNothing(given);
  if (isWhole(row)) return { cells: row, identifier: identifierOf(row) };
  const message = `The row has ${row.cells.length} cells, but the file has ${row.columns.length} columns.`;
  return { cells: row, error: { code: 'wrong_number_of_cells', message } };
}

/**
 * Reports whether a row has a cell of each column, or lacks only empty cells at its end, which Excel omits if many rows
 * have no value there. The identifier, the name and the category must not be missing.
 */
function isWhole({ columns, cells }: CellRow): boolean {
  const needed = columns.findLastIndex(
    column => column !== undefined && (NEEDED.has(column.from) || column.derived?.field === 'categoryId'),
  );
  return cells.length > needed && cells.slice(columns.length).every(cell => cell.trim() === '');
}

const NEEDED: ReadonlySet<string> = new Set(['id', 'externalId', 'ownId', 'name']);

/** Returns a row without the texts that a program writes for missing values. */
function withoutNothing(row: CellRow): CellRow {
  if (row.preset !== 'asm3') return row;
  const isNothing = (cell: string, column: PresetColumn | undefined) =>
    cell === ASM3_NOTHING && column?.from !== 'name' && column?.from !== 'ownId';
  return { ...row, cells: row.cells.map((cell, index) => (isNothing(cell, row.columns[index]) ? '' : cell)) };
}

/** The identifier of a row: the account's own, or the `id` of the service. */
export type Identifier =
  | {
      readonly externalId: string;
      /** The cell, if it has white space around the identifier, because animals of earlier releases may have it too. */
      readonly exact?: string;
      /**
       * The name, if the column identifies animals for another program: an export writes the `id` of animals without
       * their own identifier.
       */
      readonly name?: string;
    }
  | { readonly id: number };

/** Returns the identifier of a row, or `undefined` if it has no valid one. */
function identifierOf({ columns, cells }: CellRow): Identifier | undefined {
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
function identifierIn({ externalId, id }: PetValues): Identifier | undefined {
  return identifier(typeof externalId === 'string' ? externalId : '', typeof id === 'number' ? String(id) : '');
}

function identifier(exact: string, id: string, name?: string): Identifier | undefined {
  const externalId = exact.trim();
  if (externalId === '') return /^[1-9]\d{0,14}$/.test(id) ? { id: Number(id) } : undefined;
  if (identifiers.errorOf(externalId) !== undefined) return undefined;
  return { externalId, ...(exact !== externalId && { exact }), ...(name && { name }) };
}

const identifiers = lineRules(EXTERNAL_ID_LENGTH_MAX);

/** Returns the text of an identifier in the table of keys. */
export function keyOf(identifier: Identifier): string {
  return 'id' in identifier ? `i${identifier.id}` : `e${identifier.externalId}`;
}

/** The bounds of a line of NDJSON: far above those of an animal, and low enough to parse quickly. */
const MEMBERS_MAX = 1000;
const DEPTH_MAX = 8;

/** The error of a line that `objectIn` rejects. */
const invalidLine: RowError = {
  code: 'invalid_json',
  message: `The line must be a JSON object with at most ${countText(MEMBERS_MAX)} members, nested at most ${DEPTH_MAX} levels deep.`,
};

/** Returns the JSON object in a line of NDJSON, or `undefined` if the line is not an object or is too large. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const isReadable = Object.keys(value).length <= MEMBERS_MAX && !isDeeper(value, DEPTH_MAX);
  return isReadable ? (value as Record<string, unknown>) : undefined;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some(member => isDeeper(member, depth - 1));
}
