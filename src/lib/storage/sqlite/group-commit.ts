import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Origin } from '../../origin.ts';
import { type Health, type MaybePromise, StorageError, type Transaction } from '../database.ts';
import { VisibilityDeadlines } from '../deadlines.ts';
import { Checkpointer } from './checkpoint.ts';
import { LOCK_RETRY_MS, LOCK_TIMEOUT_MS, type SqliteConnection } from './connection.ts';
import { busyError, diskFullError, isBusy, isDiskFull, isFailedFlush, readOnlyError } from './errors.ts';
import { FlushQueue, type FlushQueueDeps, type QueuedWrite, rejectAll } from './flush-queue.ts';
import { ChangeSet, runWork, SqliteTransaction } from './transaction.ts';

export interface GroupCommitDeps extends Omit<FlushQueueDeps, 'onFlushed'> {
  /** The connection must not wait for locks. Group commit turns its `synchronous` off and flushes the WAL itself. */
  readonly writer: SqliteConnection;
  readonly clock: Clock;
  /** The database file, and the size of its WAL that starts a checkpoint. */
  readonly file: string;
  readonly checkpointBytes: number;
  /** Multiplies how long a write waits for the disk; 1 by default. */
  readonly timeoutScale?: number | undefined;
  readonly log: Log;
  /** Called before each group, when this process has acquired the write lock. */
  onWriteLock(): void;
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
/** How long units of work run in savepoints after one of a group failed halfway. */
const SAVEPOINTS_MS = 1000;

/**
 * Commits the writes that are queued at the end of a turn of the event loop in one transaction, without a flush, then
 * flushes off the event loop. A flush resolves all writes committed before it started; later ones wait for the next.
 */
export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  /** The deadlines of running transactions. A change is visible once its flush completes. */
  readonly deadlines: VisibilityDeadlines;
  readonly #flushes: FlushQueue;
  readonly checkpointer: Checkpointer;
  /**
   * Whether the writer's `dataVersion` may have changed without another process, because SQLite has rolled a group back
   * after an error. This does not matter once all our commits are flushed.
   */
  dataVersionUncertain = false;
  #queue: QueuedWrite[] = [];
  #scheduled = false;
  #running = false;
  #savepointsUntilMs = Number.NEGATIVE_INFINITY;
  #ended: StorageError | undefined;

