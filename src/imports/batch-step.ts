import type { Problem } from '../lib/http/problem.ts';
import type { Database, Transaction } from '../schema.ts';
import { type ImportRow, originOf } from './import.ts';
import { type Progress, runImportStep } from './steps.ts';

/** What failed in a batch, and why: rows by index, or animals by id. */
export type Failures = ReadonlyMap<number, Problem>;

/** Thrown by the work of a batch to roll it back because of one of its rows or animals. */
export class BatchFailed extends Error {
  readonly key: number;
  readonly problem: Problem;

  constructor(key: number, problem: Problem) {
    super(problem.message);
    this.key = key;
    this.problem = problem;
  }
}

/**
 * Runs a step of an import that does a batch of work and records what it did. A batch that fails is rolled back and done
 * again without what failed. The work of a dry run is rolled back, and then recorded.
 * @param work does the batch, without what is known to fail; may run several times
 * @returns 1; 0 if another process does the step
 */
export async function runBatchStep<Result>(
  database: Database,
  row: ImportRow,
  work: (tx: Transaction, row: ImportRow, failures: Failures) => Promise<Result>,
  record: (tx: Transaction, row: ImportRow, result: Result) => Promise<Partial<Progress>>,
): Promise<number> {
  const failures = new Map<number, Problem>();
  for (;;) {
    try {
      if (row.dry_run === 0) {
        return await runImportStep(database, row, async (tx, locked) =>
          record(tx, locked, await work(tx, locked, failures)),
        );
      }
      const result = await rolledBack(database, row, tx => work(tx, row, failures));
      return await runImportStep(database, row, (tx, locked) => record(tx, locked, result));
    } catch (error) {
      if (!(error instanceof BatchFailed)) throw error;
      failures.set(error.key, error.problem);
    }
  }
}

/** Does work in a transaction that is rolled back, and returns its result. */
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
