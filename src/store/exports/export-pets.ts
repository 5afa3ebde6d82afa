import { alongIndex } from '../../lib/storage/keyset.ts';
import { fullPetOf, type PetRow, petColumns, petValues } from '../../model/pet.ts';
import { type Database, type Params, query, type Reader } from '../../model/schema.ts';
import { findCategory } from '../categories/rows.ts';
import { type PetValues, petColumnList } from './columns.ts';
import { type ExportPreset, exportedColumnsOf, printCell } from './presets.ts';

/** The formats of exports. */
export type ExportFormat = 'csv' | 'ndjson';

/** The account whose pets are exported, and the format. */
interface ExportOptions {
  readonly accountId: number;
  readonly format: ExportFormat;
  readonly preset: ExportPreset;
  /** The public address at which URLs of photos begin. */
  readonly publicUrl: string;
  /** Returns the timestamp of the next read. */
  now(): number;
  /** Called after each page with the number of pets so far. */
  onProgress?(pets: number): void;
}

/**
 * Yields the pets of an account in the order of their ids, a page at a time, so that memory does not limit their
 * number. A pet that changes meanwhile is exported in its state before or after the change.
 */
export async function* exportPets(database: Database, options: ExportOptions): AsyncGenerator<Buffer> {
  const { accountId, format, preset } = options;
  const columns = exportedColumnsOf(preset);
  const lineOf = lineWriter(options, columns);
  const speciesOf = preset === 'petstore' ? () => '' : speciesIn(database);
  if (format === 'csv') yield Buffer.from(csvLine(columns.map(({ name }) => name)));
  for (let after = 0, exported = 0; ; ) {
    const now = options.now();
    const pets = await database.all(petsOf, { accountId, after, now, rows: PAGE_ROWS });
    if (pets.length === 0) return;
    let lines = '';
    for (const row of pets) lines += lineOf(row, now, await speciesOf(row.categoryId));
    yield Buffer.from(lines);
    exported += pets.length;
    options.onProgress?.(exported);
    after = pets.at(-1)!.id;
  }
}

/** Returns a function that converts a pet to a line. */
function lineWriter(
  { format, preset, publicUrl }: ExportOptions,
  columns: ReturnType<typeof exportedColumnsOf>,
): (row: PetRow, now: number, species: string) => string {
  if (format === 'ndjson' && preset === 'petstore') return row => `${JSON.stringify(writtenOf(row))}\n`;
  const names = columns.map(({ name }) => name);
  return (row, now, species) => {
    const pet = exportedPet(preset, row, now);
    const cells = columns.map(column => printCell(column, pet, { species, publicUrl }));
    return format === 'csv' ? csvLine(cells) : jsonLine(names, cells);
  };
}

function jsonLine(names: readonly string[], cells: readonly string[]): string {
  return `${JSON.stringify(Object.fromEntries(names.map((name, index) => [name, cells[index]])))}\n`;
}

/** Returns the values of a pet that a preset exports. */
export function exportedPet(preset: ExportPreset, row: PetRow, now: number): PetValues {
  if (preset === 'petstore') return writtenOf(row);
  return fullPetOf(row, { accountId: row.accountId, admin: false }, now);
}

/** Returns a function that returns the name of the root of a category: the type of the animal. */
export function speciesIn(reader: Reader): (categoryId: number) => Promise<string> {
  const known = new Map<number, string>();
  return async categoryId => {
    const found = known.get(categoryId);
    if (found !== undefined) return found;
    let category = await findCategory(reader, categoryId);
    while (category?.parentId != null) category = await findCategory(reader, category.parentId);
    const name = category?.name ?? '';
    known.set(categoryId, name);
    return name;
  };
}

const PAGE_ROWS = 100;

const writtenFields = ['id', ...new Set(petColumnList.map(({ field }) => field))];

/** Returns the id of a pet and the fields that callers write, as the owner sees them. */
function writtenOf(row: PetRow): PetValues {
  const pet = petValues.fullOf(row) as PetValues;
  return Object.fromEntries(writtenFields.flatMap(name => (name in pet ? [[name, pet[name]]] : [])));
}

const petsOf = query((db, p: Params<{ accountId: number; after: number; now: number; rows: number }>, engine) =>
  alongIndex(engine, false, db.selectFrom('pets').select(petColumns.full(p.now)), {
    prefix: [['pets.account_id', p.accountId]],
    key: ['pets.id'],
    after: [p.after],
  }).limit(p.rows),
);

/** Returns a line of CSV (RFC 4180). Cells are written byte for byte; a reader must not evaluate them as formulas. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
