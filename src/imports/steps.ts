import type { UpdateObject } from 'kysely';
import { type Database, type Params, query, type Tables, type Transaction } from '../schema.ts';
import { returnRows } from './budget.ts';
import { type ImportRow, KEEPS_FILE, originOf } from './import.ts';

/** What a step of an import changes of its row. */
export type Progress = Pick<
  ImportRow,
  | 'state'
  | 'next_chunk'
  | 'after_id'
  | 'rows_read'
  | 'created'
  | 'updated'
  | 'unchanged'
  | 'failed'
  | 'removed'
  | 'removals'
  | 'existing'
  | 'code'
  | 'message'
  | 'ended_at'
  | 'due_at'
  | 'warnings'
  | 'photos_wanted'
  | 'photos_failed'
  | 'paused_until'
>;

/** How long the file of a dry run is kept, in milliseconds. */
export const FILE_KEPT_MS = 60 * 60_000;

/**
 * Runs a step of an import in a transaction with its locked row.
 * @param step returns what it changes of the row
 * @returns 1; 0 if another process does the step, or has done it
 */
export function runImportStep(
  database: Database,
  seen: ImportRow,
  step: (tx: Transaction, row: ImportRow) => Promise<Partial<Progress>>,
): Promise<number> {
  return database.write(async tx => {
    const row = await tx.first(lockImport, { id: seen.id });
    tx.refreshNow();
    if (row === undefined || !isSame(row, seen)) return 0;
    const progress = await step(tx, row);
    const isKept = row.dry_run === KEEPS_FILE && progress.state === 'completed';
    const defaults = { due_at: tx.now + (isKept ? FILE_KEPT_MS : 0), paused_until: null };
    const after = { ...row, ...defaults, ...progress };
    await tx.run(saveProgress, after);
    await returnRows(tx, after);
    return 1;
  }, originOf(seen));
}

/** Reports whether no step has been done since an import was read. */
function isSame(row: ImportRow, seen: ImportRow): boolean {
  return (['dry_run', 'state', 'next_chunk', 'after_id'] as const).every(name => row[name] === seen[name]);
}

const lockImport = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('id', '=', p.id)
    .$if(engine === 'postgres', row => row.forUpdate().skipLocked()),
);

const saveProgress = query((db, p: Params<Progress & { id: number }>) =>
  db
    .updateTable('imports')
    .set({
      ...{ state: p.state, next_chunk: p.next_chunk, after_id: p.after_id, rows_read: p.rows_read },
      ...{ created: p.created, updated: p.updated, unchanged: p.unchanged, failed: p.failed, removed: p.removed },
      ...{ warnings: p.warnings, removals: p.removals, existing: p.existing, code: p.code, message: p.message },
      ...{ photos_wanted: p.photos_wanted, photos_failed: p.photos_failed, ended_at: p.ended_at, due_at: p.due_at },
      paused_until: p.paused_until,
    } as UpdateObject<Tables, 'imports'>)
    .where('id', '=', p.id),
);
