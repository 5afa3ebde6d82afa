import { countDeleted } from '../../access/plans/stored-bytes.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { foldedText } from '../../lib/text.ts';
import { NewPet, PetPatch, type PetRow } from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import { EXTERNAL_ID_LENGTH_MAX } from '../../model/profile.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { exportedPet } from '../exports/export-pets.ts';
import { createPet, getPet, updatePet } from '../pets/pets.ts';
import { petIdsOf } from '../profile/profile-rules.ts';
import { changeIn, changeOf, type RowChange, rowErrors } from './changes.ts';
import type { Chunk } from './chunk.ts';
import type { FileHeader } from './columns.ts';
import { type RowError, recordErrors } from './errors.ts';
import { isOfOtherRecord } from './further-lines.ts';
import { type ImportRow, KEEPS_FILE, petsPlanned } from './import.ts';
import { afterAnimals } from './photos/sources.ts';
import { type PhotoCell, photoErrors, planPhotos } from './photos/want.ts';
import { categoryRulesFor, createdCategories, recordPlanned } from './planned-categories.ts';
import { type FileRow, type Identifier, type ImportRecord, readRow } from './rows.ts';
import type { ImportChange, RunPart } from './steps.ts';
import { warnOfValues } from './value-warnings.ts';

/** A chunk that was applied. */
interface AppliedChunk extends Pick<Chunk, 'counts' | 'errors'> {
  readonly rows: number;
  readonly bytes: number;
  /** The categories that a dry run would have created. */
  readonly categories: readonly number[];
}

/** Applies a chunk of rows of an import. A row that fails changes nothing. */
export async function applyChunk(chunk: Chunk, run: RunPart): Promise<AppliedChunk> {
  const { tx, row, counts, errors } = chunk;
  const { rows = '' } = (await tx.first(chunkOf, { id: row.id, number: row.next_chunk })) ?? {};
  const records: ImportRecord[] = JSON.parse(rows || '[]');
  for (const [index, record] of records.entries()) {
    const outcome = await run(index, () => applyRow(chunk, record));
    if (typeof outcome === 'string') counts[outcome]++;
    else {
      counts.failed++;
      const found = outcome instanceof Problem ? errorsOf(chunk, outcome) : outcome;
      for (const error of found) chunk.report('error', record[0], error);
    }
  }
  const categories = await createdCategories(chunk);
  return { rows: records.length, bytes: Buffer.byteLength(rows), counts, errors, categories };
}

/** Records the results of a chunk, and deletes it. */
export async function recordChunk(tx: Transaction, row: ImportRow, chunk: AppliedChunk): Promise<ImportChange> {
  const { rows, bytes, counts, errors, categories } = chunk;
  await recordErrors(tx, row.id, errors);
  await recordPlanned(tx, row.id, categories);
  if (row.dry_run !== KEEPS_FILE) {
    await tx.run(deleteChunk, { id: row.id, number: row.next_chunk });
    countDeleted(tx, [{ accountId: row.account_id, bytes }]);
  }
  return {
    next_chunk: row.next_chunk + 1,
    rows_read: row.rows_read + rows,
    created: row.created + counts.created,
    updated: row.updated + counts.updated,
    unchanged: row.unchanged + counts.unchanged,
    failed: row.failed + counts.failed,
    warnings: row.warnings + counts.warnings,
    photos_wanted: row.photos_wanted + counts.photos_wanted,
    photos_failed: row.photos_failed + counts.photos_failed,
  };
}

/** Ends an import after its last row, or makes it delete the animals that the file lacks. */
export async function afterRows(tx: Transaction, row: ImportRow): Promise<ImportChange> {
  return row.mode === 'replace' ? { state: 'removing' } : afterAnimals(tx, row);
}

/** The result of a row. */
type RowOutcome = 'created' | 'updated' | 'unchanged' | readonly RowError[];

const newPets = new BodyReader(NewPet);
const petPatches = new BodyReader(PetPatch);

/**
 * Applies a row.
 * @throws {Problem} any error of creating or updating the pet
 */
async function applyRow(chunk: Chunk, [line, content, firstLine]: ImportRecord): Promise<RowOutcome> {
  const row = readRow(chunk.header, content);
  if (firstLine !== undefined) return isFurtherLine(row) ? 'unchanged' : [duplicate(firstLine)];
  if (row.error !== undefined) return [row.error];
  const { identifier } = row;
  const pet = identifier && (await find(chunk, identifier));
  const change = await changeOfRow(chunk, row, pet);
  const body = (pet === undefined ? newPets : petPatches).read(change.body, false);
  const errors = rowErrors('errors' in body ? body.errors : [], change);
  if (identifier === undefined) return [missingIdentifier, ...errors];
  if (pet === undefined && 'id' in identifier) return [notFound(identifier.id)];
  const photos = photosIn(row);
  if ('errors' in body || errors.length > 0) return [...errors, ...(await photoErrors(chunk, photos))];
  const after = await save(chunk, pet, change, body.value);
  await warnOfValues(chunk, line, after, change);
  const hasOtherPhotos = await planPhotos(chunk, line, after, photos);
  if (pet === undefined) return 'created';
  return after.version !== pet.version || hasOtherPhotos ? 'updated' : 'unchanged';
}

/** Returns the errors of a row that failed. */
function errorsOf({ header }: Chunk, { code, message, errors }: Problem): readonly RowError[] {
  if (!errors?.length) return [{ code, message }];
  return errors.map(error => ({ column: columnAt(header, error.path), code: error.code, message: error.message }));
}

