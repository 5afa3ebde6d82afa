import type { Clock } from '../../clock.ts';
import type { Origin } from '../../origin.ts';
import { type Health, type MaybePromise, StorageError, type Transaction } from '../database.ts';
import { VisibilityDeadlines } from '../deadlines.ts';
import { LOCK_RETRY_MS, LOCK_TIMEOUT_MS, type SqliteConnection } from './connection.ts';
import { busyError, diskFullError, isBusy, isDiskFull, isFailedFlush, readOnlyError } from './errors.ts';
import { FlushQueue, type FlushQueueDeps, type QueuedWrite, rejectAll } from './flush-queue.ts';
import { ChangeSet, runWork, TurnGuard, writeIncrements } from './transaction.ts';

/**
 * Whether the WAL accepts a group. `wait`: until `schedule` is called. `busy`: another process holds the write lock; retry.
 * `full`: the WAL could not be truncated; reject.
 */
export type WalCapacity = 'now' | 'wait' | 'busy' | 'full';

export interface GroupCommitDeps extends Omit<FlushQueueDeps, 'onFlushed'> {
  /** Must not wait for locks. Group commit turns its `synchronous` off and flushes itself. */
  readonly writer: SqliteConnection;
  readonly clock: Clock;
  walCapacity(): WalCapacity;
  /** This process has got the write lock. Called before each group. */
  onWriteLock(): void;
  /** SQLite rolled a group back after an error. */
  onGroupLost(): void;
}

/** How a group ended, and which writes of the queue ran in it. */
type Group =
  | { readonly outcome: 'committed'; readonly ran: readonly QueuedWrite[]; readonly changes: ChangeSet }
  /** Rolled back because the last of `ran` failed halfway. */
  | { readonly outcome: 'partial'; readonly ran: readonly QueuedWrite[] }
  /** Rolled back after an error of the database; `ran` must be rejected. */
  | { readonly outcome: 'failed'; readonly ran: readonly QueuedWrite[]; readonly error: unknown };

/** How long a write waits for the disk before its caller gets an error. */
const DISK_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 250;
/** How long a flush takes before the disk counts as stalled. */
const STALLED_MS = 1000;
/** How long one group may block the event loop. */
const GROUP_MS = 5;
/** How long `health` reports a full disk or a busy write lock after the last occurrence. */
const HEALTH_MS = 5000;
/** How long units of work get savepoints after one of a group failed halfway. */
const SAVEPOINTS_MS = 1000;

/**
 * Commits the writes that are queued at the end of a turn of the event loop in one transaction, without a flush, then
 * flushes off the event loop. A flush resolves all writes committed before it started; later ones wait for the next.
 */
