import type { Origin } from '../../origin.ts';
import type { CounterTable, MaybePromise, ReadableCounterTable, Transaction } from '../database.ts';
import type { TransactionDeadlines } from '../deadlines.ts';
import { PendingIncrements } from '../increments.ts';
import type { Query } from '../query.ts';
import type { Prepared, SqliteConnection } from './connection.ts';

/** What a transaction changed. Units of work that commit or roll back together share one. */
export class ChangeSet {
  readonly increments = new PendingIncrements();
  readonly topics = new Set<string>();
  changedRows = false;

  /** Adds the changes of a unit of work that has written its increments. */
  include(other: ChangeSet): void {
    this.changedRows ||= other.changedRows;
    for (const topic of other.topics) this.topics.add(topic);
  }
}

/** How a unit of work ended. */
export interface WorkResult {
  readonly failed: boolean;
  /** What the work returned or threw. */
  readonly value: unknown;
  /** Whether it failed and its writes are still in the open transaction. */
  readonly partial: boolean;
  /** Call it once its changes are visible or rolled back. Safe to repeat. */
  end(): void;
}

export interface WorkOptions {
  readonly now: number;
  readonly origin: Origin | undefined;
  readonly deadlines: TransactionDeadlines;
  readonly guard: TurnGuard;
  readonly changes: ChangeSet;
  /** Whether its writes are undone when it fails. Costs a savepoint, and a copy of each page that it writes. */
  readonly savepoint: boolean;
}

/**
 * Runs a unit of work in the open transaction of `connection`.
 * @throws an error after which SQLite has rolled back the whole transaction, such as a full disk
 */
export async function runWork(
  connection: SqliteConnection,
  work: (tx: Transaction) => MaybePromise<unknown>,
  options: WorkOptions,
): Promise<WorkResult> {
  const { deadlines, guard } = options;
  const tx = new SqliteTransaction(connection, options);
  try {
    const returned = work(tx);
    const value = returned instanceof Promise ? await guard.limit(returned) : returned;
    tx.finish();
    return { failed: false, value, partial: false, end: deadlines.end };
  } catch (error) {
    deadlines.end();
    if (!connection.inTransaction) throw error;
    return { failed: true, value: error, partial: tx.undo(), end: deadlines.end };
  }
}

/** Writes the increments of the units that ran without savepoints. Call it before the commit. */
export function writeIncrements(connection: SqliteConnection, options: WorkOptions): void {
  if (options.changes.increments.isEmpty) return;
  const tx = new SqliteTransaction(connection, options);
  options.changes.increments.write(tx);
  tx.finish();
}

class SqliteTransaction implements Transaction {
  readonly engine = 'sqlite';
  now: number;
  readonly origin: Origin | undefined;
  readonly #connection: SqliteConnection;
  readonly #options: WorkOptions;
  readonly #changes: ChangeSet;
  /** The error of a failed statement. No statement may follow, as on PostgreSQL. */
  #error: unknown;
  #wrote = false;
  #closed = false;

  constructor(connection: SqliteConnection, options: WorkOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#changes = options.changes;
    this.now = options.now;
    this.origin = options.origin;
  }

  /** Transactions run one at a time and wait for no locks; but another process with a faster clock may have written. */
  refreshNow(after = 0): void {
    if (after > this.now) this.now = after;
  }

