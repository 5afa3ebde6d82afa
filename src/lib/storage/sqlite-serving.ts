import type { Soon } from '../soon.ts';
import { type Database, type Health, StorageError, type Transaction } from './database.ts';
import type { Query } from './query.ts';
import type { SqliteOptions } from './sqlite.ts';
import { Checkpointer } from './sqlite-checkpoint.ts';
import { full, isBusy, isFailedFlush, isFull, type SqliteConnection } from './sqlite-connection.ts';
import type { WalFlush } from './sqlite-flush.ts';
import type { Snapshots } from './sqlite-snapshots.ts';
import { type Outcome, runWork, Turn } from './sqlite-work.ts';

/** What a serving database is made of. */
export interface ServingParts {
  /** Never waits for a lock. */
  readonly writer: SqliteConnection;
  /** The writer's `dataVersion` before the snapshots were opened. */
  readonly dataVersion: number;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  /** Whether old frames may stand in the WAL that the first commit would write over. */
  readonly careful: boolean;
  readonly checkpointBytes: number;
}

/** A write that nobody could lock for, that waits for a disk: how long until its caller is told. */
const LOCK_MS = 5000;
const DISK_MS = 10_000;
/** From when on a disk that does not come back is called stalled. */
const STALLED_MS = 1000;
const WATCH_MS = 250;
const LOCK_RETRY_MS = 3;
/** How long one batch may hold up the thread. */
const BATCH_MS = 5;
/** How long after one it is still said that the disk is full, or the database locked. */
const LATELY_MS = 5000;
/** The WAL is never longer than 64 MiB; what one batch writes fits in between. */
const WAL_BYTES_MAX = 48 * 1024 * 1024;
const CHECKPOINT_RETRY_MS = 1000;
/** A rest of a checkpoint that is small enough for writes to wait for it, in pages. */
const SMALL_REST = 256;
const PASSIVE_ROUNDS = 4;
/** How long one look at other processes' changes is good within a turn of the event loop. */
const LOOK_MS = 1;

interface Job {
  readonly work: (tx: Transaction) => Soon<unknown>;
  readonly sinceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  outcome?: Outcome;
  settled?: true;
}

/** What one flush will answer: who waits for it, and what it makes known. */
interface Waiting {
  readonly jobs: Job[];
  readonly topics: Set<string>;
}

/**
 * The database of the one process that serves a file.
 *
 * Writes queue up and are committed together, without a flush; then the WAL is flushed off the event loop, one flush
 * for all who came before it began; when it has ended, the readers' snapshots change places and the writes are answered.
 */
export class ServingSqlite implements Database {
  readonly engine = 'sqlite';
  readonly #options: SqliteOptions;
  readonly #writer: SqliteConnection;
  readonly #snapshots: Snapshots;
  readonly #flush: WalFlush;
  readonly #checkpointer: Checkpointer;
  readonly #checkpointBytes: number;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #failure: Error | undefined;
  #closing: Promise<void> | undefined;

  #queue: Job[] = [];
  #scheduled = false;
  #running = false;
  /** Counts the batches that changed something. */
  #committed = 0;
  #flushed = 0;
  #current: (Waiting & { readonly covers: number }) | undefined;
  #next: Waiting = { jobs: [], topics: new Set() };
  #lastNow = 0;

  #dataVersion: number;
  #looked = false;
  #lookedMs = 0;
  #version = 1;
  #foreign = 0;
  readonly #heard = new Map<string, number>();

  #checkpointing = false;
  #checkpointFailed = false;
  #checkpointRetry: NodeJS.Timeout | undefined;
  /** Since when new writes wait for the end of a checkpoint. */
  #gateMs: number | undefined;
  /** Whether the next commit flushes the WAL's header, because old frames may stand behind it. */
  #careful = false;
  readonly #waits: { until(): boolean; resolve(): void }[] = [];

  #watch: NodeJS.Timeout | undefined;
  #fullMs = Number.NEGATIVE_INFINITY;
  #lockedMs = Number.NEGATIVE_INFINITY;

