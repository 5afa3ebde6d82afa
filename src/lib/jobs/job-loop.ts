import type { Clock } from '../clock.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import { endsWithin } from '../timeout.ts';

/** A type of job that is queued as rows of a database. */
export interface JobType<Job, Name extends string = string> {
  /** Identifies the type for `wake` and `dueAt`. */
  readonly name: Name;
  /** The maximum number of jobs that run at the same time. */
  readonly concurrency: number;
  /** The pause after each claim that found rows, so that other work can run; 0 by default. */
  readonly pauseMs?: number;
  /** Runs once before the first claim; retried if it fails. */
  init?(): Promise<void>;
  /**
   * Claims due rows in one short transaction: it either does their work, or leases them and returns them as jobs.
   * @param limit the maximum number of jobs to return
   */
  claim(limit: number): Promise<Claimed<Job>>;
  /**
   * Returns the id of the row of a job; the job itself by default. A row that is claimed again while this process still
   * runs its job, because its lease ended early (the clock was set ahead) or the job takes long, is not run twice, even if
   * the job ends before the claim does.
   */
  idOf?(job: Job): unknown;
  /**
   * Runs one job and records its result. A job that fails is due again when its lease expires.
   * @param stopping aborted when the process stops: then the next process repeats jobs whose results cannot be recorded
   */
  run(job: Job, stopping: AbortSignal): Promise<void>;
  /** Returns the job's attributes for traces. */
  traceOf?(job: Job): MaybePromise<JobTrace>;
}

/** The attributes of a job in traces. */
export interface JobTrace {
  /** The trace of the request that caused it, as a `traceparent` header. */
  readonly traceparent?: string | undefined;
  /** More attributes of its span. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

export interface Claimed<Job> {
  /** The number of claimed rows; 0 if other processes have claimed all due rows. */
  readonly rows: number;
  /** The jobs that remain to be run. */
  readonly jobs: readonly Job[];
}

export interface JobLoopOptions {
  readonly clock: Clock;
  /** The interval between polls, and the pause after an error. */
  readonly pollMs: number;
  /** The interval between polls while this process is idle. */
  readonly idlePollMs: number;
  /**
   * Returns when the next job of each type is due, in milliseconds since the Unix epoch, by its name, in one cheap
   * query; null or absent if none is queued.
   */
  dueAt(): MaybePromise<Readonly<Record<string, number | null>>>;
  /** Called with every error, and with the name of the job type if the error has one. */
  onError(error: unknown, name?: string): void;
}

/**
 * Runs the queued jobs of all types in one loop, each when it is due.
 *
 * It polls every `pollMs`, with one query for all types, and sleeps until the earliest due time; every `idlePollMs`
 * when, for a while, neither `wake` nor `poll` was called and no job was due. Polling finds the jobs that other
 * processes queued, and those for which this one did not call `wake`. No type waits for another. If other processes
 * have claimed all due jobs, or storage fails, it retries every `pollMs`. Several processes can share the rows. If a
 * process is killed, its leases expire and others run its jobs.
 */
