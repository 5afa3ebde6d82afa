import type { Origin } from '../../origin.ts';
import type { MaybePromise, StorageError, Transaction } from '../database.ts';
import type { WalFlush } from './flush.ts';
import type { Snapshots } from './snapshots.ts';
import type { ChangeSet, WorkResult } from './transaction.ts';

/** A caller's write: its work and, once it has run, the result of the work. */
export interface QueuedWrite {
  readonly work: (tx: Transaction) => MaybePromise<unknown>;
  readonly origin: Origin | undefined;
  readonly sinceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  result?: WorkResult;
  settled?: true;
}

/** The writes that wait for one flush, and the topics that it makes visible. */
interface PendingFlush {
  readonly writes: QueuedWrite[];
  readonly topics: Set<string>;
}

export interface FlushQueueDeps {
  readonly flush: WalFlush;
  readonly snapshots: Snapshots;
  /** Called when a flush has completed and reads see the changes to these topics, before the writes resolve. */
  onVisible(topics: ReadonlySet<string>): void;
  /** Called when a flush has completed and its writes have resolved. */
  onFlushed(): void;
  onFlushFailed(error: Error): void;
}

/** Resolves the writes of committed groups after their flush. One flush runs at a time. */
export class FlushQueue {
  readonly #deps: FlushQueueDeps;
  #current: PendingFlush | undefined;
  /** Absent while no group with changes waits for another flush. */
  #next: PendingFlush | undefined;
  #ended: StorageError | undefined;

  constructor(deps: FlushQueueDeps) {
    this.#deps = deps;
  }

  /** Whether every committed group is flushed. */
  get flushedAll(): boolean {
    return this.#current === undefined && this.#next === undefined;
  }

  get writes(): QueuedWrite[] {
    return [...(this.#current?.writes ?? []), ...(this.#next?.writes ?? [])];
  }

  /** Resolves the writes of a committed group once everything that they wrote and read is flushed. */
  add(writes: readonly QueuedWrite[], { changedRows, topics }: ChangeSet) {
    if (this.#ended !== undefined) return rejectAll(writes, this.#ended);
    if (changedRows || topics.size > 0) this.#next ??= { writes: [], topics: new Set() };
    const pending = this.#next ?? this.#current;
    if (pending === undefined) return settleAll(writes);
    for (const write of writes) pending.writes.push(write);
    for (const topic of topics) pending.topics.add(topic);
    this.#start();
  }

  /** Rejects all pending and all later writes. */
  end(error: StorageError): void {
    this.#ended = error;
    rejectAll(this.writes, error);
  }

  #start(): void {
    if (this.#current !== undefined || this.#next === undefined) return;
    this.#current = this.#next;
    this.#next = undefined;
    this.#deps.snapshots.back.beginRead();
    this.#deps.flush.start(this.#onFlushed);
  }

  readonly #onFlushed = (error: Error | undefined) => {
    if (this.#ended !== undefined) return;
    if (error !== undefined) return this.#deps.onFlushFailed(error);
    const { writes, topics } = this.#current!;
    this.#current = undefined;
    this.#deps.snapshots.advance();
    this.#deps.onVisible(topics);
    settleAll(writes);
    try {
      this.#start();
    } catch (error) {
      return this.#deps.onFlushFailed(error as Error);
    }
    this.#deps.onFlushed();
  };
}

function settleAll(writes: readonly QueuedWrite[]): void {
  for (const write of writes) {
    const { failed, value, deadlines } = write.result!;
    // Also for a write whose caller got a timeout.
    deadlines?.end();
    if (write.settled) continue;
    write.settled = true;
    if (failed) write.reject(value);
    else write.resolve(value);
  }
}

export function rejectAll(writes: readonly QueuedWrite[], error: unknown): void {
  for (const write of writes) {
    if (write.settled) continue;
    write.settled = true;
    write.reject(error);
  }
}
