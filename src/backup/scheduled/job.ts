import { randomBytes } from 'node:crypto';
import type { Config } from '../../config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../../lib/jobs/retry-schedule.ts';
import type { Log } from '../../lib/log.ts';
import { formatTime, HOUR_MS } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Database } from '../../schema.ts';
import type { Environment } from '../postgres-programs.ts';
import type { BackupReport, GoodBackup } from './make-backup.ts';
import { BackupProcesses } from './processes.ts';
import { lastDue, nextDue, type Schedule } from './schedule.ts';
import { type BackupState, readBackupState, updateBackupState } from './state.ts';

export interface ScheduledBackupDeps {
  readonly config: Pick<Config, 'locations'> & { readonly backups: BackupSettings };
  /** Production's database. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** For the client programs of PostgreSQL. */
  readonly environment: Environment;
}

/** The settings of scheduled backups, with the directory that turns them on. */
export type BackupSettings = Config['backups'] & { readonly directory: string };

/** A due backup. */
interface DueBackup {
  readonly storeId: string;
  readonly since: number;
}

/** What monitoring shows. */
export interface BackupStatus {
  readonly intervalMs: number;
  /** The latest good backup, as far as this process knows; absent if there is none. */
  readonly last: GoodBackup | undefined;
  /** How many attempts of this process have failed. */
  readonly failures: number;
}

/** How long a process that was killed keeps others from making the backup, and how often it tells them that it lives. */
const LEASE_MS = 20_000;
const LEASE_RENEWAL_MS = 6000;
/** How soon a process looks again whether another one has made the backup. */
const LEASED_RETRY_MS = 5000;
/** The waits after each failure; the last one repeats. None is longer than the interval. */
const RETRY_SCHEDULE_MS = [60_000, 5 * 60_000, 15 * 60_000, 30 * 60_000, HOUR_MS];

/**
 * The job that makes the scheduled backups of a store. Each process looks at the directory once after its start, and makes a
 * backup if one was due since the latest good one. At each further due time, one process makes a backup. A failure is logged
 * and retried, by any process.
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
  /** Whether this process has looked at the directory. */
  #checked = false;
  /** When this process looks for a due backup next; infinite while it makes one. */
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

  /** Ends the processes. Close the job loop before. */
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
      // SQLite serves one process: a lease left in the file belongs to a process that has ended.
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
      // Another process may have a better disk.
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

  /** Renews the lease. If that fails, another process may make a backup too. */
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
