import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';
import type { JobType } from '../../../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../../../lib/jobs/retry-schedule.ts';
import type { Log } from '../../../lib/log.ts';
import { formatTime, HOUR_MS } from '../../../lib/time.ts';
import { UserError } from '../../../lib/user-error.ts';
import type { Config } from '../../../model/config.ts';
import { factNamed, insertFact, lockedFact, storeFact } from '../../../model/facts.ts';
import type { Database, Transaction } from '../../../model/schema.ts';
import type { Environment } from '../postgres-programs.ts';
import type { BackupReport, GoodBackup } from './make-backup.ts';
import { BackupProcesses } from './processes.ts';

interface ScheduledBackupDeps {
  readonly config: Pick<Config, 'locations'> & { readonly backups: BackupSettings };
  /** Production's database. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** For the client programs of PostgreSQL. */
  readonly environment: Environment;
}

/** The settings of scheduled backups, with the directory that enables them. */
export type BackupSettings = Config['backups'] & { readonly directory: string };

/** A due backup. */
interface DueBackup {
  readonly storeId: string;
  readonly since: number;
}

/** The status of backups in the metrics. */
export interface BackupStatus {
  readonly intervalMs: number;
  /** The latest good backup that this process knows; absent if there is none. */
  readonly last: GoodBackup | undefined;
  /** The number of failed attempts of this process. */
  readonly failures: number;
}

/** How long a killed process keeps others from making the backup, and how often a live one renews its lease. */
const LEASE_MS = 20_000;
const LEASE_RENEWAL_MS = 6000;
/** The pause until a process checks again whether another process has made the backup. */
const LEASED_RETRY_MS = 5000;
/** The pauses after consecutive failures; the last one repeats. None is longer than the backup interval. */
const RETRY_SCHEDULE_MS = [60_000, 5 * 60_000, 15 * 60_000, 30 * 60_000, HOUR_MS];

/**
 * The job that makes the scheduled backups of a store. Each process checks the directory once after its start, and
 * makes a backup if one has been due since the latest good backup. At each further due time, one process makes a
 * backup. A failure is logged and retried, by any process.
 */
export class ScheduledBackups {
  readonly #deps: ScheduledBackupDeps;
  readonly #schedule: Schedule;
  readonly #processes = new BackupProcesses();
  /** Identifies this process as the holder of a lease. */
  readonly #id = randomBytes(9).toString('base64url');
  #state: BackupState;
  #failures = 0;
  #failuresInSeries = 0;
  /** Whether this process has checked the directory. */
  #checked = false;
  /** When this process next checks for a due backup; infinite while it makes one. */
  #dueAt = 0;

  private constructor(deps: ScheduledBackupDeps, state: BackupState) {
    this.#deps = deps;
    this.#schedule = deps.config.backups;
    this.#state = state;
  }

  static async open(deps: ScheduledBackupDeps): Promise<ScheduledBackups> {
    return new ScheduledBackups(deps, await readBackupState(deps.database));
  }

