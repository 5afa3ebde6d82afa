import type { MaybePromise } from '../maybe-promise.ts';
import type { EngineName, Query } from './query.ts';

export type { MaybePromise };

/** Runs read-only queries. */
export interface Reader {
  readonly engine: EngineName;
  /** Returns every row, in the query's order. */
  all<P, R>(query: Query<P, R>, params: P): MaybePromise<R[]>;
  /** Returns the first row, or `undefined`. */
  first<P, R>(query: Query<P, R>, params: P): MaybePromise<R | undefined>;
}

/**
 * A transaction: its changes become durable and visible together, or not at all. It reads its own writes.
 *
 * Statements throw the engine's error when a constraint rejects them.
 */
export interface Transaction extends Reader {
  /** The transaction's timestamp: whole milliseconds since the Unix epoch. Only `refreshNow` changes it. */
  readonly now: number;
  /**
   * Advances `now` to the present. Call it after taking a row lock and before the change: the transaction may have waited.
   * @param after the row's last update, possibly by another clock; `now` is never before it
   */
  refreshNow(after?: number): void;
  /**
   * Fails the transaction unless it becomes visible before `end`, a time at which readers would see something else.
   * Until the transaction ends, `Database.readTimestamp` stays before `end`.
   * @param late creates the error, thrown here or by `write` instead of committing
   */
  requireVisibleBefore(end: number, late: () => Error): void;
  /** Runs a statement. Returns the number of rows it changed. */
  run<P, R>(query: Query<P, R>, params: P): MaybePromise<number>;
  /** Inserts one row by a query of `insertingOne`. Returns the id that the database assigned. */
  insert<P>(query: Query<P, { id: number }>, params: P): MaybePromise<number>;
  /**
   * Adds `by` to a counter. Increments are collected and written once per commit (SQLite: per group commit), or before
   * the next statement that mentions the counters' table.
   */
  increment(counters: CounterTable, key: string, by: number): void;
  /** Notifies every process on this database, after the commit, that `topic` has changed. */
  notify(topic: string): MaybePromise<void>;
}

/** A table of counters, written by adding to rows. */
export interface CounterTable {
  readonly table: string;
  /**
   * Adds sums to their counters. Must not be `async`: SQLite runs it without waiting.
   * @param sums by the key given to `Transaction.increment`, in ascending order of keys; none is 0
   */
  add(tx: Transaction, sums: readonly (readonly [key: string, by: number])[]): MaybePromise<unknown>;
}

/** A database of the product: the same queries on either engine. Reads return only durable data. */
export interface Database extends Reader {
  /**
   * Runs `work` in a transaction. Resolves once everything it wrote *and everything it read* is on disk. An error of
   * `work` rolls the transaction back and is rethrown after the same wait.
   *
   * `work` may await only its transaction. It may run more than once, so it must have no other effects.
   * @throws {StorageError} `full`: the disk is full, nothing changed, retry later. `unavailable`: no connection or lock in
   *   time (nothing changed), or a flush took too long (unknown whether it changed). `closed`: shutting down. `failed`: a
   *   flush failed; the process must restart
   */
  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T>;
  /**
   * Returns the timestamp that reads must use: `now`, or one millisecond before the earliest deadline that a running
   * transaction set with `requireVisibleBefore`, if that has passed.
   * @param now whole milliseconds since the Unix epoch
   */
  readTimestamp(now: number): number;
  /**
   * Returns a number that changes whenever rows of `table` may have changed, in this process or another. A response
   * computed from those rows stays valid while the number is the same. `undefined`: do not cache (PostgreSQL).
   */
  dataVersion(table: string): number | undefined;
  /**
   * Returns a number that changes after any process notifies `topic`: SQLite before the next request, PostgreSQL within a
   * second. Values cached under it stay valid while it is the same. `undefined`: do not use the cache, because this
   * process has not reached the database for a second.
   */
  topicVersion(topic: string): number | undefined;
  /**
   * Calls `listener` after a write of this process may have changed `table`, once reads see it. Other processes' writes
   * are not reported. The listener must return quickly and not throw. Absent on a CLI connection.
   * @returns unsubscribes
   */
  onChange?(table: string, listener: () => void): () => void;
  /** Returns the state of the database, checked at most once per second. Never throws. */
  health(): MaybePromise<Health>;
  /**
   * PostgreSQL only: takes the advisory lock `name` for the life of this process. Waits a few seconds, because the server
   * needs that long to notice a killed holder. SQLite has no need of it: one process serves a file.
   * @returns false when another process holds the lock, and on a CLI connection
   */
  tryAdvisoryLock?(name: string): Promise<boolean>;
  /** Waits for pending writes, flushes, and closes all connections. */
  close(): Promise<void>;
}

/** The state of a database. */
export interface Health {
  /** Whether reads work. */
  readonly ok: boolean;
  /** Whether writes work; if not, why they failed or wait. */
  readonly writes: 'ok' | 'full' | 'stalled' | 'unavailable';
  /** One sentence about the problem, without secrets; empty when there is none. */
  readonly detail: string;
}

/** An error of the storage itself. Its message is one sentence for a person, without secrets or data. */
export class StorageError extends Error {
  readonly reason: 'full' | 'unavailable' | 'closed' | 'failed';
  constructor(reason: StorageError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StorageError';
    this.reason = reason;
  }
}

/** Reports whether an engine rejected a row because of a unique index. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505';
}
