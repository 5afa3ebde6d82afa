import { Problem } from '../lib/http/problem.ts';
import { countDeleted } from '../plans/stored-bytes.ts';
import { type Database, type Params, query, type Transaction } from '../schema.ts';
import { type CategoryRules, RowApplier, type RowOutcome } from './apply-row.ts';
import { BatchFailed, type Failures, runBatchStep } from './batch-step.ts';
import { type ImportError, type ImportRow, KEEPS_FILE } from './import.ts';
import { afterAnimals } from './photos/completion.ts';
import type { WantedPhotos } from './photos/want.ts';
import { recordPlanned } from './planned-categories.ts';
import { recordErrors } from './record-errors.ts';
import type { ImportRecord } from './records.ts';
import { type Progress, runImportStep } from './steps.ts';
import { type WatchedTransaction, watchWrites } from './watch-writes.ts';

/**
 * Applies the next chunk of rows of an import, and ends it after the last one. A row that fails changes nothing: if it has
 * written already, the chunk is rolled back, and applied again without the row.
 * @returns 1; 0 if another process does the step
 */
export async function applyChunk(database: Database, row: ImportRow, rules: CategoryRules): Promise<number> {
  if (row.next_chunk >= row.chunks) return runImportStep(database, row, tx => afterRows(tx, row));
  const work = (tx: Transaction, seen: ImportRow, failures: Failures) => applyRows(tx, seen, rules, failures);
  return runBatchStep(database, row, work, record);
}

/** What the rows of a chunk did. */
interface ChunkResult {
  readonly rows: number;
  readonly bytes: number;
  readonly counts: Pick<ImportRow, 'created' | 'updated' | 'unchanged' | 'failed'>;
  readonly errors: readonly ImportError[];
  readonly warnings: readonly ImportError[];
  readonly photos: WantedPhotos;
  /** The categories that a dry run would have created. */
  readonly categories: readonly number[];
}

/** @param failures the rows that are known to fail, by index */
async function applyRows(
  tx: Transaction,
  row: ImportRow,
  rules: CategoryRules,
  failures: Failures,
): Promise<ChunkResult> {
  const chunk = await tx.first(chunkOf, { id: row.id, number: row.next_chunk });
  const records: ImportRecord[] = JSON.parse(chunk?.rows ?? '[]');
  const watched = watchWrites(tx);
  const applier = new RowApplier(watched.tx, row, rules);
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const errors: ImportError[] = [];
  for (const [index, record] of records.entries()) {
    const failure = failures.get(index);
    const outcome = failure === undefined ? await applyRow(applier, record, index, watched) : applier.errorsOf(failure);
    if (typeof outcome === 'string') counts[outcome]++;
    else {
      counts.failed++;
      errors.push(...outcome.map(error => ({ level: 'error', line: record[0], ...error }) as const));
    }
  }
  const { photos, warnings } = applier;
  const bytes = Buffer.byteLength(chunk?.rows ?? '');
  const categories = await applier.newCategories();
  return { rows: records.length, bytes, counts, errors, warnings, photos, categories };
}

/** Applies a row. One that fails after it has written is thrown, so that the chunk is rolled back. */
async function applyRow(
  applier: RowApplier,
  record: ImportRecord,
  index: number,
  { writes }: WatchedTransaction,
): Promise<RowOutcome> {
  const before = writes();
  try {
    return await applier.apply(record);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (writes() !== before) throw new BatchFailed(index, error);
    return applier.errorsOf(error);
  }
}

async function record(tx: Transaction, row: ImportRow, result: ChunkResult): Promise<Partial<Progress>> {
  const { rows, bytes, counts, warnings, photos, categories } = result;
  const errors = [
    ...result.errors,
    ...warnings,
    ...photos.errors.map(error => ({ level: 'error', ...error }) as const),
  ];
  await recordErrors(
    tx,
    row.id,
    errors.sort((one, other) => one.line! - other.line!),
  );
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
    warnings: row.warnings + warnings.length,
    photos_wanted: row.photos_wanted + photos.wanted,
    photos_failed: row.photos_failed + photos.errors.length,
  };
}

async function afterRows(tx: Transaction, row: ImportRow): Promise<Partial<Progress>> {
  return row.mode === 'replace' ? { state: 'removing' } : afterAnimals(tx, row);
}

const chunkOf = query((db, p: Params<{ id: number; number: number }>) =>
  db.selectFrom('import_chunks').select('rows').where('import_id', '=', p.id).where('number', '=', p.number),
);

const deleteChunk = query((db, p: Params<{ id: number; number: number }>) =>
  db.deleteFrom('import_chunks').where('import_id', '=', p.id).where('number', '=', p.number),
);
