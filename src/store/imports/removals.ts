import { Problem } from '../../lib/http/problem.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import { countOwned } from '../pets/counts.ts';
import { deletePet } from '../pets/pets.ts';
import { CHUNK_ROWS } from './chunk.ts';
import { type ImportError, recordErrors } from './errors.ts';
import { type ImportRow, needConfirmation, petsPlanned } from './import.ts';
import { afterAnimals } from './photos/sources.ts';
import type { ImportChange, RunPart } from './steps.ts';

/** The code of an import that would delete more than 20 % of the animals. */
export const TOO_MANY = 'too_many_removals';

/**
 * The key of a row without an identifier. It may belong to any animal, so no animal counts as missing from the file.
 */
export const UNCLEAR_KEY = '';

/** The number of pets that a step examines. */
const CHECKED = 1000;
const REMOVED = 50;

/**
 * Counts the next pets that an import would delete. After the last pet, rejects an import that would delete too many.
 */
export async function checkRemovals(tx: Transaction, row: ImportRow): Promise<ImportChange> {
  const page = await nextPets(tx, row, CHECKED);
  const existing = (row.existing ?? 0) + page.length;
  const removals = (row.removals ?? 0) + page.filter(({ named }) => named === 0).length;
  const counts = { existing, removals };
  if (page.length === CHECKED) return { ...counts, after_id: page.at(-1)!.id };
  const isRefused = needConfirmation(counts) && row.confirmed !== removals;
  if (!isRefused) return { ...counts, state: 'applying', after_id: 0 };
  const message = `The import would delete ${removals} of ${existing} animals. If that is right, send the file again with confirmRemovals=${removals}.`;
  if (row.dry_run === 0) return { ...counts, state: 'failed', code: TOO_MANY, message, ended_at: tx.now };
  await recordErrors(tx, row.id, [{ level: 'warning', code: TOO_MANY, message }]);
  return { ...counts, state: 'applying', after_id: 0, warnings: row.warnings + 1 };
}

/**
 * Reports whether the next rows exceed the bound of pets unless pets that the file lacks are deleted. Then `removePets`
 * runs first. Otherwise rows are applied first, so that an import that ends early has deleted few pets without adding
 * others.
 */
export async function needsRemovals(reader: Reader, row: ImportRow, petsMax: number): Promise<boolean> {
  if (row.mode !== 'replace' || row.after_id >= row.up_to_id) return false;
  return (await countOwned(reader, row.account_id)) + petsPlanned(row) + CHUNK_ROWS > petsMax;
}

/** The pets that a step has deleted, or could not delete. */
interface Removals {
  readonly lastId: number | undefined;
  readonly removed: number;
  readonly errors: readonly ImportError[];
}

/** Deletes some of the pets that the file lacks, like `DELETE /v1/pets/{petId}`. Reserved pets stay and are errors. */
export async function removePets(tx: Transaction, row: ImportRow, run: RunPart): Promise<Removals> {
  const page = await nextPets(tx, row, REMOVED);
  const actor = { accountId: row.account_id, admin: false };
  const errors: ImportError[] = [];
  let removed = 0;
  for (const { id, named } of page) {
    if (named === 1) continue;
    const result = await run(id, () => deletePet(tx, actor, id));
    if (result instanceof Problem) errors.push(notDeleted(id, result));
    else removed++;
  }
  return { lastId: page.at(-1)?.id, removed, errors };
}

/** Records the results of `removePets`. After the last pet, ends the deletions. */
export async function recordRemovals(tx: Transaction, row: ImportRow, removals: Removals): Promise<ImportChange> {
  const { lastId, removed, errors } = removals;
  if (lastId === undefined) return row.state === 'applying' ? { after_id: row.up_to_id } : afterAnimals(tx, row);
  await recordErrors(tx, row.id, errors);
  return { after_id: lastId, removed: row.removed + removed, failed: row.failed + errors.length };
}

function notDeleted(petId: number, { code, message }: Problem): ImportError {
  return { level: 'error', petId, code, message: `The animal ${petId} was not deleted. ${message}` };
}

/** Returns the next pets that an import examines. */
function nextPets(tx: Transaction, row: ImportRow, rows: number) {
  const { id, account_id: accountId, after_id: after, up_to_id: upTo } = row;
  return tx.all(petsAfter, { id, accountId, after, upTo, rows });
}

type Page = { id: number; accountId: number; after: number; upTo: number; rows: number };

/** Pets of an account by id, and whether the file names each of them by its `externalId` or its id. */
const petsAfter = query((db, p: Params<Page>) =>
  db
    .selectFrom('pets')
    .select([
      'pets.id',
      sql<number>`case when exists (
        select 1 from import_keys where import_id = ${p.id} and key in (${sql.lit(UNCLEAR_KEY)}, 'i' || cast(pets.id as text))
      ) or exists (
        select 1 from import_keys where import_id = ${p.id} and key = 'e' || coalesce(pets.external_id, cast(pets.id as text))
      ) then 1 else 0 end`.as('named'),
    ])
    .where('account_id', '=', p.accountId)
    .where('pets.id', '>', p.after)
    .where('pets.id', '<=', p.upTo)
    .orderBy('pets.id')
    .limit(p.rows),
);
