import { Problem } from '../lib/http/problem.ts';
import { countOwned } from '../pets/counts.ts';
import { deletePet } from '../pets/pets.ts';
import { type Database, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { BatchFailed, type Failures, runBatchStep } from './batch-step.ts';
import { type ImportError, type ImportRow, needConfirmation, petsPlanned } from './import.ts';
import { afterAnimals } from './photos/completion.ts';
import { recordErrors } from './record-errors.ts';
import { CHUNK_ROWS } from './records.ts';
import { type Progress, runImportStep } from './steps.ts';

/** The code of an import that would delete more than 20 % of the animals. */
export const TOO_MANY = 'too_many_removals';

/** The key of a row without an identifier. It can be of any animal, so none counts as missing from the file. */
export const UNCLEAR_KEY = '';

/** The pets that a step examines. */
const CHECKED = 1000;
const REMOVED = 50;

/** Counts the pets that an import would delete. After the last one, it refuses an import that would delete too many. */
export function checkRemovals(database: Database, row: ImportRow): Promise<number> {
  return runImportStep(database, row, async (tx, row) => {
    const page = await tx.all(petsAfter, {
      id: row.id,
      accountId: row.account_id,
      after: row.after_id,
      upTo: row.up_to_id,
      rows: CHECKED,
    });
    const existing = (row.existing ?? 0) + page.length;
    const removals = (row.removals ?? 0) + page.filter(({ named }) => named === 0).length;
    const counts = { existing, removals };
    if (page.length === CHECKED) return { ...counts, after_id: page.at(-1)!.id };
    const isRefused = needConfirmation(counts) && row.confirmed !== removals;
    if (!isRefused) return { ...counts, state: 'applying', after_id: 0 };
    const message = `The import would delete ${removals} of ${existing} animals. If that is right, send it again with confirmRemovals=${removals}.`;
    if (row.dry_run === 0) return { ...counts, state: 'failed', code: TOO_MANY, message, ended_at: tx.now };
    await recordErrors(tx, row.id, [{ level: 'warning', code: TOO_MANY, message }]);
    return { ...counts, state: 'applying', after_id: 0, warnings: row.warnings + 1 };
  });
}

/**
 * Reports whether an import needs the room of pets that the file lacks for its next rows. Then `removePets` comes first. Rows
 * come first otherwise, so that an import that ends early has deleted few pets without adding others.
 */
export async function needsRemovals(reader: Reader, row: ImportRow, petsMax: number): Promise<boolean> {
  if (row.mode !== 'replace' || row.next_chunk >= row.chunks || row.after_id >= row.up_to_id) return false;
  return (await countOwned(reader, row.account_id)) + petsPlanned(row) + CHUNK_ROWS > petsMax;
}

/** Deletes some of the pets that the file lacks, as `DELETE /v1/pets/{petId}` does; reserved ones stay and are errors. */
export function removePets(database: Database, row: ImportRow): Promise<number> {
  return runBatchStep(database, row, removeSome, record);
}

interface Removal {
  readonly lastId: number | undefined;
  readonly removed: number;
  readonly errors: readonly ImportError[];
}

async function removeSome(tx: Transaction, row: ImportRow, failures: Failures): Promise<Removal> {
  const page = await tx.all(petsAfter, {
    id: row.id,
    accountId: row.account_id,
    after: row.after_id,
    upTo: row.up_to_id,
    rows: REMOVED,
  });
  const actor = { accountId: row.account_id, admin: false };
  const errors: ImportError[] = [];
  let removed = 0;
  for (const { id, named } of page) {
    if (named === 1) continue;
    const failure = failures.get(id);
    if (failure !== undefined) {
      const { code, message } = failure;
      errors.push({ level: 'error', petId: id, code, message: `The animal ${id} was not deleted. ${message}` });
      continue;
    }
    try {
      await deletePet(tx, actor, id);
      removed++;
    } catch (error) {
      if (error instanceof Problem) throw new BatchFailed(id, error);
      throw error;
    }
  }
  return { lastId: page.at(-1)?.id, removed, errors };
}

async function record(
  tx: Transaction,
  row: ImportRow,
  { lastId, removed, errors }: Removal,
): Promise<Partial<Progress>> {
  if (lastId === undefined) return row.state === 'applying' ? { after_id: row.up_to_id } : afterAnimals(tx, row);
  await recordErrors(tx, row.id, errors);
  return { after_id: lastId, removed: row.removed + removed, failed: row.failed + errors.length };
}

type Page = { id: number; accountId: number; after: number; upTo: number; rows: number };

/** Pets of an account by id, and whether the file names each: by its `externalId`, or by its id. */
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
