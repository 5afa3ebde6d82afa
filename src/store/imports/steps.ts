import type { UpdateObject } from 'kysely';
import { Problem } from '../../lib/http/problem.ts';
import { type Database, type Params, type Query, query, type Tables, type Transaction } from '../../model/schema.ts';
import { returnRows } from './budget.ts';
import { type ImportRow, KEEPS_FILE, originOf } from './import.ts';

/** The columns of an import that change after its file has begun to arrive. */
const changing = [
  ...(['state', 'origin', 'dry_run', 'confirmed', 'chunks', 'next_chunk', 'after_id', 'up_to_id'] as const),
  ...(['row_count', 'rows_read', 'created', 'updated', 'unchanged', 'failed', 'removed', 'warnings'] as const),
  ...(['photos_wanted', 'photos_fetched', 'photos_failed', 'removals', 'existing'] as const),
  ...(['charged_rows', 'charged_day', 'code', 'message'] as const),
  ...(['started_at', 'ended_at', 'due_at', 'paused_until'] as const),
];

type Changing = Pick<ImportRow, (typeof changing)[number]>;

/** A change of an import. */
export type ImportChange = Partial<Changing>;

/** How long the file of a dry run is kept, in milliseconds. */
export const FILE_KEPT_MS = 60 * 60_000;

/** Locks an import until the transaction ends, so that no step of it runs meanwhile. */
export async function lockImport(tx: Transaction, id: number): Promise<ImportRow | undefined> {
  const row = await tx.first(locked, { id });
  tx.refreshNow();
  return row;
}

/**
 * Saves the change of a locked import. Once its rows are applied, returns the charged rows that have changed nothing.
 * @returns the changed import
 */
export async function saveImport(tx: Transaction, row: ImportRow, change: ImportChange): Promise<ImportRow> {
  const after = await returnRows(tx, { ...row, ...change });
  await tx.run(save, after);
  return after;
}

/**
 * Runs a step of an import in a transaction with its locked row.
 * @param step returns the change of the import
 * @returns 1; 0 if another process runs or has run the step
 */
export function runImportStep(
  database: Database,
  seen: ImportRow,
  step: (tx: Transaction, row: ImportRow) => Promise<ImportChange>,
): Promise<number> {
  return database.write(async tx => {
    const row = await tx.first(lockedUnlessBusy, { id: seen.id });
    tx.refreshNow();
    if (row === undefined || !isSame(row, seen)) return 0;
    const change = await step(tx, row);
    const isKept = row.dry_run === KEEPS_FILE && change.state === 'completed';
    await saveImport(tx, row, { due_at: tx.now + (isKept ? FILE_KEPT_MS : 0), paused_until: null, ...change });
    return 1;
  }, originOf(seen));
}

/** Reports whether no step has run since an import was read. */
function isSame(row: ImportRow, seen: ImportRow): boolean {
  return (['dry_run', 'state', 'next_chunk', 'after_id'] as const).every(name => row[name] === seen[name]);
}

/**
 * Runs one part of a batch, such as a row.
 * @param key identifies the part in its batch
 * @returns the result of the part, or the problem that it threw; then it has changed nothing
 */
export type RunPart = <Result>(key: number, part: () => Promise<Result>) => Promise<Result | Problem>;

/** Thrown to roll back a batch because one of its parts has failed after a write. */
class PartFailed extends Error {
  readonly key: number;
  readonly problem: Problem;

  constructor(key: number, problem: Problem) {
    super(problem.message);
    this.key = key;
    this.problem = problem;
  }
}

/**
 * Runs a step of an import that processes a batch and records the results. If a part of the batch fails after a write,
 * the batch is rolled back and processed again without that part. The work of a dry run is rolled back, and its results
 * are recorded.
 * @param work processes the batch; may run several times
 * @returns 1; 0 if another process runs the step
 */
export async function runBatchStep<Result>(
  database: Database,
  row: ImportRow,
  work: (tx: Transaction, row: ImportRow, run: RunPart) => Promise<Result>,
  record: (tx: Transaction, row: ImportRow, result: Result) => Promise<ImportChange>,
): Promise<number> {
  const failures = new Map<number, Problem>();
  const workIn = (tx: Transaction, row: ImportRow) => {
    const { tx: watched, writes } = watchWrites(tx);
    return work(watched, row, async (key, part) => {
      const failure = failures.get(key);
      if (failure !== undefined) return failure;
      const before = writes();
      try {
        return await part();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (writes() !== before) throw new PartFailed(key, error);
        return error;
      }
    });
  };
  for (;;) {
    try {
      if (row.dry_run === 0) {
        return await runImportStep(database, row, async (tx, locked) => record(tx, locked, await workIn(tx, locked)));
      }
      const result = await rolledBack(database, row, tx => workIn(tx, row));
      return await runImportStep(database, row, (tx, locked) => record(tx, locked, result));
    } catch (error) {
      if (!(error instanceof PartFailed)) throw error;
      failures.set(error.key, error.problem);
    }
  }
}

/** Runs work in a transaction that is rolled back. Returns its result. */
async function rolledBack<Result>(
  database: Database,
  row: ImportRow,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const dryRun = new Error('a dry run');
  let result: { readonly of: Result } | undefined;
  try {
    await database.write(async tx => {
      result = { of: await work(tx) };
      throw dryRun;
    }, originOf(row));
  } catch (error) {
    if (error !== dryRun || result === undefined) throw error;
  }
  return result!.of;
}

/** Returns a transaction that counts its writes, including attempts: increments, and statements that change rows. */
function watchWrites(tx: Transaction): { readonly tx: Transaction; writes(): number } {
  let writes = 0;
  const note = <P, R>(query: Query<P, R>) => {
    if (query.compiledFor(tx.engine).changedTable !== undefined) writes++;
    return query;
  };
  return {
    writes: () => writes,
    tx: {
      engine: tx.engine,
      origin: tx.origin,
      get now() {
        return tx.now;
      },
      refreshNow: after => tx.refreshNow(after),
      requireVisibleBefore: (end, late) => tx.requireVisibleBefore(end, late),
      all: (query, params) => tx.all(note(query), params),
      first: (query, params) => tx.first(note(query), params),
      run: (query, params) => tx.run(note(query), params),
      queue: (query, params, check) => tx.queue(note(query), params, check),
      newId: tx.newId,
      insert: (query, params, id) => tx.insert(note(query), params, id),
      increment(counters, key, by) {
        writes++;
        tx.increment(counters, key, by);
      },
      incrementAndGet(counters, key, by) {
        writes++;
        return tx.incrementAndGet(counters, key, by);
      },
      notify(topic) {
        writes++;
        return tx.notify(topic);
      },
    },
  };
}

const selectLocked = (options: { readonly skipsLocked: boolean }) =>
  query((db, p: Params<{ id: number }>, engine) =>
    db
      .selectFrom('imports')
      .selectAll()
      .where('id', '=', p.id)
      .$if(engine === 'postgres', row => (options.skipsLocked ? row.forUpdate().skipLocked() : row.forUpdate())),
  );
const locked = selectLocked({ skipsLocked: false });
const lockedUnlessBusy = selectLocked({ skipsLocked: true });

const save = query((db, p: Params<Changing & { id: number }>) =>
  db
    .updateTable('imports')
    .set(Object.fromEntries(changing.map(name => [name, p[name]])) as UpdateObject<Tables, 'imports'>)
    .where('id', '=', p.id),
);
