import type { Clock } from '../../clock.ts';
import { type Health, type MaybePromise, StorageError, type Transaction } from '../database.ts';
import { VisibilityDeadlines } from '../deadlines.ts';
import type { SqliteConnection } from './connection.ts';
import { diskFullError, isBusy, isDiskFull, isFailedFlush, lockedError } from './errors.ts';
import { FlushQueue, type FlushQueueDeps, type Job, rejectAll } from './flush-queue.ts';
import { ChangeSet, runWork, TurnGuard, writeIncrements } from './transaction.ts';

export interface GroupCommitDeps extends Pick<FlushQueueDeps, 'flush' | 'snapshots'> {
  /** Must not wait for locks. Group commit turns its `synchronous` off and flushes itself. */
  readonly writer: SqliteConnection;
  readonly clock: Clock;
}

/**
 * Whether the WAL accepts a group: `now`; `wait` for a call of `schedule`; `locked` while another process holds the write
 * lock; `full` when the WAL cannot be truncated.
 */
export type WalCapacity = 'now' | 'wait' | 'locked' | 'full';

/** What group commit calls. */
export interface GroupCommitHooks extends Pick<FlushQueueDeps, 'onVisible' | 'onFlushFailed'> {
  walCapacity(): WalCapacity;
  /** The write lock is held and nothing is written yet. */
  onLocked(): void;
  /** SQLite rolled a group back after an error. */
  onGroupLost(): void;
}

/** How long a write waits for the write lock and for the disk before its caller gets an error. */
const LOCK_TIMEOUT_MS = 5000;
const DISK_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 250;
const LOCK_RETRY_MS = 3;
/** How long a flush takes before the disk counts as stalled. */
const STALLED_MS = 1000;
/** How long one group may block the event loop. */
const GROUP_MS = 5;
/** How long `health` reports a full disk or a held lock after the last occurrence. */
const HEALTH_MS = 5000;
/** How long units of work get savepoints after one of a group failed halfway. */
const SAVEPOINTS_MS = 1000;

/**
 * Group commit: commits the writes of one process together without a flush, then flushes off the event loop.
 *
 * The writes that are queued at the end of a turn of the event loop become one transaction. A flush resolves all writes
 * committed before it started; later ones wait for the next flush.
 */