  requireVisibleBefore(end: number, late: () => Error): void {
    this.#options.deadlines.requireVisibleBefore(end, late);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#all(this.#prepare(query), params) as R[];
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    const prepared = this.#prepare(query);
    // A statement with RETURNING must run to its end: SQLite checks foreign keys there.
    return prepared.writes ? (this.#all(prepared, params)[0] as R | undefined) : this.#get<R>(prepared, params);
  }

  run<P, R>(query: Query<P, R>, params: P): number {
    const prepared = this.#prepare(query);
    if (!prepared.statement.reader) return this.#run(prepared, params).changes;
    const { length } = this.#all(prepared, params);
    return prepared.writes ? length : 0;
  }

  insert<P>(query: Query<P, { id: number }>, params: P): number {
    return this.#run(this.#prepare(query), params).lastInsertRowid as number;
  }

  increment(counters: CounterTable, key: string, by: number): void {
    // With a savepoint they are written at the end of the work, and dropped if it fails.
    if (!this.#options.savepoint) this.#wrote = true;
    this.#changes.increments.increment(counters, key, by);
  }

  incrementAndGet(counters: ReadableCounterTable, key: string, by: number): number {
    if (!this.#options.savepoint) this.#wrote = true;
    const { increments } = this.#changes;
    // The number without pending increments: unlike `first`, this does not write them.
    const stored = increments.stored(counters, key, () => {
      const row = this.#get<{ number: number }>(this.#statementOf(counters.numberOf), { key });
      return row?.number ?? 0;
    });
    return stored + increments.increment(counters, key, by);
  }

  notify(topic: string): void {
    // Without a savepoint, work that fails must not leave its topics to the group.
    if (!this.#options.savepoint) this.#wrote = true;
    this.#changes.topics.add(topic);
  }

  /** Ends the work. Throws the error of a failed statement, even if the work caught it, or of a missed deadline. */
  finish(): void {
    // Without a savepoint the group writes its increments once, for all units.
    if (this.#options.savepoint && this.#error === undefined) this.#changes.increments.write(this);
    this.#closed = true;
    if (this.#error !== undefined) throw this.#error;
    this.#options.deadlines.check();
    if (this.#options.savepoint && this.#wrote) this.#connection.exec('release work');
  }

  /** Ends failed work and undoes its writes. Returns whether some are left, because there is no savepoint. */
  undo(): boolean {
    this.#closed = true;
    if (!this.#wrote) return false;
    if (!this.#options.savepoint) return true;
    this.#connection.exec('rollback to work; release work');
    return false;
  }

  /** Returns the statement of a query, after the pending increments that it may read. */
  #prepare<P, R>(query: Query<P, R>): Prepared {
    const prepared = this.#statementOf(query);
    const { increments } = this.#changes;
    if (prepared.writes && !this.#wrote) {
      if (this.#options.savepoint) this.#connection.exec('savepoint work');
      this.#wrote = true;
    }
    if (!increments.isEmpty && increments.concern(prepared.words)) increments.write(this);
    return prepared;
  }

  #statementOf<P, R>(query: Query<P, R>): Prepared {
    if (this.#closed) {
      throw new Error('This transaction has ended: its work awaited something else, or continued after returning.');
    }
    if (this.#error !== undefined) throw this.#error;
    return this.#connection.statements.get(query);
  }

  #get<R>(prepared: Prepared, params: unknown): R | undefined {
    try {
      return prepared.statement.get(prepared.values(params)) as R | undefined;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #all(prepared: Prepared, params: unknown): unknown[] {
    try {
      const rows = prepared.statement.all(prepared.values(params));
      if (prepared.writes) this.#changed(prepared, rows.length);
      return rows;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #run(prepared: Prepared, params: unknown) {
    try {
      const result = prepared.statement.run(prepared.values(params));
      this.#changed(prepared, result.changes);
      return result;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #changed(prepared: Prepared, rows: number): void {
    if (rows === 0) return;
    this.#changes.changedRows = true;
    if (prepared.topic !== undefined) this.#changes.topics.add(prepared.topic);
  }

  #fail(error: unknown): unknown {
    this.#error ??= error;
    return error;
  }
}

/**
 * Rejects work that is still pending at the end of this turn of the event loop: it awaits something other than its
 * transaction, which would stay open while unrelated requests run.
 */
export class TurnGuard {
  #immediate: NodeJS.Immediate | undefined;
  #reject: ((error: Error) => void) | undefined;

  limit<T>(work: Promise<T>): Promise<T> {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#reject?.(new Error('The work of a transaction awaits something other than its transaction.'));
    });
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  end(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
  }
}