/** Returns the name of the column of a body's member, by JSON Pointer. */
function columnAt({ names, columns }: FileHeader, path: string): string {
  const name = path.slice(1).replaceAll('/', '.');
  return names[columns.findIndex(column => column?.from === name)]?.trim() ?? name;
}

/** Returns the changes of a row. A value that equals the export of the stored pet is not a change. */
async function changeOfRow(chunk: Chunk, { cells, values }: FileRow, stored: PetRow | undefined): Promise<RowChange> {
  const { tx, row, header } = chunk;
  const pet = stored && exportedPet(header.preset, stored, tx.now);
  if (cells === undefined) return changeIn(values!, pet);
  const { currency, date_order: dates } = row;
  const categories = {
    categoryNamed: (name: string) => categoryNamed(tx, name),
    topCategories: async () => (await tx.all(topCategories, {})).map(({ name }) => name),
  };
  const rules = { pet, currency: currency ?? undefined, dates: dates ?? undefined, now: tx.now, ...categories };
  const species = stored === undefined ? '' : await chunk.speciesOf(stored.categoryId);
  return changeOf(cells, rules, { species, publicUrl: '' });
}

/** Returns the id of the category with this name. */
async function categoryNamed(tx: Transaction, name: string): Promise<number | undefined> {
  const slug = foldedText(name)
    .trim()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return (await tx.first(categoryWithSlug, { slug }))?.id;
}

/** Returns the pet of the account with this identifier. */
async function find(chunk: Chunk, identifier: Identifier): Promise<PetRow | undefined> {
  const { tx, row } = chunk;
  if ('id' in identifier) return petWithId(chunk, identifier.id);
  const { externalId, exact, name } = identifier;
  const [exactId] = exact === undefined ? [] : await petIdsOf(tx, row.account_id, exact);
  const [id] = exactId === undefined ? await petIdsOf(tx, row.account_id, externalId) : [exactId];
  if (id !== undefined) return getPet(tx, id, tx.now);
  if (name === undefined || !/^[1-9]\d{0,14}$/.test(externalId)) return undefined;
  // Another program may use the same number, so the name must match too.
  const pet = await petWithId(chunk, Number(externalId));
  return pet?.externalId === null && pet.name === name ? pet : undefined;
}

async function petWithId({ tx, row }: Chunk, id: number): Promise<PetRow | undefined> {
  const owner = await tx.first(ownerOf, { id });
  return owner?.accountId === row.account_id ? getPet(tx, id, tx.now) : undefined;
}

/** Creates the pet of a row, or updates it if the row has changes. */
async function save(chunk: Chunk, pet: PetRow | undefined, change: RowChange, body: unknown): Promise<PetRow> {
  const { tx, row, rules } = chunk;
  if (pet !== undefined && Object.keys(change.body).length === 0) return pet;
  const categories = await categoryRulesFor(chunk, (body as PetPatch).categoryId);
  if (pet !== undefined) {
    return updatePet(tx, { accountId: row.account_id, admin: false }, pet.id, body as PetPatch, categories);
  }
  const bounds = { petsMax: boundOf(rules.bounds, row, 'pets'), petsPlanned: petsPlanned(row) };
  return createPet(tx, row.account_id, body as NewPet, categories, bounds);
}

/** Returns the cells of the columns with photos. */
function photosIn({ cells: row }: FileRow): PhotoCell[] {
  if (row === undefined) return [];
  return row.columns.flatMap((column, index) =>
    column?.derived?.holds === 'photo'
      ? (row.cells[index] ?? '').split('\n').map(url => ({ column: row.names[index]!.trim(), url: url.trim() }))
      : [],
  );
}

/**
 * Reports whether a row has only the code and the name of an animal, as in asm3's rows for vaccinations and log
 * entries.
 */
function isFurtherLine({ cells, error }: FileRow): boolean {
  return error === undefined && cells !== undefined && isOfOtherRecord(cells);
}

const missingIdentifier: RowError = {
  column: 'externalId',
  code: 'required',
  message: `The row needs an identifier of 1 to ${EXTERNAL_ID_LENGTH_MAX} characters without control characters: your own, or the id of an animal.`,
};

function duplicate(line: number): RowError {
  return { code: 'duplicate_row', message: `Line ${line} has the same identifier.` };
}

function notFound(id: number): RowError {
  const message = `Your account has no animal ${id}. To add one, give it an externalId.`;
  return { column: 'id', code: 'pet_not_found', message, value: String(id) };
}

const chunkOf = query((db, p: Params<{ id: number; number: number }>) =>
  db.selectFrom('import_chunks').select('rows').where('import_id', '=', p.id).where('number', '=', p.number),
);

const deleteChunk = query((db, p: Params<{ id: number; number: number }>) =>
  db.deleteFrom('import_chunks').where('import_id', '=', p.id).where('number', '=', p.number),
);

const categoryWithSlug = query((db, p: Params<{ slug: string }>) =>
  db.selectFrom('categories').select('id').where('slug', '=', p.slug),
);

const topCategories = query(db =>
  db
    .selectFrom('categories')
    .select('name')
    .where('parent_id', 'is', null)
    .where('placeholder', '=', 0)
    .orderBy('id')
    .limit(SUGGESTED_FROM),
);
/** Names are not suggested if there are more categories. */
const SUGGESTED_FROM = 100;

const ownerOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select('account_id as accountId').where('id', '=', p.id),
);
