import type { Clock } from '../clock.ts';
import type { Histogram } from '../histogram.ts';
import type { Log } from '../log.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Origin } from '../origin.ts';
import type { Migration } from './migration.ts';
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
 * A transaction: its changes become durable and visible together, or not at all. It reads its own writes. Statements
 * throw the engine's error when a constraint rejects them.
 */
export interface Transaction extends Reader {
  /** The timestamp of the changes: whole milliseconds since the Unix epoch. Only `refreshNow` changes it. */
  readonly now: number;
  /** The source of the changes; `undefined` for automatic changes, such as an expiry. */
  readonly origin: Origin | undefined;
  /**
   * Advances `now` to the present. Call it after taking a row lock and before the change: the transaction may have
   * waited for the lock.
   * @param after the row's last update, possibly by another clock; `now` is never before it
   */
  refreshNow(after?: number): void;
  /**
   * Requires the commit before `end`, when a row that the change depends on expires. If it is too late, this method or
   * `Database.write` throws the error that `late` returns. Meanwhile `Database.readTimestamp` stays before `end`.
   */
  requireVisibleBefore(end: number, late: () => Error): void;
  /**
   * Claims a row or a lock for this work. Work that shares its transaction (see `Database.write`) calls it before it locks
   * something, because locks do not separate the parts of one transaction. If other work has claimed the same, this work
   * ends with an error, and runs again later in a transaction of its own.
   */
  claim?(resource: string): void;
  /** Returns the number of rows that a statement changed. */
  run<P, R>(query: Query<P, R>, params: P): MaybePromise<number>;
  /**
   * Runs a statement whose result the next statements do not depend on. On PostgreSQL it is sent with the next statement
   * that returns a result, or with the commit; if it fails, so do these and the transaction.
   * @param check called before the commit with the number of rows that the statement changed or, for a read on
   *   PostgreSQL, returned. Its error fails the transaction
   */
  queue<P, R>(query: Query<P, R>, params: P, check?: (rows: number) => MaybePromise<void>): MaybePromise<void>;
  /**
   * PostgreSQL only: returns an id for a new row of `table`, so that the next statements need not wait for the insert. On
   * SQLite, where no statement waits, the insert assigns the id.
   */
  readonly newId?: ((table: string) => Promise<number>) | undefined;
  /**
   * Inserts one row by a query of `insertingOne`. Returns its id.
   * @param id the id in `params`, if it is of `newId`: the statement is then sent as by `queue`
   */
  insert<P>(query: Query<P, { id: number }>, params: P, id?: number): MaybePromise<number>;
  /**
   * Adds `by` to a counter. Increments are collected and written once per commit (SQLite: per group commit), or before
   * the next statement that mentions the counters' table.
   */
  increment(counters: CounterTable, key: string, by: number): void;
  /**
   * Adds `by` to a counter and returns its number, with all increments of this transaction. On PostgreSQL, the next
   * transaction that does so waits until this one ends, so that concurrent transactions cannot exceed a bound.
   */
  incrementAndGet(counters: ReadableCounterTable, key: string, by: number): MaybePromise<number>;
  /** Changes `Database.topicVersion(topic)` in every process on this database, after the commit. */
  notify(topic: string): MaybePromise<void>;
}

/** A table of counters that is written by adding to its rows. */
export interface CounterTable {
  readonly table: string;
  /** Adds sums to their counters. It reads no rows that the statement of another table writes. */
  readonly add: Query<CounterSums, unknown>;
  /** Does the same for negative sums; `add` by default. */
  readonly subtract?: Query<CounterSums, unknown>;
}

export interface CounterSums {
  /** The slot of the transaction; see `slotOf`. */
  readonly slot: number;
  /**
   * A JSON array of rows in ascending order of keys: the words of the key given to `Transaction.increment`, and the sum,
   * which is not 0.
   */
  readonly rows: string;
}

/** A table of counters whose numbers transactions read while they add to them. */
export interface ReadableCounterTable extends CounterTable {
  /** Selects the stored number of a counter: no row for 0. */
  readonly numberOf: Query<{ key: string }, { number: number }>;
  /** Adds to one counter and returns its number (PostgreSQL). Without it, only SQLite reads counters this way. */
  readonly addOne?: Query<{ key: string; by: number }, { number: number }>;
}

