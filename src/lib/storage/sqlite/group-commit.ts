import type { Clock } from '../../clock.ts';
import type { MaybePromise } from '../../maybe-promise.ts';
import { type Health, StorageError, type Transaction } from '../database.ts';
import { VisibilityDeadlines } from '../deadlines.ts';
import { full, isBusy, isFailedFlush, isFull, type SqliteConnection } from './connection.ts';
import type { WalFlush } from './flush.ts';
import type { Snapshots } from './snapshots.ts';
import { runWork, Turn, type WorkResult } from './transaction.ts';

/** What commits are made with. */
export interface CommitsParts {
  /** Never waits for a lock; flushes nothing by itself from now on. */
  readonly writer: SqliteConnection;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  readonly clock: Clock;
}

/** Whether the WAL takes a batch. */
export type WalCapacity = 'now' | 'wait' | 'locked' | 'never';

/** What happens around the commits. */
export interface GroupCommitHooks {
  /**
   * Whether a batch may begin: `wait` until it is scheduled anew, `locked` as long as another process holds the write
   * lock, `never` when the WAL takes no more.
   */
  room(): WalCapacity;
  /** A batch has the write lock and has written nothing yet. */
  locked(): void;
  /** A batch was lost, and the writing connection with what it knew of others. */
  lost(): void;
  /** A flush has ended, and readers see what it covers. */
  shown(topics: Iterable<string>): void;
  /** A flush has failed. */
  failed(error: Error): void;
}

/** How long a write waits for the lock, and for the disk, until its caller is told. */
const LOCK_MS = 5000;
const DISK_MS = 10_000;
const WATCH_MS = 250;
const LOCK_RETRY_MS = 3;
/** From when on a disk that does not come back is called stalled. */
const STALLED_MS = 1000;
/** How long one batch may hold up the thread. */
const BATCH_MS = 5;
/** How long after one it is still said that the disk is full, or the database locked. */
const LATELY_MS = 5000;

interface Job {
  readonly work: (tx: Transaction) => MaybePromise<unknown>;
  readonly sinceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  outcome?: WorkResult;
  answered?: true;
}

/** One flush: who waits for it, and what it makes known. */
interface Waiting {
  readonly jobs: Job[];
  readonly topics: Set<string>;
}

/**
 * The writes of one process, committed together without a flush, then flushed together off the event loop.
 *
 * All that is queued when a turn of the event loop ends becomes one transaction. A flush answers everybody who was
 * committed before it began; who comes while it runs waits for the next.
 */
export class GroupCommit {
  readonly #parts: CommitsParts;
  readonly #around: GroupCommitHooks;
  readonly #deadlines: VisibilityDeadlines;
  #queue: Job[] = [];
  #scheduled = false;
  #running = false;
  #lastNow = 0;
  /** Why all is over. */
  #end: StorageError | undefined;

  /** Counts the batches that changed something, and those of them that are on disk. */
  #committed = 0;
  #flushed = 0;
  #current: (Waiting & { readonly covers: number }) | undefined;
  #next: Waiting = { jobs: [], topics: new Set() };