  constructor(options: SqliteOptions, parts: ServingParts) {
    this.#options = options;
    this.#writer = parts.writer;
    this.#dataVersion = parts.dataVersion;
    this.#snapshots = parts.snapshots;
    this.#flush = parts.flush;
    this.#checkpointer = new Checkpointer(options.file);
    this.#checkpointBytes = parts.checkpointBytes;
    this.#beCareful(parts.careful);
    if (unsynced.size === 0) process.on('exit', leave);
    unsynced.add(this.#writer);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    this.#demandReadable();
    this.#look();
    return this.#snapshots.front.all(query, params);
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    this.#demandReadable();
    this.#look();
    return this.#snapshots.front.first(query, params);
  }

  write<T>(work: (tx: Transaction) => Soon<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#state !== 'open' || this.#failure !== undefined) throw this.#refusal();
      this.#queue.push({
        work,
        sinceMs: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#schedule();
      this.#watch ??= setTimeout(this.#overdue, WATCH_MS);
    });
  }

  version(): number | undefined {
    if (!this.#readable) return undefined;
    this.#look();
    return this.#version;
  }

  heard(topic: string): number | undefined {
    if (!this.#readable) return undefined;
    this.#look();
    return this.#foreign + (this.#heard.get(topic) ?? 0);
  }

  health(): Health {
    if (!this.#readable) return { ok: false, writes: 'unavailable', detail: this.#refusal().message };
    const now = performance.now();
    if (this.#stalled(now)) return { ok: true, writes: 'stalled', detail: 'The disk does not end a flush.' };
    if (now - this.#fullMs < LATELY_MS) return { ok: true, writes: 'full', detail: 'The disk is full.' };
    if (now - this.#lockedMs < LATELY_MS) {
      return { ok: true, writes: 'unavailable', detail: 'Another process holds the database’s write lock.' };
    }
    return { ok: true, writes: 'ok', detail: '' };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#state = 'closing';
    clearTimeout(this.#checkpointRetry);
    await this.#wait(() => this.#queue.length === 0 && this.#flushedAll && !this.#checkpointing);
    await this.#checkpointer.close();
    // After a failed flush the next start is to find the WAL as it is.
    if (this.#failure !== undefined) return;
    this.#state = 'closed';
    clearTimeout(this.#watch);
    unsynced.delete(this.#writer);
    if (unsynced.size === 0) process.off('exit', leave);
    this.#snapshots.close();
    this.#writer.synchronous('full');
    try {
      this.#writer.checkpoint('truncate');
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The WAL stays beside the database until the next start.');
    }
    this.#flush.close();
    this.#writer.close();
  }

  // Writing

  #schedule(): void {
    if (this.#scheduled || this.#running) return;
    this.#scheduled = true;
    setImmediate(this.#pump);
  }

  readonly #pump = () => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || this.#running || this.#failure !== undefined) return;
    // Whoever ends the waiting schedules anew.
    if (this.#gateMs !== undefined || this.#stalled(performance.now())) return;
    if (this.#flush.bytes >= WAL_BYTES_MAX) {
      this.#checkpointSoon();
      if (!this.#checkpointFailed) return;
      return this.#refuse(
        this.#take(),
        new StorageError('full', 'The write-ahead log is full and cannot be emptied; nothing was changed.'),
      );
    }
    try {
      this.#writer.beginWrite();
    } catch (error) {
      if (isBusy(error)) return this.#waitForLock();
      return this.#refuse(this.#take(), error);
    }
    this.#running = true;
    this.#batch()
      .catch(error => this.#fail(error))
      .finally(() => {
        this.#running = false;
        if (this.#queue.length > 0) this.#schedule();
        this.#wake();
      });
  };

  /** Makes what is queued one transaction, each job within a savepoint of its own. */
  async #batch(): Promise<void> {
    const queue = this.#take();
    const done: Job[] = [];
    try {
      // Under the write lock: what others committed until now is on disk, and so is all of ours before it.
      this.#seeOthers();
      const now = Math.max(this.#lastNow, Math.floor(this.#options.clock.now()));
      this.#lastNow = now;
      const until = performance.now() + BATCH_MS;
      const turn = new Turn();
      for (const job of queue) {
        done.push(job);
        job.outcome = await runWork(this.#writer, job.work, now, turn);
        if (performance.now() > until) break;
      }
      turn.over();
      this.#writer.commit();
    } catch (error) {
      this.#writer.rollback();
      return this.#refuse(done, error);
    } finally {
      this.#queue = [...queue.slice(done.length), ...this.#queue];
    }
    this.#fullMs = this.#lockedMs = Number.NEGATIVE_INFINITY;
    this.#await(done);
  }

  /** Lets the jobs of a committed batch wait for the flush that covers them and what they saw. */
  #await(jobs: readonly Job[]): void {
    if (this.#failure !== undefined) {
      rejectAll(jobs, this.#refusal());
      return;
    }
    const topics = jobs.flatMap(job => job.outcome!.topics);
    const changed = jobs.some(job => job.outcome!.changed);
    if (changed || topics.length > 0) this.#committed++;
    else if (this.#committed === this.#flushed) {
      settleAll(jobs);
      return;
    }
    const waiting = this.#current?.covers === this.#committed ? this.#current : this.#next;
    for (const job of jobs) waiting.jobs.push(job);
    for (const topic of topics) waiting.topics.add(topic);
    this.#beginFlush();
    // The snapshot of that flush holds a read lock on the WAL.
    if (this.#careful && changed) this.#beCareful(false);
  }

  #beginFlush(): void {
    if (this.#current !== undefined || this.#committed === this.#flushed) return;
    this.#current = { ...this.#next, covers: this.#committed };
    this.#next = { jobs: [], topics: new Set() };
    this.#snapshots.prepare();
    this.#flush.begin(this.#endFlush);
  }

  readonly #endFlush = (error: Error | undefined) => {
    if (this.#failure !== undefined) return;
    if (error !== undefined) return this.#fail(error);
    const { jobs, topics, covers } = this.#current!;
    this.#current = undefined;
    this.#flushed = covers;
    this.#snapshots.advance();
    this.#version++;
    for (const topic of topics) this.#heard.set(topic, (this.#heard.get(topic) ?? 0) + 1);
    settleAll(jobs);
    try {
      this.#beginFlush();
    } catch (error) {
      return this.#fail(error as Error);
    }
    if (this.#queue.length > 0) this.#schedule();
    if (this.#flush.bytes >= this.#checkpointBytes) this.#checkpointSoon();
    this.#wake();
  };

  #take(): Job[] {
    const jobs = this.#queue.filter(job => !job.settled);
    this.#queue = [];
    return jobs;
  }

  /** A batch that could not be made: nothing of it was changed. */
  #refuse(jobs: readonly Job[], error: unknown): void {
    if (isFailedFlush(error)) this.#fail(error as Error);
    let reason = isFull(error) ? full(error) : error;
    if (this.#failure !== undefined) reason = this.#refusal();
    if (reason instanceof StorageError && reason.reason === 'full') this.#fullMs = performance.now();
    rejectAll(jobs, reason);
  }

  #waitForLock(): void {
    const now = performance.now();
    const late = this.#queue.filter(job => now - job.sinceMs > LOCK_MS);
    if (late.length > 0) {
      this.#lockedMs = now;
      const error = new StorageError(
        'unavailable',
        'Another process holds the database’s write lock; nothing was changed.',
      );
      rejectAll(late, error);
      this.#queue = this.#queue.filter(job => !job.settled);
    }
    if (this.#queue.length > 0 && this.#failure === undefined) {
      this.#scheduled = true;
      setTimeout(this.#pump, LOCK_RETRY_MS);
    } else {
      this.#wake();
    }
  }

  /** Tells those who have waited too long, and goes on while anybody waits. */
  readonly #overdue = () => {
    this.#watch = undefined;
    const now = performance.now();
    const late = (job: Job) => now - job.sinceMs > DISK_MS;
    rejectAll(
      this.#queue.filter(late),
      new StorageError('unavailable', 'The disk does not end a flush; nothing was changed.'),
    );
    this.#queue = this.#queue.filter(job => !job.settled);
    rejectAll(
      [...(this.#current?.jobs ?? []), ...this.#next.jobs].filter(late),
      new StorageError('unavailable', 'The disk did not end a flush in time; whether it was changed is not known.'),
    );
    if (this.#queue.length > 0 || !this.#flushedAll) this.#watch = setTimeout(this.#overdue, WATCH_MS);
    else this.#wake();
  };

  #stalled(now: number): boolean {
    const since = Math.min(this.#flush.beganMs ?? Number.POSITIVE_INFINITY, this.#gateMs ?? Number.POSITIVE_INFINITY);
    return now - since > STALLED_MS;
  }

  // Other processes

  /** Looks whether others have changed the file, at most once in a turn of the event loop. */
  #look(): void {
    const now = performance.now();
    if (this.#looked && now - this.#lookedMs < LOOK_MS) return;
    if (!this.#looked) {
      this.#looked = true;
      setImmediate(this.#turned);
    }
    this.#lookedMs = now;
    this.#seeOthers();
  }

  readonly #turned = () => {
    this.#looked = false;
  };

  /**
   * Shows what others have committed. All of it is on disk: they flush what stands before in the WAL with their own,
   * and because each batch looks under the write lock first, nothing of ours can stand behind.
   */
  #seeOthers(): void {
    const dataVersion = this.#writer.dataVersion();
    if (dataVersion === this.#dataVersion) return;
    try {
      this.#snapshots.renew();
    } catch (error) {
      // A reader without a snapshot would show what is not on disk.
      this.#fail(error as Error);
      throw this.#refusal();
    }
    this.#dataVersion = dataVersion;
    this.#foreign++;
    this.#version++;
  }

  // Checkpoints

  #checkpointSoon(): void {
    if (this.#checkpointing || this.#checkpointRetry !== undefined || this.#state === 'closed') return;
    this.#checkpointing = true;
    this.#checkpoint()
      .then(done => {
        this.#checkpointFailed = !done;
        if (!done) this.#checkpointLater();
      })
      .catch(error => {
        if (isFailedFlush(error)) return this.#fail(error);
        this.#options.log.warn({ err: error }, 'The write-ahead log could not be emptied; this is tried again.');
        this.#checkpointFailed = true;
        this.#checkpointLater();
      })
      .finally(() => {
        this.#gateMs = undefined;
        this.#checkpointing = false;
        if (this.#queue.length > 0) this.#schedule();
        this.#wake();
      });
  }

  #checkpointLater(): void {
    if (this.#state !== 'open') return;
    this.#checkpointRetry = setTimeout(() => {
      this.#checkpointRetry = undefined;
      this.#checkpointSoon();
    }, CHECKPOINT_RETRY_MS);
    this.#checkpointRetry.unref();
  }

  /** Brings the WAL into the file and empties it; whether it could be emptied. */
  async #checkpoint(): Promise<boolean> {
    for (let round = 0; round < PASSIVE_ROUNDS; round++) {
      const { left } = await this.#checkpointer.run('passive');
      if (left <= SMALL_REST) break;
    }
    this.#gateMs = performance.now();
    await this.#wait(() => this.#flushedAll);
    if (this.#failure !== undefined) return true;
    this.#snapshots.renew();
    await this.#checkpointer.run('passive');
    // From here on the readers no longer keep the next commit from beginning the WAL anew over old frames.
    this.#beCareful(true);
    this.#snapshots.renew();
    const { truncated } = await this.#checkpointer.run('truncate');
    if (truncated) this.#beCareful(false);
    this.#flush.measure();
    return truncated;
  }

  #beCareful(careful: boolean): void {
    this.#careful = careful;
    this.#writer.synchronous(careful ? 'header' : 'off');
  }

  // Waiting and ending

  /** Whether all that was committed here is on disk. */
  get #flushedAll(): boolean {
    return !this.#running && this.#committed === this.#flushed;
  }

  /** Resolves once `until` says so, or storage has failed. */
  #wait(until: () => boolean): Promise<void> {
    return new Promise(resolve => {
      this.#waits.push({ until, resolve });
      this.#wake();
    });
  }

  #wake(): void {
    for (const wait of [...this.#waits]) {
      if (this.#failure === undefined && !wait.until()) continue;
      this.#waits.splice(this.#waits.indexOf(wait), 1);
      wait.resolve();
    }
  }

  /** The end: nothing is answered as a success after this. */
  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    clearTimeout(this.#watch);
    clearTimeout(this.#checkpointRetry);
    rejectAll([...this.#queue, ...(this.#current?.jobs ?? []), ...this.#next.jobs], this.#refusal());
    this.#queue = [];
    this.#wake();
    this.#options.onFailed?.(error);
  }

  get #readable(): boolean {
    return this.#failure === undefined && this.#state !== 'closed';
  }

  #demandReadable(): void {
    if (!this.#readable) throw this.#refusal();
  }

  #refusal(): StorageError {
    if (this.#failure === undefined) return new StorageError('closed', 'The database is closed.');
    return new StorageError('failed', 'A flush to disk has failed; the process must start anew.', {
      cause: this.#failure,
    });
  }
}

/** The connections that flush nothing by themselves. */
const unsynced = new Set<SqliteConnection>();

/** SQLite brings the WAL into the file when a process that ends lets go of it: not without flushing. */
function leave(): void {
  for (const connection of unsynced) {
    connection.rollback();
    connection.synchronous('full');
  }
}

function settleAll(jobs: readonly Job[]): void {
  for (const job of jobs) {
    if (job.settled) continue;
    job.settled = true;
    if (job.outcome!.threw) job.reject(job.outcome!.value);
    else job.resolve(job.outcome!.value);
  }
}

function rejectAll(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) {
    if (job.settled) continue;
    job.settled = true;
    job.reject(error);
  }
}
