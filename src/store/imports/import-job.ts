import { setTimeout as pause } from 'node:timers/promises';
import { authoritiesOf } from '../../access/keys/authority.ts';
import { batchJob } from '../../lib/jobs/batch-job.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { problem, problemOf } from '../../model/errors.ts';
import { isUpgraded } from '../../model/facts.ts';
import { eventBytesOf } from '../../model/log/bytes.ts';
import { boundOf } from '../../model/plan.ts';
import { EVENT_BYTES_DAYS } from '../../model/rules.ts';
import { type Database, type NextDue, type Params, query, sql } from '../../model/schema.ts';
import { afterRows, applyChunk, recordChunk } from './apply-chunk.ts';
import { dependentOf, endings, handOverImports } from './authority.ts';
import { TOO_MANY_BYTES } from './budget.ts';
import { Chunk, type ImportRules } from './chunk.ts';
import { cleanUp } from './clean-up.ts';
import { HELD, type ImportRow } from './import.ts';
import { afterAnimals } from './photos/sources.ts';
import { checkRemovals, needsRemovals, recordRemovals, removePets } from './removals.ts';
import { runBatchStep, runImportStep } from './steps.ts';

/** The options of the import job. */
export interface ImportDeps {
  readonly database: Database;
  readonly rules: ImportRules;
  /** Production's database, which stores accounts and keys. */
  readonly accounts: Database;
  /** Reports whether this process serves requests at present; by default it does not. */
  isServing?: (() => boolean) | undefined;
  now(): number;
}

/**
 * Returns the job that applies imports: a chunk of rows per transaction, which also records the position, so that an
 * interrupted import continues without repeating rows. Imports take turns. Several processes can run it.
 */
export function importJob(deps: ImportDeps): JobType<never, 'imports'> {
  return batchJob('imports', () => runStep(deps));
}

/** The condition that an import that waited for an upgrade may begin. */
const mayBegin = sql<boolean>`exists (select 1 from imports where due_at = ${sql.lit(HELD)}) and ${isUpgraded}`;

/** The time of the earliest step. */
export const nextImportStep: NextDue = db =>
  db
    .selectFrom('imports')
    .select(sql<number | null>`case when ${mayBegin} then 0 else min(due_at) end`.as('dueAt'))
    .where('due_at', '<', HELD);

/** The pause after a step while requests are served, so that their writes are not delayed. */
const PAUSE_MS = 2;

/** How long an import waits after the database failed, so that it does not delay others, in milliseconds. */
const RETRY_MS = 60_000;

/** After this time, an import whose key is banned is examined again, because the ban may be lifted. */
const PAUSED_MS = 5000;

/**
 * Runs the next step of the import that has waited the longest. Returns 0 if no step is due, or another process runs
 * it.
 */
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
    const { paused_until } = due;
    const outcome = isFinal
      ? fail(database, due, problemOf(error))
      : runImportStep(database, due, async tx => ({ due_at: tx.now + RETRY_MS, paused_until }));
    await outcome.catch(() => {});
    throw error;
  }
}

/** Ends an import. Completed changes stay. */
function fail(
  database: Database,
  due: ImportRow,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<number> {
  return runImportStep(database, due, async tx => ({ state: 'failed', code, message, ended_at: tx.now }));
}

/**
 * Runs the next step of an import that is due, or of an import whose file has arrived. If its key or account may no
 * longer act, the import fails; while its key is banned, the import is paused.
 * @returns 0 if another process runs or has run the step
 */
export async function stepOf(deps: ImportDeps, due: ImportRow): Promise<number> {
  const { database, accounts, now } = deps;
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
      return runImportStep(database, due, checkRemovals);
    case 'applying':
      return applyStep(deps, due);
    case 'fetching':
      return runImportStep(database, due, afterAnimals);
    case 'removing':
      return runBatchStep(database, due, removePets, recordRemovals);
    // It has ended, or its file stopped arriving.
    default:
      return runImportStep(database, due, cleanUp);
  }
}

async function applyStep(deps: ImportDeps, due: ImportRow): Promise<number> {
  const { database, rules } = deps;
  if (due.next_chunk >= due.chunks) return runImportStep(database, due, afterRows);
  if (await isOverEventBytes(deps, due)) return fail(database, due, problem(TOO_MANY_BYTES, EVENTS_REACHED));
  if (await needsRemovals(database, due, boundOf(rules.bounds, due, 'pets'))) {
    return runBatchStep(database, due, removePets, recordRemovals);
  }
  return runBatchStep(database, due, (tx, row, run) => applyChunk(new Chunk(tx, row, rules), run), recordChunk);
}

/**
 * Reports whether the bound of events is too small for the next rows: the charge is an estimate, and other requests
 * also record events.
 */
async function isOverEventBytes({ database, rules, now }: ImportDeps, row: ImportRow): Promise<boolean> {
  if (row.dry_run !== 0) return false;
  return (await eventBytesOf(database, row.account_id, now())) >= boundOf(rules.bounds, row, 'eventBytes');
}

const EVENTS_REACHED = `The events of the account have reached the bytes that its plan allows in ${EVENT_BYTES_DAYS} days. The changes of the import so far stay.`;

function pauseUntil(database: Database, due: ImportRow, until: number): Promise<number> {
  return runImportStep(database, due, async tx => ({
    paused_until: until,
    due_at: Math.min(until, tx.now + PAUSED_MS),
  }));
}

const nextDue = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where(eb => eb.or([eb('due_at', '<=', p.now), eb.and([eb('due_at', '=', HELD), isUpgraded])]))
    .orderBy('due_at')
    .orderBy('id')
    .limit(1),
);