export class JobLoop<Name extends string = string> {
  readonly #options: JobLoopOptions;
  readonly #queues: ReadonlyMap<string, Queue>;
  readonly #stopping = new AbortController();
  #polling: Promise<void> | undefined;
  #activeUntilMs = Number.NEGATIVE_INFINITY;
  #lastPollMs = Number.NEGATIVE_INFINITY;
  #nextPollMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(types: readonly JobType<unknown, Name>[], options: JobLoopOptions) {
    this.#options = options;
    this.#queues = new Map(types.map(type => [type.name, new Queue(type)]));
    this.#schedule();
  }

  /** Polls within `pollMs`, because there may be new jobs. */
  poll(): void {
    if (this.#stayActive()) this.#schedule();
  }

  /** Claims jobs of a type immediately, because there may be new ones. Ignores types that this loop does not run. */
  wake(name: Name): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    queue.wake();
    this.poll();
    this.#schedule();
  }

  /** Stops claiming, and waits for running jobs for at most `timeoutMs`. Idempotent. */
  async close(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await endsWithin(this.#idle(), timeoutMs);
  }

  async #idle(): Promise<void> {
    const queues = [...this.#queues.values()];
    await Promise.all([this.#polling, ...queues.map(queue => queue.claiming)]);
    await Promise.all(queues.flatMap(queue => [...queue.running.values()]));
  }

  /** Starts all due jobs, and sleeps until the next due time. Runs again after every poll, claim and job. */
  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    clearTimeout(this.#timer);
    if (this.#polling === undefined && performance.now() >= this.#nextPollMs) {
      this.#polling = this.#readDueTimes().then(() => {
        this.#polling = undefined;
        this.#schedule();
      });
    }
    let waitMs = this.#polling === undefined ? this.#nextPollMs - performance.now() : Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      const dueInMs = queue.dueInMs(this.#options.clock.now());
      if (dueInMs > 0) {
        waitMs = Math.min(waitMs, dueInMs);
        continue;
      }
      queue.claiming = this.#claim(queue).then(() => {
        queue.claiming = undefined;
        this.#schedule();
      });
    }
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#schedule(), Math.max(1, Math.ceil(waitMs))).unref();
  }

  async #readDueTimes(): Promise<void> {
    this.#lastPollMs = performance.now();
    const { pollMs, idlePollMs } = this.#options;
    this.#nextPollMs = this.#lastPollMs + (this.#lastPollMs < this.#activeUntilMs ? pollMs : idlePollMs);
    const claimsBefore = new Map(Array.from(this.#queues.values(), queue => [queue, queue.claims]));
    try {
      const due = await this.#options.dueAt();
      for (const [queue, claims] of claimsBefore) {
        // A claim since then may have taken the jobs that the poll found.
        if (queue.claims !== claims || queue.claiming !== undefined) this.#pollSoon();
        else queue.dueAt = due[queue.type.name] ?? null;
      }
    } catch (error) {
      this.#stayActive();
      this.#reportError(error);
    }
  }

  /** Polls every `pollMs` for a while, and reports whether the next poll is sooner than it was. */
  #stayActive(): boolean {
    const { pollMs } = this.#options;
    this.#activeUntilMs = performance.now() + ACTIVE_POLLS * pollMs;
    const nextPollMs = this.#lastPollMs + pollMs;
    if (nextPollMs >= this.#nextPollMs) return false;
    this.#nextPollMs = nextPollMs;
    return true;
  }

  /** Polls early, because the next due time is unknown. */
  #pollSoon(): void {
    this.#nextPollMs = Math.min(this.#nextPollMs, this.#lastPollMs + POLL_INTERVAL_MIN_MS);
  }

  async #claim(queue: Queue): Promise<void> {
    this.#stayActive();
    const { type, running } = queue;
    const limit = type.concurrency - running.size;
    const wasDue = queue.startClaim(this.#options.clock.now());
    const runningBefore = new Set(running.keys());
    try {
      if (!queue.initialized) await type.init?.();
      queue.initialized = true;
      const { rows, jobs: claimed } = await type.claim(limit);
      const jobs = claimed.filter(job => !runningBefore.has(queue.idOf(job)));
      for (const job of jobs) this.#start(queue, job);
      if (rows > 0) this.#afterClaim(queue, jobs.length === 0 || jobs.length >= limit);
      else if (queue.foundRows) {
        queue.foundRows = false;
        this.#pollSoon();
      } else if (wasDue && !queue.wanted) queue.pause(this.#options.pollMs);
    } catch (error) {
      queue.wanted = true;
      queue.pause(this.#options.pollMs);
      this.#reportError(error, type.name);
    }
  }

  #afterClaim(queue: Queue, maybeMore: boolean): void {
    if (maybeMore) queue.wanted = true;
    else this.#pollSoon();
    queue.pause(queue.type.pauseMs ?? 0);
    queue.foundRows = true;
  }

  #start(queue: Queue, job: unknown): void {
    const { type, running, wake } = queue;
    const id = queue.idOf(job);
    const done = type
      .run(job, this.#stopping.signal)
      .catch(error => this.#reportError(error, type.name))
      .then(() => {
        running.delete(id);
        // Other jobs may have waited for this one.
        wake();
        this.#schedule();
      });
    running.set(id, done);
  }

  #reportError(error: unknown, name?: string): void {
    if (!this.#stopping.signal.aborted) this.#options.onError(error, name);
  }
}

/** The minimum interval between polls, even when jobs become due one after another. */
const POLL_INTERVAL_MIN_MS = 20;
/** The number of polls after the last activity until the loop is idle. */
const ACTIVE_POLLS = 2;

class Queue {
  readonly type: JobType<unknown>;
  /** The running jobs, by their ids. */
  readonly running = new Map<unknown, Promise<void>>();
  initialized: boolean;
  /** Whether to claim regardless of the known due time. */
  wanted: boolean;
  /** The next known due time. */
  dueAt: number | null = null;
  /** Whether the last claim found rows. */
  foundRows = false;
  claiming: Promise<void> | undefined;
  /** The number of claims so far. */
  claims = 0;
  /** The time before which no claim starts, as `performance.now()`. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(type: JobType<unknown>) {
    this.type = type;
    this.initialized = type.init === undefined;
    this.wanted = !this.initialized;
  }

  idOf(job: unknown): unknown {
    return this.type.idOf === undefined ? job : this.type.idOf(job);
  }

  readonly wake = (): void => {
    this.wanted = true;
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY;
  };

  pause(ms: number): void {
    this.#pausedUntilMs = performance.now() + ms;
  }

  /** Returns in how many milliseconds to claim; infinite while it claims or runs at its limit. */
  dueInMs(now: number): number {
    if (this.claiming !== undefined || this.running.size >= this.type.concurrency) return Number.POSITIVE_INFINITY;
    const dueInMs = this.wanted ? 0 : this.dueAt === null ? Number.POSITIVE_INFINITY : this.dueAt - now;
    return Math.max(dueInMs, this.#pausedUntilMs - performance.now());
  }

  /** Records the start of a claim, and reports whether a job was known to be due. */
  startClaim(now: number): boolean {
    const wasDue = this.dueAt !== null && this.dueAt <= now;
    if (wasDue) this.dueAt = null;
    this.wanted = false;
    this.claims++;
    return wasDue;
  }
}
