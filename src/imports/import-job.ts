import { batchJob } from '../lib/jobs/batch-job.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { type Database, type NextDue, type Params, query, sql } from '../schema.ts';
import { applyChunk } from './apply-chunk.ts';
import type { CategoryRules } from './apply-row.ts';
import { cleanUp } from './clean-up.ts';
import { checkRemovals, removePets } from './removals.ts';

/** What the job needs. */
export interface ImportDeps {
  readonly database: Database;
  readonly rules: CategoryRules;
  now(): number;
}

/**
 * Returns the job that applies imports: a chunk of rows per transaction, which also records the position, so that an
 * interrupted import continues without repeating anything. Imports take turns. Several processes can run it.
 */
export function importJob(deps: ImportDeps): JobType<never, 'imports'> {
  return batchJob('imports', () => runStep(deps), PAUSE_MS);
}

/** The time of the earliest step. */
export const nextImportStep: NextDue = db =>
  db.selectFrom('imports').select(sql<number | null>`min(due_at)`.as('dueAt')).where('due_at', 'is not', null);

/** The pause between steps, so that other writes are not delayed. */
const PAUSE_MS = 2;

/** Does the next step of the import that waits for the longest time. Returns 0 if there is none, or another process does it. */
async function runStep({ database, rules, now }: ImportDeps): Promise<number> {
  const due = await database.first(nextDue, { now: now() });
  if (due === undefined) return 0;
  switch (due.state) {
    case 'checking':
      return checkRemovals(database, due);
    case 'applying':
      return applyChunk(database, due, rules);
    case 'removing':
      return removePets(database, due);
    default:
      return cleanUp(database, due);
  }
}

const nextDue = query((db, p: Params<{ now: number }>) =>
  db.selectFrom('imports').selectAll().where('due_at', '<=', p.now).orderBy('due_at').orderBy('id').limit(1),
);
