import type { MaybePromise } from '../maybe-promise.ts';
import type { EngineName, Query } from './query.ts';

export type { MaybePromise };

/** Runs queries that change nothing. */
export interface Reader {
  readonly engine: EngineName;
  /** Every row, in the query's order. */
  all<P, R>(query: Query<P, R>, params: P): MaybePromise<R[]>;
  /** The first row, or `undefined` where there is none. */
  first<P, R>(query: Query<P, R>, params: P): MaybePromise<R | undefined>;
}

/**
 * One transaction: all of its changes become durable and visible together, or none does.
 *
 * It sees its own changes. A constraint that refuses a change throws the engine's error out of the work.
 */
export interface Transaction extends Reader {
  /**
   * The one time at which everything in this transaction happens: whole milliseconds since the Unix epoch. It stands
   * still, but for `locked`.
   */
  readonly now: number;
  /**
   * Moves `now` on, because locks may have been waited for: others were at it until this moment. Called behind a lock,
   * before what it is for is changed.
   * @param after when what is locked was changed last, maybe by another clock: `now` is not before it
   */
  refreshNow(after?: number): void;
  /**
   * Demands that what this transaction changes is seen before `end`, at which readers would see something else. Until it
   * is, readers of this process do not come to that time (`Database.readableAt`).
   * @param late makes what is thrown where that is not sure: here, or by `write` instead of the commit
   */
  requireVisibleBefore(end: number, late: () => Error): void;
  /** Runs a query for its effect; how many rows it changed. */
  run<P, R>(query: Query<P, R>, params: P): MaybePromise<number>;
  /** Tells every process on this database, once this transaction is committed, that `topic` has changed. */
  notify(topic: string): MaybePromise<void>;
}

/**
 * A database of the product: one set of queries over either engine.
 *
 * Reads see only what is durable: a fact that a power cut could still take back is shown to nobody.
 */
export interface Database extends Reader {
  /**
   * Runs `work` in a transaction and answers with its result once everything it changed, *and everything it saw*, is
   * on disk. What `work` throws undoes its changes and is thrown on, after the same wait.
   *
   * `work` may await nothing but its transaction, and may run more than once: it has no effect outside of it.
   * @throws {StorageError} `full` when the disk is (nothing was changed; try again later), `unavailable` when the
   *   database cannot be reached or locked in time (nothing was changed) or a flush did not come back in time (whether
   *   it was changed is not known), `closed` while stopping, `failed` when a flush failed, which is final
   */
  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T>;
  /**
   * The time as of which reads see how things are: `now`, unless a change is under way that has to be seen before an end
   * (`Transaction.seenBefore`) that has come meanwhile; then a moment before that end.
   * @param now whole milliseconds since the Unix epoch
   */
  readTimestamp(now: number): number;
  /**
   * A number that moves whenever what reads see of `table` may have changed, by this process or another; answers made
   * of nothing else are good while it stands still. `undefined` where an answer must not be kept (PostgreSQL).
   */
  dataVersion(table: string): number | undefined;
  /**
   * A number that moves once `topic` was announced, by this process or another. What was kept under it is good while
   * it stands still. `undefined` when this process cannot know (it has heard nothing from the database for a second):
   * then look everything up anew. Embedded: moves for the very next request. PostgreSQL: within a second.
   */
  topicVersion(topic: string): number | undefined;
  /**
   * Calls `listener` whenever a write of this process may have changed what reads see of `table`, once they see it. It must
   * return at once and throw nothing. What other processes did is not told. Absent for a visitor.
   * @returns ends it
   */
  onChange?(table: string, listener: () => void): () => void;
  /** What an operator should know, asked at most once a second however often it is called. Never throws. */
  health(): MaybePromise<Health>;
  /**
   * PostgreSQL only: takes the lock of this name on this database for as long as this process lives, so that it is the
   * only one of its kind. The lock of a process that was killed is free within seconds, and so long this waits.
   * Absent on the embedded engine, where one process serves a file anyway.
   * @returns false when another process holds it, and for a visitor
   */
  tryAdvisoryLock?(name: string): Promise<boolean>;
  /** Waits for what is in flight, brings everything to disk and lets go of it. */
  close(): Promise<void>;
}

/** How a database is. */
export interface Health {
  /** Whether it can serve reads now. */
  readonly ok: boolean;
  /** Whether writes were refused lately because the disk is full, or wait for a flush that does not come back. */
  readonly writes: 'ok' | 'full' | 'stalled' | 'unavailable';
  /** One sentence about what is wrong, without secrets; empty when all is well. */
  readonly detail: string;
}

/** Why storage refused; the message is one sentence for a person and holds no secret and no data. */
export class StorageError extends Error {
  readonly reason: 'full' | 'unavailable' | 'closed' | 'failed';
  constructor(reason: StorageError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StorageError';
    this.reason = reason;
  }
}

/** Whether `error` is an engine's refusal of a row that a unique index has already. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505';
}