  /** When `pause` was called; `undefined` after `resume`. */
  #pausedSinceMs: number | undefined;
  readonly #waiters = new Set<{ until(): boolean; resolve(): void }>();
  #timeoutCheck: NodeJS.Timeout | undefined;
  #lastFullMs = Number.NEGATIVE_INFINITY;
  #lastBusyMs = Number.NEGATIVE_INFINITY;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
    this.deadlines = new VisibilityDeadlines(deps.clock, 0);
    this.#flushes = new FlushQueue({ ...deps, onFlushed: this.#proceed });
    this.checkpointer = new Checkpointer(deps, this);
    deps.writer.synchronous('off');
  }

  /** See `Database.write`. */
  write<T>(work: (tx: Transaction) => MaybePromise<T>, origin: Origin | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended;
      const sinceMs = performance.now();
      this.#queue.push({ work, origin, sinceMs, resolve: resolve as QueuedWrite['resolve'], reject });
      this.#proceed();
      this.#timeoutCheck ??= setTimeout(this.#rejectOverdue, TIMEOUT_CHECK_MS);
    });
  }

  /** Schedules the next group, and resolves the waiters whose condition is true. Call it after each change of state. */
  readonly #proceed = (): void => {
    if (!this.#scheduled && !this.#running && this.#queue.length > 0) {
      this.#scheduled = true;
      setImmediate(this.#startGroup);
    }
    for (const waiter of this.#waiters) {
      if (this.#ended === undefined && !waiter.until()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  };

  health(): Health['writes'] {
    const now = performance.now();
    if (this.#isStalled(now)) return 'stalled';
    if (now - this.#lastFullMs < HEALTH_MS) return 'full';
    return now - this.#lastBusyMs < HEALTH_MS ? 'unavailable' : 'ok';
  }

  get flushedAll(): boolean {
    return !this.#running && this.#flushes.flushedAll;
  }

  /** Starts no further groups. Resolves once everything committed is flushed, or after `end`. */
  pause(): Promise<void> {
    this.#pausedSinceMs = performance.now();
    return this.#waitUntil(() => this.flushedAll);
  }

  /** Ends `pause`. */
  resume(): void {
    this.#pausedSinceMs = undefined;
    this.#proceed();
  }

  /** Resolves once no write is pending, or after `end`. */
  idle(): Promise<void> {
    return this.#waitUntil(() => this.#queue.length === 0 && this.flushedAll && this.#pausedSinceMs === undefined);
  }

  /** Rejects all pending and all later writes. */
  end(error: StorageError): void {
    this.#ended = error;
    clearTimeout(this.#timeoutCheck);
    rejectAll(this.#queue.splice(0), error);
    this.#flushes.end(error);
    this.#proceed();
  }

  readonly #startGroup = () => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || this.#ended !== undefined) return;
    // `resume` and a completed flush start it again.
    if (this.#pausedSinceMs !== undefined || this.#isStalled(performance.now())) return;
    if (this.dataVersionUncertain && !this.flushedAll) return;
    const capacity = this.checkpointer.capacity();
    if (capacity === 'wait') return;
    if (capacity === 'busy') return this.#retryWhileBusy();
    if (capacity === 'full') {
      const message = 'The write-ahead log cannot be truncated; nothing was changed.';
      return this.#rejectGroup(this.#queue.splice(0), new StorageError('full', message));
    }
    try {
      this.#deps.writer.beginWrite();
    } catch (error) {
      if (isBusy(error)) return this.#retryWhileBusy();
      return this.#rejectGroup(this.#queue.splice(0), error);
    }
    this.#running = true;
    this.#commitGroup()
      .catch(error => this.#deps.onFlushFailed(error))
      .finally(() => {
        this.#running = false;
        this.#proceed();
      });
  };

  /** Commits the queued writes, or as many as fit into GROUP_MS, in one transaction. */
  async #commitGroup(): Promise<void> {
    const queue = this.#queue.splice(0);
    const group = await this.#runGroup(queue);
    const { ran, outcome } = group;
    // If a write that failed halfway ran alone, it already has its result, the error, and no other write was rolled
    // back.
    const again = outcome === 'partial' && queue.length > 1;
    this.#queue = [...(again ? queue : queue.slice(ran.length)), ...this.#queue];
    if (again || outcome === 'failed') for (const { result } of ran) result?.deadlines?.end();
    if (again) this.#savepointsUntilMs = performance.now() + SAVEPOINTS_MS;
    else if (outcome === 'failed') this.#rejectGroup(ran, group.error);
    else {
      this.#lastFullMs = this.#lastBusyMs = Number.NEGATIVE_INFINITY;
      this.#flushes.add(ran, outcome === 'committed' ? group.changes : new ChangeSet());
    }
  }

  /**
   * Runs writes in the open transaction and commits it. A savepoint per write would copy each page that it changes, so
   * there is none: if a write fails halfway, which is rare, the whole group is rolled back and runs again with
   * savepoints.
   */
  async #runGroup(queue: readonly QueuedWrite[]): Promise<Group> {
    const { writer } = this.#deps;
    const ran: QueuedWrite[] = [];
    try {
      this.#deps.onWriteLock();
      const startMs = performance.now();
      const savepoint = queue.length > 1 && startMs < this.#savepointsUntilMs;
      const changes = new ChangeSet();
      const { deadlines } = this;
      const options = { now: deadlines.now(), origin: undefined, deadlines, savepoint };
      for (const write of queue) {
        ran.push(write);
        const own = savepoint ? new ChangeSet() : changes;
        write.result = await runWork(writer, write.work, { ...options, origin: write.origin, changes: own });
        if (write.result.partial) {
          writer.rollback();
          return { outcome: 'partial', ran };
        }
        if (savepoint && !write.result.failed) changes.include(own);
        if (performance.now() - startMs > GROUP_MS) break;
      }
      changes.increments.write(new SqliteTransaction(writer, { ...options, savepoint: false, changes }));
      writer.commit();
      return { outcome: 'committed', ran, changes };
    } catch (error) {
      writer.rollback();
      this.dataVersionUncertain = true;
      // If `onWriteLock` failed, no write can run.
      return { outcome: 'failed', ran: ran.length > 0 ? ran : queue, error };
    }
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
    this.#scheduled = this.#queue.length > 0;
    if (this.#scheduled) setTimeout(this.#startGroup, LOCK_RETRY_MS);
    this.#proceed();
  }

  /** Rejects the writes that have waited too long for the disk. Repeats while writes are pending. */
  readonly #rejectOverdue = () => {
    this.#timeoutCheck = undefined;
    const now = performance.now();
    const timeoutMs = DISK_TIMEOUT_MS * (this.#deps.timeoutScale ?? 1);
    const overdue = (write: QueuedWrite) => now - write.sinceMs > timeoutMs;
    const notRun = 'The disk does not respond; nothing was changed.';
    rejectAll(this.#queue.filter(overdue), new StorageError('unavailable', notRun));
    this.#queue = this.#queue.filter(write => !write.settled);
    const unknown = 'The disk did not complete a flush in time; it is not known whether anything was changed.';
    rejectAll(this.#flushes.writes.filter(overdue), new StorageError('unavailable', unknown));
    if (this.#queue.length > 0 || !this.flushedAll) {
      this.#timeoutCheck = setTimeout(this.#rejectOverdue, TIMEOUT_CHECK_MS);
    }
    this.#proceed();
  };

  #isStalled(now: number): boolean {
    const { startedMs = Number.POSITIVE_INFINITY } = this.#deps.flush;
    return now - Math.min(startedMs, this.#pausedSinceMs ?? Number.POSITIVE_INFINITY) > STALLED_MS;
  }

  #waitUntil(until: () => boolean): Promise<void> {
    return new Promise(resolve => {
      this.#waiters.add({ until, resolve });
      this.#proceed();
    });
  }
}