export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  /** The times before which running transactions must be visible. A change is visible once its flush completes. */
  readonly deadlines: VisibilityDeadlines;
  readonly #flushes: FlushQueue;
  #queue: QueuedWrite[] = [];
  #scheduled = false;
  #running = false;
  #savepointsUntilMs = Number.NEGATIVE_INFINITY;
  #ended: StorageError | undefined;

  /** When `pause` was called; `undefined` after `resume`. */
  #pausedSinceMs: number | undefined;
  readonly #waiters: { until(): boolean; resolve(): void }[] = [];
  #timeoutCheck: NodeJS.Timeout | undefined;
  #lastFullMs = Number.NEGATIVE_INFINITY;
  #lastBusyMs = Number.NEGATIVE_INFINITY;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
    this.deadlines = new VisibilityDeadlines(deps.clock, 0);
    this.#flushes = new FlushQueue({
      ...deps,
      onFlushed: () => {
        this.schedule();
        this.#wake();
      },
    });
    deps.writer.synchronous('off');
  }

  /** See `Database.write`. */
  write<T>(work: (tx: Transaction) => MaybePromise<T>, origin: Origin | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended;
      const sinceMs = performance.now();
      this.#queue.push({ work, origin, sinceMs, resolve: resolve as QueuedWrite['resolve'], reject });
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
    return now - this.#lastBusyMs < HEALTH_MS ? 'unavailable' : 'ok';
  }

  get flushedAll(): boolean {
    return !this.#running && this.#flushes.flushedAll;
  }

  /** Starts no more groups. Resolves once everything committed is flushed, or after `end`. */
  pause(): Promise<void> {
    this.#pausedSinceMs = performance.now();
    return this.#waitUntil(() => this.flushedAll);
  }

  /** Ends `pause`. */
  resume(): void {
    this.#pausedSinceMs = undefined;
    this.schedule();
    this.#wake();
  }

  /** Resolves once no write is pending, or after `end`. */
  idle(): Promise<void> {
    return this.#waitUntil(() => this.#queue.length === 0 && this.flushedAll && this.#pausedSinceMs === undefined);
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
    // `resume` and a completed flush call `schedule` again.
    if (this.#pausedSinceMs !== undefined || this.#isStalled(performance.now())) return;
    const capacity = this.#deps.walCapacity();
    if (capacity === 'wait') return;
    if (capacity === 'busy') return this.#retryWhileBusy();
    if (capacity === 'full') {
      const message = 'The write-ahead log cannot be truncated; nothing was changed.';
      return this.#rejectGroup(this.#takeQueue(), new StorageError('full', message));
    }
    try {
      this.#deps.writer.beginWrite();
    } catch (error) {
      if (isBusy(error)) return this.#retryWhileBusy();
      return this.#rejectGroup(this.#takeQueue(), error);
    }
    this.#running = true;
    this.#commitGroup()
      .catch(error => this.#deps.onFlushFailed(error))
      .finally(() => {
        this.#running = false;
        this.schedule();
        this.#wake();
      });
  };

  /** Commits the queued writes, or as many as fit into GROUP_MS, in one transaction. */
  async #commitGroup(): Promise<void> {
    const queue = this.#takeQueue();
    const group = await this.#runGroup(queue);
    const { ran, outcome } = group;
    // A write that failed halfway alone has its result: the error. Nothing else was undone.
    const again = outcome === 'partial' && queue.length > 1;
    this.#queue = [...(again ? queue : queue.slice(ran.length)), ...this.#queue];
    if (again || outcome === 'failed') for (const { result } of ran) result?.end();
    if (again) this.#savepointsUntilMs = performance.now() + SAVEPOINTS_MS;
    else if (outcome === 'failed') this.#rejectGroup(ran, group.error);
    else {
      this.#lastFullMs = this.#lastBusyMs = Number.NEGATIVE_INFINITY;
      this.#flushes.add(ran, outcome === 'committed' ? group.changes : new ChangeSet());
    }
  }

  /**
   * Runs writes in the open transaction and commits it. A savepoint per write would copy each page that it changes, so there
   * is none: if a write fails halfway, which is rare, the whole group is rolled back and runs again with savepoints.
   */
  async #runGroup(queue: readonly QueuedWrite[]): Promise<Group> {
    const { writer } = this.#deps;
    const ran: QueuedWrite[] = [];
    try {
      this.#deps.onWriteLock();
      const startMs = performance.now();
      const savepoint = queue.length > 1 && startMs < this.#savepointsUntilMs;
      const guard = new TurnGuard();
      const changes = new ChangeSet();
      const options = { now: this.deadlines.now(), origin: undefined, guard, savepoint };
      for (const write of queue) {
        ran.push(write);
        const own = savepoint ? new ChangeSet() : changes;
        const deadlines = this.deadlines.forTransaction();
        write.result = await runWork(writer, write.work, { ...options, origin: write.origin, deadlines, changes: own });
        if (write.result.partial) {
          guard.end();
          writer.rollback();
          return { outcome: 'partial', ran };
        }
        if (savepoint && !write.result.failed) changes.include(own);
        if (performance.now() - startMs > GROUP_MS) break;
      }
      writeIncrements(writer, { ...options, savepoint: false, deadlines: this.deadlines.forTransaction(), changes });
      guard.end();
      writer.commit();
      return { outcome: 'committed', ran, changes };
    } catch (error) {
      writer.rollback();
      this.#deps.onGroupLost();
      // If `onWriteLock` failed, no write can run.
      return { outcome: 'failed', ran: ran.length > 0 ? ran : queue, error };
    }
  }

  #takeQueue(): QueuedWrite[] {
    const writes = this.#queue;
    this.#queue = [];
    return writes;
  }

  #rejectGroup(writes: readonly QueuedWrite[], error: unknown): void {
    if (isFailedFlush(error)) this.#deps.onFlushFailed(error as Error);
    const rejected = () => (this.#deps.flush.isReadOnly() ? readOnlyError(error) : diskFullError(error));
    const reason = this.#ended ?? (isDiskFull(error) ? rejected() : error);
    if (reason instanceof StorageError && reason.reason === 'full') this.#lastFullMs = performance.now();
    rejectAll(writes, reason);
  }

  #retryWhileBusy(): void {
    const now = performance.now();
    const overdue = this.#queue.filter(write => now - write.sinceMs > LOCK_TIMEOUT_MS);
    if (overdue.length > 0) {
      this.#lastBusyMs = now;
      rejectAll(overdue, busyError());
      this.#queue = this.#queue.filter(write => !write.settled);
    }
    this.#wake();
    if (this.#queue.length === 0) return;
    this.#scheduled = true;
    setTimeout(this.#startGroup, LOCK_RETRY_MS);
  }

  /** Rejects the writes that have waited too long for the disk. Repeats while writes are pending. */
  readonly #rejectOverdue = () => {
    this.#timeoutCheck = undefined;
    const now = performance.now();
    const overdue = (write: QueuedWrite) => now - write.sinceMs > DISK_TIMEOUT_MS;
    const notRun = 'The disk does not respond; nothing was changed.';
    rejectAll(this.#queue.filter(overdue), new StorageError('unavailable', notRun));
    this.#queue = this.#queue.filter(write => !write.settled);
    const unknown = 'The disk did not complete a flush in time; it is not known whether anything was changed.';
    rejectAll(this.#flushes.writes.filter(overdue), new StorageError('unavailable', unknown));
    if (this.#queue.length > 0 || !this.flushedAll) {
      this.#timeoutCheck = setTimeout(this.#rejectOverdue, TIMEOUT_CHECK_MS);
    }
    this.#wake();
  };

  #isStalled(now: number): boolean {
    const { startedMs = Number.POSITIVE_INFINITY } = this.#deps.flush;
    return now - Math.min(startedMs, this.#pausedSinceMs ?? Number.POSITIVE_INFINITY) > STALLED_MS;
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
