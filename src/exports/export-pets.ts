import { alongIndex } from '../lib/storage/keyset.ts';
import { type PetRow, petColumns, petValues } from '../pets/pet.ts';
import { type Database, type Params, query } from '../schema.ts';
import { cellOf, type PetValues, petColumnList } from './columns.ts';
import { csvLine } from './csv.ts';

/** The formats of exports. */
export type ExportFormat = 'csv' | 'ndjson';

/**
 * Yields the pets of an account in the order of their ids, a page at a time, so memory does not limit their number. A pet
 * that changes meanwhile is written as it was before or after the change.
 * @param now returns the timestamp of the next read
 */
export async function* exportPets(
  database: Database,
  accountId: number,
  format: ExportFormat,
  now: () => number,
): AsyncGenerator<Buffer> {
  if (format === 'csv') yield Buffer.from(csvLine(['id', ...petColumnList.map(({ name }) => name)]));
  for (let after = 0; ; ) {
    const pets = await database.all(petsOf, { accountId, after, now: now(), rows: PAGE_ROWS });
    if (pets.length === 0) return;
    yield Buffer.from(pets.map(row => lineOf(format, writtenOf(row))).join(''));
    after = pets.at(-1)!.id;
  }
}

const PAGE_ROWS = 100;

const writtenFields = ['id', ...new Set(petColumnList.map(({ field }) => field))];

/** Returns the id of a pet and the fields that callers write, as its owner sees them. */
export function writtenOf(row: PetRow): PetValues {
  const pet = petValues.fullOf(row) as PetValues;
  return Object.fromEntries(writtenFields.flatMap(name => (name in pet ? [[name, pet[name]]] : [])));
}

function lineOf(format: ExportFormat, pet: PetValues): string {
  if (format === 'ndjson') return `${JSON.stringify(pet)}\n`;
  return csvLine([String(pet['id']), ...petColumnList.map(column => cellOf(column, pet))]);
}

const petsOf = query((db, p: Params<{ accountId: number; after: number; now: number; rows: number }>, engine) =>
  alongIndex(engine, false, db.selectFrom('pets').select(petColumns.full(p.now)), {
    prefix: [['pets.account_id', p.accountId]],
    key: ['pets.id'],
    after: [p.after],
  }).limit(p.rows),
);