  /** Since when new batches are held back. */
  #heldMs: number | undefined;
  readonly #waits: { until(): boolean; resolve(): void }[] = [];
  #watch: NodeJS.Timeout | undefined;
  #fullMs = Number.NEGATIVE_INFINITY;
  #lockedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: CommitsParts, around: GroupCommitHooks) {
    this.#parts = parts;
    this.#around = around;
    this.#deadlines = new VisibilityDeadlines(() => this.#now(), 0);
    parts.writer.synchronous('off');
  }

  /** What `write` of a database promises. */
  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#end !== undefined) throw this.#end;
      this.#queue.push({ work, sinceMs: performance.now(), resolve: resolve as Job['resolve'], reject });
      this.schedule();
      this.#watch ??= setTimeout(this.#overdue, WATCH_MS);
    });
  }

  /** As `Database` promises it. A change is seen as soon as the flush has ended that covers it. */
  readableAt(now: number): number {
    return this.#deadlines.readableAt(now);
  }

  /** Lets what is queued go on, when something has changed that it waits for. */
  schedule(): void {
    if (this.#scheduled || this.#running || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(this.#pump);
  }

  /** How writes are, from what has happened lately. */
  health(): Health['writes'] {
    const now = performance.now();
    if (this.#stalled(now)) return 'stalled';
    if (now - this.#fullMs < LATELY_MS) return 'full';
    return now - this.#lockedMs < LATELY_MS ? 'unavailable' : 'ok';
  }

  /** Whether all that was committed here is on disk. */
  get flushedAll(): boolean {
    return !this.#running && this.#committed === this.#flushed;
  }

  /** Holds new batches back; resolves once all that was committed is on disk, or all is over. */
  hold(): Promise<void> {
    this.#heldMs = performance.now();
    return this.#wait(() => this.flushedAll);
  }

  /** Lets batches begin again. */
  release(): void {
    this.#heldMs = undefined;
    this.schedule();
    this.#wake();
  }

  /** Resolves once nobody waits for anything, or all is over. */
  quiet(): Promise<void> {
    return this.#wait(() => this.#queue.length === 0 && this.flushedAll && this.#heldMs === undefined);
  }

  /** Refuses everybody who waits or comes. */
  end(error: StorageError): void {
    this.#end = error;
    clearTimeout(this.#watch);
    rejectAll([...this.#queue, ...(this.#current?.jobs ?? []), ...this.#next.jobs], error);
    this.#queue = [];
    this.#wake();
  }

  readonly #pump = () => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || this.#end !== undefined) return;
    // Whoever ends the waiting schedules anew.
    if (this.#heldMs !== undefined || this.#stalled(performance.now())) return;
    const room = this.#around.room();
    if (room === 'wait') return;
    if (room === 'locked') return this.#waitForLock();
    if (room === 'never') {
      const sentence = 'The write-ahead log cannot be emptied; nothing was changed.';
      return this.#refuse(this.#take(), new StorageError('full', sentence));
    }
    try {
      this.#parts.writer.beginWrite();
    } catch (error) {
      if (isBusy(error)) return this.#waitForLock();
      return this.#refuse(this.#take(), error);
    }
    this.#running = true;
    this.#batch()
      .catch(error => this.#around.failed(error))
      .finally(() => {
        this.#running = false;
        this.schedule();
        this.#wake();
      });
  };

  /** Makes what is queued one transaction, each job within a savepoint of its own. */
  async #batch(): Promise<void> {
    const { writer } = this.#parts;
    const queue = this.#take();
    const done: Job[] = [];
    try {
      this.#around.locked();
      const now = this.#now();
      const until = performance.now() + BATCH_MS;
      const turn = new Turn();
      for (const job of queue) {
        done.push(job);
        job.outcome = await runWork(writer, job.work, now, this.#deadlines.ofOne(), turn);
        if (performance.now() > until) break;
      }
      turn.over();
      writer.commit();
    } catch (error) {
      writer.rollback();
      this.#around.lost();
      for (const { outcome } of done) outcome?.over();
      return this.#refuse(done.length > 0 ? done : queue, error);
    } finally {
      this.#queue = [...queue.slice(done.length).filter(job => !job.answered), ...this.#queue];
    }
    this.#fullMs = this.#lockedMs = Number.NEGATIVE_INFINITY;
    this.#await(done);
  }

  /** Lets the jobs of a committed batch wait for the flush that covers them and what they saw. */
  #await(jobs: readonly Job[]): void {
    if (this.#end !== undefined) {
      rejectAll(jobs, this.#end);
      return;
    }
    const topics = jobs.flatMap(job => job.outcome!.topics);
    const changed = jobs.some(job => job.outcome!.changed);
    if (changed || topics.length > 0) this.#committed++;
    else if (this.#committed === this.#flushed) {
      answerAll(jobs);
      return;
    }
    const waiting = this.#current?.covers === this.#committed ? this.#current : this.#next;
    for (const job of jobs) waiting.jobs.push(job);
    for (const topic of topics) waiting.topics.add(topic);
    this.#beginFlush();
  }

  #beginFlush(): void {
    if (this.#current !== undefined || this.#committed === this.#flushed) return;
    this.#current = { ...this.#next, covers: this.#committed };
    this.#next = { jobs: [], topics: new Set() };
    this.#parts.snapshots.prepare();
    this.#parts.flush.begin(this.#endFlush);
  }

  readonly #endFlush = (error: Error | undefined) => {
    if (this.#end !== undefined) return;
    if (error !== undefined) return this.#around.failed(error);
    const { jobs, topics, covers } = this.#current!;
    this.#current = undefined;
    this.#flushed = covers;
    this.#parts.snapshots.advance();
    this.#around.shown(topics);
    answerAll(jobs);
    try {
      this.#beginFlush();
    } catch (error) {
      return this.#around.failed(error as Error);
    }
    this.schedule();
    this.#wake();
  };

  /** The clock in whole milliseconds, never less than before. */
  #now(): number {
    this.#lastNow = Math.max(this.#lastNow, Math.floor(this.#parts.clock.now()));
    return this.#lastNow;
  }

  #take(): Job[] {
    const jobs = this.#queue;
    this.#queue = [];
    return jobs;
  }

  /** A batch that could not be made: nothing of it was changed. */
  #refuse(jobs: readonly Job[], error: unknown): void {
    if (isFailedFlush(error)) this.#around.failed(error as Error);
    const reason = this.#end ?? (isFull(error) ? full(error) : error);
    if (reason instanceof StorageError && reason.reason === 'full') this.#fullMs = performance.now();
    rejectAll(jobs, reason);
  }

  #waitForLock(): void {
    const now = performance.now();
    const late = this.#queue.filter(job => now - job.sinceMs > LOCK_MS);
    if (late.length > 0) {
      this.#lockedMs = now;
      const sentence = 'Another process holds the database’s write lock; nothing was changed.';
      rejectAll(late, new StorageError('unavailable', sentence));
      this.#queue = this.#queue.filter(job => !job.answered);
    }
    if (this.#queue.length === 0) {
      this.#wake();
      return;
    }
    this.#scheduled = true;
    setTimeout(this.#pump, LOCK_RETRY_MS);
  }

  /** Tells those who have waited too long, and goes on while anybody waits. */
  readonly #overdue = () => {
    this.#watch = undefined;
    const now = performance.now();
    const late = (job: Job) => now - job.sinceMs > DISK_MS;
    const never = 'The disk does not come back; nothing was changed.';
    rejectAll(this.#queue.filter(late), new StorageError('unavailable', never));
    this.#queue = this.#queue.filter(job => !job.answered);
    const unknown = 'The disk did not end a flush in time; whether it was changed is not known.';
    const flushing = [...(this.#current?.jobs ?? []), ...this.#next.jobs];
    rejectAll(flushing.filter(late), new StorageError('unavailable', unknown));
    if (this.#queue.length > 0 || !this.flushedAll) this.#watch = setTimeout(this.#overdue, WATCH_MS);
    this.#wake();
  };

  #stalled(now: number): boolean {
    const { beganMs = Number.POSITIVE_INFINITY } = this.#parts.flush;
    return now - Math.min(beganMs, this.#heldMs ?? Number.POSITIVE_INFINITY) > STALLED_MS;
  }

  #wait(until: () => boolean): Promise<void> {
    return new Promise(resolve => {
      this.#waits.push({ until, resolve });
      this.#wake();
    });
  }

  #wake(): void {
    for (const wait of [...this.#waits]) {
      if (this.#end === undefined && !wait.until()) continue;
      this.#waits.splice(this.#waits.indexOf(wait), 1);
      wait.resolve();
    }
  }
}

function answerAll(jobs: readonly Job[]): void {
  for (const job of jobs) {
    // Also where its caller was told that it lasts too long.
    job.outcome!.over();
    if (job.answered) continue;
    job.answered = true;
    if (job.outcome!.threw) job.reject(job.outcome!.value);
    else job.resolve(job.outcome!.value);
  }
}

function rejectAll(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) {
    if (job.answered) continue;
    job.answered = true;
    job.reject(error);
  }
}