export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  readonly #hooks: GroupCommitHooks;
  /** A change is visible once the flush that covers it completes. */
  readonly deadlines: VisibilityDeadlines;
  readonly #flushes: FlushQueue;
  #queue: Job[] = [];
  #scheduled = false;
  #running = false;
  #savepointsUntilMs = Number.NEGATIVE_INFINITY;
  /** The error of every write after `end`. */
  #ended: StorageError | undefined;

  /** When `hold` was called, if it is in force. */
  #heldSinceMs: number | undefined;
  readonly #waiters: { until(): boolean; resolve(): void }[] = [];
  #timeoutCheck: NodeJS.Timeout | undefined;
  #lastFullMs = Number.NEGATIVE_INFINITY;
  #lastLockedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: GroupCommitDeps, hooks: GroupCommitHooks) {
    this.#deps = deps;
    this.#hooks = hooks;
    this.deadlines = new VisibilityDeadlines(deps.clock, 0);
    this.#flushes = new FlushQueue({
      ...deps,
      ...hooks,
      onFlushed: () => {
        this.schedule();
        this.#wake();
      },
    });
    deps.writer.synchronous('off');
  }

  /** See `Database.write`. */
  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended;
      this.#queue.push({ work, sinceMs: performance.now(), resolve: resolve as Job['resolve'], reject });
      this.schedule();
      this.#timeoutCheck ??= setTimeout(this.#rejectOverdue, TIMEOUT_CHECK_MS);
    });
  }

  /** Schedules the next group. Call it when a condition that the queue waits for has changed. */
  schedule(): void {
    if (this.#scheduled || this.#running || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(this.#startGroup);
  }

  health(): Health['writes'] {
    const now = performance.now();
    if (this.#isStalled(now)) return 'stalled';
    if (now - this.#lastFullMs < HEALTH_MS) return 'full';
    return now - this.#lastLockedMs < HEALTH_MS ? 'unavailable' : 'ok';
  }

  /** Whether everything committed here is flushed. */
  get flushedAll(): boolean {
    return !this.#running && this.#flushes.flushedAll;
  }

  /** Holds new groups back. Resolves once everything committed is flushed, or after `end`. */
  hold(): Promise<void> {
    this.#heldSinceMs = performance.now();
    return this.#waitUntil(() => this.flushedAll);
  }

  /** Ends `hold`. */
  release(): void {
    this.#heldSinceMs = undefined;
    this.schedule();
    this.#wake();
  }

  /** Resolves once no write is pending, or after `end`. */
  idle(): Promise<void> {
    return this.#waitUntil(() => this.#queue.length === 0 && this.flushedAll && this.#heldSinceMs === undefined);
  }

  /** Rejects all pending and all later writes. */
  end(error: StorageError): void {
    this.#ended = error;
    clearTimeout(this.#timeoutCheck);
    rejectAll(this.#takeQueue(), error);
    this.#flushes.end(error);
    this.#wake();
  }

  readonly #startGroup = () => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || this.#ended !== undefined) return;
    // `release` and a completed flush call `schedule` again.
    if (this.#heldSinceMs !== undefined || this.#isStalled(performance.now())) return;
    const capacity = this.#hooks.walCapacity();
    if (capacity === 'wait') return;
    if (capacity === 'locked') return this.#retryWhenUnlocked();
    if (capacity === 'full') {
      const message = 'The write-ahead log cannot be truncated; nothing was changed.';
      return this.#rejectGroup(this.#takeQueue(), new StorageError('full', message));
    }
    try {
      this.#deps.writer.beginWrite();
    } catch (error) {
      if (isBusy(error)) return this.#retryWhenUnlocked();
      return this.#rejectGroup(this.#takeQueue(), error);
    }
    this.#running = true;
    this.#commitGroup()
      .catch(error => this.#hooks.onFlushFailed(error))
      .finally(() => {
        this.#running = false;
        this.schedule();
        this.#wake();
      });
  };

  /** Commits the queued jobs, or as many as fit into GROUP_MS, in one transaction. */
  async #commitGroup(): Promise<void> {
    const { writer } = this.#deps;
    const queue = this.#takeQueue();
    const done: Job[] = [];
    let changes: ChangeSet;
    try {
      this.#hooks.onLocked();
      changes = await this.#runJobs(queue, done);
      if (writer.inTransaction) writer.commit();
    } catch (error) {
      writer.rollback();
      this.#hooks.onGroupLost();
      for (const { result } of done) result?.end();
      return this.#rejectGroup(done.length > 0 ? done : queue, error);
    } finally {
      this.#queue = [...queue.slice(done.length).filter(job => !job.settled), ...this.#queue];
    }
    this.#lastFullMs = this.#lastLockedMs = Number.NEGATIVE_INFINITY;
    this.#flushes.add(done, changes);
  }

  /**
   * Runs jobs in the open transaction. A savepoint per job would copy each page that it writes, so there is none: if a job
   * fails after a write, which is rare, the whole group is rolled back and runs again with savepoints.
   * @param done receives the jobs that ran
   */
  async #runJobs(queue: readonly Job[], done: Job[]): Promise<ChangeSet> {
    const { writer } = this.#deps;
    const now = this.deadlines.now();
    const startMs = performance.now();
    const savepoint = queue.length > 1 && startMs < this.#savepointsUntilMs;
    const guard = new TurnGuard();
    const group = new ChangeSet();
    const options = { now, guard, savepoint };
    for (const job of queue) {
      done.push(job);
      const changes = savepoint ? new ChangeSet() : group;
      const deadlines = this.deadlines.forTransaction();
      const result = await runWork(writer, job.work, { ...options, deadlines, changes });
      job.result = result;
      if (result.partial) {
        guard.end();
        writer.rollback();
        if (queue.length > 1) this.#runAgain(done);
        return new ChangeSet();
      }
      if (savepoint && !result.failed) group.include(changes);
      if (performance.now() - startMs > GROUP_MS) break;
    }
    writeIncrements(writer, {
      ...options,
      savepoint: false,
      deadlines: this.deadlines.forTransaction(),
      changes: group,
    });
    guard.end();
    return group;
  }

  /** Puts jobs that were rolled back into the queue again. From now on they have savepoints. */
  #runAgain(done: Job[]): void {
    this.#savepointsUntilMs = performance.now() + SAVEPOINTS_MS;
    for (const job of done) {
      job.result?.end();
      job.result = undefined;
    }
    done.length = 0;
  }

  #takeQueue(): Job[] {
    const jobs = this.#queue;
    this.#queue = [];
    return jobs;
  }

  /** Rejects the jobs of a group that was not committed. */
  #rejectGroup(jobs: readonly Job[], error: unknown): void {
    if (isFailedFlush(error)) this.#hooks.onFlushFailed(error as Error);
    const reason = this.#ended ?? (isDiskFull(error) ? diskFullError(error) : error);
    if (reason instanceof StorageError && reason.reason === 'full') this.#lastFullMs = performance.now();
    rejectAll(jobs, reason);
  }

  #retryWhenUnlocked(): void {
    const now = performance.now();
    const overdue = this.#queue.filter(job => now - job.sinceMs > LOCK_TIMEOUT_MS);
    if (overdue.length > 0) {
      this.#lastLockedMs = now;
      rejectAll(overdue, lockedError());
      this.#queue = this.#queue.filter(job => !job.settled);
    }
    if (this.#queue.length === 0) {
      this.#wake();
      return;
    }
    this.#scheduled = true;
    setTimeout(this.#startGroup, LOCK_RETRY_MS);
  }

  /** Rejects the jobs that have waited too long for the disk. Repeats while jobs are pending. */
  readonly #rejectOverdue = () => {
    this.#timeoutCheck = undefined;
    const now = performance.now();
    const overdue = (job: Job) => now - job.sinceMs > DISK_TIMEOUT_MS;
    const notRun = 'The disk does not respond; nothing was changed.';
    rejectAll(this.#queue.filter(overdue), new StorageError('unavailable', notRun));
    this.#queue = this.#queue.filter(job => !job.settled);
    const unknown = 'The disk did not complete a flush in time; it is not known whether anything was changed.';
    rejectAll(this.#flushes.jobs.filter(overdue), new StorageError('unavailable', unknown));
    if (this.#queue.length > 0 || !this.flushedAll) {
      this.#timeoutCheck = setTimeout(this.#rejectOverdue, TIMEOUT_CHECK_MS);
    }
    this.#wake();
  };

  #isStalled(now: number): boolean {
    const { startedMs = Number.POSITIVE_INFINITY } = this.#deps.flush;
    return now - Math.min(startedMs, this.#heldSinceMs ?? Number.POSITIVE_INFINITY) > STALLED_MS;
  }

  #waitUntil(until: () => boolean): Promise<void> {
    return new Promise(resolve => {
      this.#waiters.push({ until, resolve });
      this.#wake();
    });
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) {
      if (this.#ended === undefined && !waiter.until()) continue;
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }
}
