import { setTimeout as pause } from 'node:timers/promises';
import { problem, problemOf } from '../errors.ts';
import { eventBytesOf } from '../events/bytes.ts';
import { isUpgraded } from '../facts.ts';
import { authoritiesOf } from '../keys/authority.ts';
import { batchJob } from '../lib/jobs/batch-job.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { StorageError } from '../lib/storage/database.ts';
import { boundOf } from '../plans/plan.ts';
import { type Database, type NextDue, type Params, query, sql } from '../schema.ts';
import { applyChunk } from './apply-chunk.ts';
import type { CategoryRules } from './apply-row.ts';
import { dependentOf, endings, handOverImports } from './authority.ts';
import { TOO_MANY_BYTES } from './budget.ts';
import { cleanUp } from './clean-up.ts';
import { HELD, type ImportRow } from './import.ts';
import { afterAnimals } from './photos/completion.ts';
import { checkRemovals, needsRemovals, removePets } from './removals.ts';
import { runImportStep } from './steps.ts';

/** What the job needs. */
export interface ImportDeps {
  readonly database: Database;
  readonly rules: CategoryRules;
  /** Production's database, which stores accounts and keys. */
  readonly accounts: Database;
  /** Reports whether this process serves requests at present; by default it does not. */
  isServing?: (() => boolean) | undefined;
  now(): number;
}

/**
 * Returns the job that applies imports: a chunk of rows per transaction, which also records the position, so that an
 * interrupted import continues without repeating anything. Imports take turns. Several processes can run it.
 */
export function importJob(deps: ImportDeps): JobType<never, 'imports'> {
  return batchJob('imports', () => runStep(deps));
}

/** Whether an import that was held may begin. */
const mayBegin = sql<boolean>`exists (select 1 from imports where due_at = ${sql.lit(HELD)}) and ${isUpgraded}`;

/** The time of the earliest step. */
export const nextImportStep: NextDue = db =>
  db
    .selectFrom('imports')
    .select(sql<number | null>`case when ${mayBegin} then 0 else min(due_at) end`.as('dueAt'))
    .where('due_at', '<', HELD);

/** The pause after a step while requests are served, so that their writes are not delayed. */
const PAUSE_MS = 2;

/** How long an import waits after the database failed, so that it does not keep others waiting, in milliseconds. */
const RETRY_MS = 60_000;

/** After this time, an import whose key is banned is examined again, because the ban may be lifted. */
const PAUSED_MS = 5000;

/** Does the next step of the import that waits for the longest time. Returns 0 if there is none, or another process does it. */
async function runStep(deps: ImportDeps): Promise<number> {
  const { database, now } = deps;
  const due = await database.first(nextDue, { now: now() });
  if (due === undefined) return 0;
  try {
    const steps = await stepOf(deps, due);
    if (deps.isServing?.()) await pause(PAUSE_MS);
    return steps;
  } catch (error) {
    const isFinal = due.ended_at === null && !(error instanceof StorageError);
    const outcome = isFinal
      ? fail(database, due, problemOf(error))
      : database.write(tx => tx.run(postpone, { id: due.id, dueAt: tx.now + RETRY_MS }));
    await outcome.catch(() => {});
    throw error;
  }
}

/** Ends an import. What it has done stays. */
function fail(
  database: Database,
  due: ImportRow,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<number> {
  return runImportStep(database, due, async tx => ({ state: 'failed', code, message, ended_at: tx.now }));
}

/**
 * Does the next step of an import that is due, or of one in progress whose file has arrived. If its key or account may no
 * longer act, it fails; while its key is banned, it is paused.
 * @returns 0 if another process does the step, or has done it
 */
export async function stepOf(deps: ImportDeps, due: ImportRow): Promise<number> {
  const { database, rules, accounts, now } = deps;
  if (due.ended_at === null) {
    const at = now();
    const dependent = dependentOf(due);
    const [authority] = await authoritiesOf(accounts, [dependent], at);
    const { ended, pausedUntil, keyId } = authority!;
    if (ended !== undefined) return fail(database, due, endings[ended]);
    if (pausedUntil > at && due.state !== 'receiving') return pauseUntil(database, due, pausedUntil);
    if (keyId !== dependent.keyId) await database.write(tx => handOverImports(tx, dependent, keyId!));
  }
  switch (due.state) {
    case 'checking':
      return checkRemovals(database, due);
    case 'applying':
      if (await isOverEventBytes(deps, due)) return fail(database, due, problem(TOO_MANY_BYTES, EVENTS_REACHED));
      return (await needsRemovals(database, due, boundOf(rules.bounds, due, 'pets')))
        ? removePets(database, due)
        : applyChunk(database, due, rules);
    case 'fetching':
      return runImportStep(database, due, afterAnimals);
    case 'removing':
      return removePets(database, due);
    default:
      return cleanUp(database, due);
  }
}

/** Reports whether events leave no room for the next rows: a charge is an estimate, and other requests record events, too. */
async function isOverEventBytes({ database, rules, now }: ImportDeps, row: ImportRow): Promise<boolean> {
  if (row.dry_run !== 0 || row.next_chunk >= row.chunks) return false;
  return (await eventBytesOf(database, row.account_id, now())) >= boundOf(rules.bounds, row, 'eventBytes');
}

const EVENTS_REACHED =
  'The events of the account have reached the bytes that its plan allows in 30 days. What the import has done stays.';

function pauseUntil(database: Database, due: ImportRow, until: number): Promise<number> {
  return runImportStep(database, due, async tx => ({
    paused_until: until,
    due_at: Math.min(until, tx.now + PAUSED_MS),
  }));
}

const postpone = query((db, p: Params<{ id: number; dueAt: number }>) =>
  db.updateTable('imports').set({ due_at: p.dueAt }).where('id', '=', p.id).where('due_at', 'is not', null),
);

const nextDue = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where(eb => eb.or([eb('due_at', '<=', p.now), eb.and([eb('due_at', '=', HELD), isUpgraded])]))
    .orderBy('due_at')
    .orderBy('id')
    .limit(1),
);