  status(): BackupStatus {
    return { intervalMs: this.#schedule.intervalMs, last: this.#state.last, failures: this.#failures };
  }

  /** Ends the processes. Close the job loop first. */
  close(): void {
    this.#processes.close();
  }

  dueAt(): number {
    return this.#dueAt;
  }

  readonly type: JobType<DueBackup, 'backups'> = {
    name: 'backups',
    concurrency: 1,
    init: async () => {
      // On SQLite only one process serves a file, so a lease in the database belongs to a process that has ended.
      if (this.#deps.database.engine === 'sqlite') await this.#update(({ lease: _, ...state }) => state);
    },
    claim: async () => {
      const job = await this.#claim();
      return job === undefined ? { rows: 0, jobs: [] } : { rows: 1, jobs: [job] };
    },
    run: (job, stopping) => this.#run(job, stopping),
  };

  async #claim(): Promise<DueBackup | undefined> {
    const now = this.#deps.clock.now();
    if (now < this.#dueAt) return undefined;
    const since = lastDue(this.#schedule, now);
    let claimed = false;
    const isMade = ({ last }: BackupState) => this.#checked && last !== undefined && last.startedAt >= since;
    const state = await this.#update((state, txNow) => {
      claimed = !isMade(state) && (state.lease === undefined || state.lease.until <= txNow);
      return claimed ? { ...state, lease: { holder: this.#id, until: txNow + LEASE_MS } } : state;
    });
    if (!claimed) {
      this.#dueAt = isMade(state) ? nextDue(this.#schedule, now) : now + LEASED_RETRY_MS;
      return undefined;
    }
    this.#dueAt = Number.POSITIVE_INFINITY;
    return { storeId: state.storeId, since };
  }

  async #run({ storeId, since }: DueBackup, stopping: AbortSignal): Promise<void> {
    const { config, clock, environment, log } = this.#deps;
    const { directory, keep } = config.backups;
    const renewal = setInterval(() => void this.#renewLease(), LEASE_RENEWAL_MS).unref();
    try {
      const request = { locations: config.locations, environment, directory, keep, storeId, since, now: clock.now() };
      const report = await this.#processes.run(request, stopping);
      clearInterval(renewal);
      await this.#update(state => ({ ...this.#withoutLease(state), last: report.last }));
      this.#checked = true;
      this.#failuresInSeries = 0;
      this.#dueAt = nextDue(this.#schedule, report.last.startedAt);
      logReport(log, directory, report);
    } catch (error) {
      clearInterval(renewal);
      // Release the lease: another process may have a working disk.
      await this.#update(state => this.#withoutLease(state)).catch(() => undefined);
      if (!stopping.aborted) this.#retry(error);
    }
  }

  #retry(error: unknown): void {
    const { clock, log } = this.#deps;
    this.#failures++;
    this.#failuresInSeries++;
    const failures = Math.min(this.#failuresInSeries, RETRY_SCHEDULE_MS.length);
    const waitMs = Math.min(scheduledDelay(RETRY_SCHEDULE_MS, failures)!, this.#schedule.intervalMs);
    this.#dueAt = clock.now() + waitMs;
    const why = error instanceof UserError ? { reason: error.message } : { err: error };
    log.error({ ...why, retryAt: formatTime(Math.floor(this.#dueAt)) }, FAILED);
  }

  /** Renews the lease. If that fails, another process may also make a backup. */
  async #renewLease(): Promise<void> {
    await this.#update((state, now) =>
      state.lease?.holder === this.#id ? { ...state, lease: { holder: this.#id, until: now + LEASE_MS } } : state,
    ).catch(() => undefined);
  }

  #withoutLease(state: BackupState): BackupState {
    const { lease, ...others } = state;
    return lease?.holder === this.#id ? others : state;
  }

  async #update(change: (state: BackupState, now: number) => BackupState): Promise<BackupState> {
    this.#state = await updateBackupState(this.#deps.database, change);
    return this.#state;
  }
}

const FAILED = 'A scheduled backup failed and will be retried. The latest good backup was kept.';

function logReport(log: Log, directory: string, { last, made, deleted, problem }: BackupReport): void {
  if (made) {
    const { name, durationMs, bytes } = last;
    log.info({ directory, backup: name, durationMs, bytes, deleted }, 'A scheduled backup was made.');
  }
  if (problem !== undefined) log.warn({ directory, reason: problem }, 'An old backup was not deleted.');
}

/** When backups are due: at a time of day in UTC, and at multiples of the interval from it. Both in milliseconds. */
type Schedule = Pick<Config['backups'], 'intervalMs' | 'timeMs'>;

/**
 * Returns the last due time that is not after `now`. All times are milliseconds since the Unix epoch, a midnight in
 * UTC.
 */
export function lastDue({ intervalMs, timeMs }: Schedule, now: number): number {
  return Math.floor((now - timeMs) / intervalMs) * intervalMs + timeMs;
}

/** Returns the first due time after `now`. */
export function nextDue(schedule: Schedule, now: number): number {
  return lastDue(schedule, now) + schedule.intervalMs;
}

/** The state of scheduled backups that all nodes of a store share. It is stored in production's database. */
interface BackupState {
  /** A random id, in the names of the backups. */
  readonly storeId: string;
  /**
   * The process that makes a backup, and the time until which no other process makes one, in milliseconds since the
   * Unix epoch.
   */
  readonly lease?: { readonly holder: string; readonly until: number };
  /** The latest good backup; absent if there is none. */
  readonly last?: GoodBackup;
}

const FACT = 'scheduled-backups';

/** Returns the state; initially it has no backup. */
export async function readBackupState(database: Database): Promise<BackupState> {
  const known = await database.first(factNamed, { name: FACT });
  return known === undefined ? updateBackupState(database, state => state) : JSON.parse(known.value);
}

/** Replaces the state by the result of `change`, which may run more than once. Returns the new state. */
export function updateBackupState(
  database: Database,
  change: (state: BackupState, now: number) => BackupState,
): Promise<BackupState> {
  return database.write(async (tx: Transaction) => {
    const storeId = randomBytes(4).toString('hex');
    await tx.run(insertFact, { name: FACT, value: JSON.stringify({ storeId } satisfies BackupState) });
    const state = JSON.parse((await tx.first(lockedFact, { name: FACT }))!.value) as BackupState;
    const changed = change(state, tx.now);
    if (changed !== state) await tx.run(storeFact, { name: FACT, value: JSON.stringify(changed) });
    return changed;
  });
}