/** A database of the product: the same queries on either engine. Reads return only durable data. */
export interface Database extends Reader {
  /**
   * Runs `work` in a transaction. Resolves once everything it wrote *and everything it read* is on disk. An error of
   * `work` rolls the transaction back and is rethrown after the same wait.
   *
   * `work` may run more than once, on SQLite even if it succeeded, because it shares a transaction with other writes:
   * if one of them fails after a statement, all are rolled back and run again. On PostgreSQL it runs again after a
   * deadlock or a lost connection. So it may await only its transaction and must have no other effects.
   * @param group PostgreSQL only: works with the same group may run concurrently in one transaction, which then commits
   *   once for all. They must claim what they lock; see `Transaction.claim`
   * @throws {StorageError} `full`: the disk is full, nothing changed, retry later. `unavailable`: no connection or lock
   *   in time (nothing changed), or a flush took too long (unknown whether it changed). `closed`: shutting down.
   *   `failed`: a flush failed; the process must restart
   */
  write<T>(work: (tx: Transaction) => MaybePromise<T>, origin?: Origin, group?: number): Promise<T>;
  /**
   * Returns the timestamp that reads must use: `now`, in whole milliseconds since the Unix epoch, but before every
   * deadline that a running transaction has set with `requireVisibleBefore`.
   */
  readTimestamp(now: number): number;
  /**
   * Returns a number that changes whenever rows of `table` may have changed, in this process or another. A response
   * computed from those rows is valid while the number is the same. Returns `undefined` on PostgreSQL: do not cache.
   */
  dataVersion(table: string): number | undefined;
  /**
   * Returns a number that changes after any process notifies `topic`: with SQLite before the next request, with
   * PostgreSQL within a second. Cached values are valid while the number is the same. Returns `undefined` if this
   * process has not reached the database for a second: do not use the cache.
   */
  topicVersion(topic: string): number | undefined;
  /**
   * Calls `listener` after a write of this process may have changed `table` and reads can see it. Writes of other
   * processes do not call it. The listener must return quickly and not throw. Returns a function that unsubscribes.
   * Absent on a CLI connection.
   */
  onChange?(table: string, listener: () => void): () => void;
  /**
   * PostgreSQL only: calls `listener` soon after a change by a command or by a transaction that calls `notify`, and
   * after a reconnect. Calls may be lost, so poll as well. Returns a function that unsubscribes.
   */
  onNotification?(listener: () => void): () => void;
  /** Returns the state of the database, checked at most once per second. Never throws. */
  health(): MaybePromise<Health>;
  /** PostgreSQL only: returns how long a new call will probably wait for a connection, in milliseconds. */
  expectedWaitMs?(): number;
  /** Returns measurements for monitoring. Absent on a CLI connection. */
  measurements?(): StorageMeasurements;
  /**
   * PostgreSQL only, as one process serves a SQLite file: takes the advisory lock `name` for the life of this process.
   * Waits a few seconds, because the server needs that long to notice a killed holder. Returns false when another
   * process holds the lock, and on a CLI connection.
   */
  tryAdvisoryLock?(name: string): Promise<boolean>;
  /** Waits for pending writes, flushes, and closes all connections. */
  close(): Promise<void>;
}

/** Options for opening a database on either engine. */
export interface OpenOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** `server` for the process that serves the database; `cli` for a command that may run beside it. */
  readonly role: 'server' | 'cli';
  readonly log: Log;
  /** PostgreSQL: the size of the pool; 2 by default. A server has one more connection for notifications. */
  readonly connectionsMax?: number;
  /** Multiplies the timeouts of PostgreSQL, or of writes to a disk, for tests on a busy machine; 1 by default. */
  readonly timeoutScale?: number | undefined;
  /** The default origin of writes, for commands. */
  readonly origin?: Origin | undefined;
  /** SQLite: called when a flush has failed. The process must exit; the next start recovers the database. */
  onFailed?(error: Error): void;
}

export interface Health {
  readonly ok: boolean;
  /** Whether writes work; if not, why they fail or wait. */
  readonly writes: 'ok' | 'full' | 'stalled' | 'unavailable';
  /** One sentence about the problem, for callers (see `StorageError.publicMessage`); or empty. */
  readonly detail: string;
}

/** Measurements of an engine: current values, and totals since the start of the process. */
export interface StorageMeasurements {
  /** SQLite: the durations of flushes and of checkpoints, in seconds, and the size of the write-ahead log. */
  readonly wal?: { readonly flushes: Histogram; readonly checkpoints: Histogram; readonly bytes: number };
  /** PostgreSQL: the connections of the pool, and the calls that wait for one. */
  readonly pool?: PoolState;
}

export interface PoolState {
  readonly used: number;
  readonly idle: number;
  readonly max: number;
  readonly waiting: number;
}

/** An error of the storage itself. Its message is one sentence for the operator, without secrets or data. */
export class StorageError extends Error {
  readonly reason: 'full' | 'unavailable' | 'closed' | 'failed';
  /** The message for callers: it names no host, port, database or file. By default the same as `message`. */
  readonly publicMessage: string;
  /** Whether a server that can be reached did not respond in time. */
  readonly isSlow: boolean;
  constructor(
    reason: StorageError['reason'],
    message: string,
    { publicMessage = message, isSlow = false, ...options }: StorageErrorOptions = {},
  ) {
    super(message, options);
    this.name = 'StorageError';
    this.reason = reason;
    this.publicMessage = publicMessage;
    this.isSlow = isSlow;
  }
}

type StorageErrorOptions = ErrorOptions & Partial<Pick<StorageError, 'publicMessage' | 'isSlow'>>;

/** Reports whether an engine rejected a row because of a unique index. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505';
}
