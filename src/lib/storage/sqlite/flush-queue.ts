import type { MaybePromise, StorageError, Transaction } from '../database.ts';
import type { WalFlush } from './flush.ts';
import type { Snapshots } from './snapshots.ts';
import type { ChangeSet, WorkResult } from './transaction.ts';

/** A write of a caller: its work, and after the work its result. */
export interface Job {
  readonly work: (tx: Transaction) => MaybePromise<unknown>;
  readonly sinceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  result?: WorkResult | undefined;
  settled?: true;
}

/** The jobs that wait for one flush, and the topics that it makes visible. */
interface PendingFlush {
  readonly jobs: Job[];
  readonly topics: Set<string>;
}

export interface FlushQueueDeps {
  readonly flush: WalFlush;
  readonly snapshots: Snapshots;
  /** A flush has completed, and reads see the changes to these topics. Called before the jobs are settled. */
  onVisible(topics: ReadonlySet<string>): void;
  /** Called after the jobs are settled. */
  onFlushed(): void;
  onFlushFailed(error: Error): void;
}

/** Settles the jobs of committed groups after the flush that covers what they wrote and read. One flush runs at a time. */
export class FlushQueue {
  readonly #deps: FlushQueueDeps;
  /** How many groups with changes were committed, and how many of those are flushed. */
  #committed = 0;
  #flushed = 0;
  #current: (PendingFlush & { readonly covers: number }) | undefined;
  #next: PendingFlush = { jobs: [], topics: new Set() };
  #ended: StorageError | undefined;

  constructor(deps: FlushQueueDeps) {
    this.#deps = deps;
  }

  /** Whether every committed group is flushed. */
  get flushedAll(): boolean {
    return this.#committed === this.#flushed;
  }

  /** The jobs that wait for a flush. */
  get jobs(): Job[] {
    return [...(this.#current?.jobs ?? []), ...this.#next.jobs];
  }

  /** Adds the jobs of a committed group. */
  add(jobs: readonly Job[], { changedRows, topics }: ChangeSet): void {
    if (this.#ended !== undefined) {
      rejectAll(jobs, this.#ended);
      return;
    }
    if (changedRows || topics.size > 0) this.#committed++;
    else if (this.flushedAll) {
      settleAll(jobs);
      return;
    }
    const pending = this.#current?.covers === this.#committed ? this.#current : this.#next;
    for (const job of jobs) pending.jobs.push(job);
    for (const topic of topics) pending.topics.add(topic);
    this.#start();
  }

  /** Rejects all pending and all later jobs. */
  end(error: StorageError): void {
    this.#ended = error;
    rejectAll(this.jobs, error);
  }

  #start(): void {
    if (this.#current !== undefined || this.flushedAll) return;
    this.#current = { ...this.#next, covers: this.#committed };
    this.#next = { jobs: [], topics: new Set() };
    this.#deps.snapshots.prepare();
    this.#deps.flush.start(this.#onFlushed);
  }

  readonly #onFlushed = (error: Error | undefined) => {
    if (this.#ended !== undefined) return;
    if (error !== undefined) return this.#deps.onFlushFailed(error);
    const { jobs, topics, covers } = this.#current!;
    this.#current = undefined;
    this.#flushed = covers;
    this.#deps.snapshots.advance();
    this.#deps.onVisible(topics);
    settleAll(jobs);
    try {
      this.#start();
    } catch (error) {
      return this.#deps.onFlushFailed(error as Error);
    }
    this.#deps.onFlushed();
  };
}

function settleAll(jobs: readonly Job[]): void {
  for (const job of jobs) {
    const { failed, value, end } = job.result!;
    // Also for a job whose caller got a timeout.
    end();
    if (job.settled) continue;
    job.settled = true;
    if (failed) job.reject(value);
    else job.resolve(value);
  }
}

/** Rejects the jobs that are not settled yet. */
export function rejectAll(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) {
    if (job.settled) continue;
    job.settled = true;
    job.reject(error);
  }
}
