import type { Origin } from '../../origin.ts';
import type { CounterTable, MaybePromise, ReadableCounterTable, Transaction } from '../database.ts';
import type { TransactionDeadlines, VisibilityDeadlines } from '../deadlines.ts';
import { PendingIncrements } from '../increments.ts';
import type { Query } from '../query.ts';
import type { Prepared, RunResult, SqliteConnection } from './connection.ts';

/** The changes of a transaction. Units of work that commit or roll back together share one set. */
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

/** The result of a unit of work. */
export interface WorkResult {
  readonly failed: boolean;
  /** The returned value or the thrown error. */
  readonly value: unknown;
  /** Whether it failed and its writes are still in the open transaction. */
  readonly partial: boolean;
  /** Call `end` once its changes are visible or rolled back. Safe to repeat. */
  readonly deadlines: TransactionDeadlines | undefined;
}

export interface WorkOptions {
  readonly now: number;
  readonly origin: Origin | undefined;
  readonly deadlines: VisibilityDeadlines;
  readonly changes: ChangeSet;
  /** Whether to undo its writes if it fails. Costs a savepoint, and a copy of each page that it writes. */
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
  const tx = new SqliteTransaction(connection, options);
  try {
    const returned = work(tx);
    const value = returned instanceof Promise ? await withinTurn(returned) : returned;
    tx.finish();
    return { failed: false, value, partial: false, deadlines: tx.deadlines };
  } catch (error) {
    tx.deadlines?.end();
    if (!connection.inTransaction) throw error;
    return { failed: true, value: error, partial: tx.undo(), deadlines: undefined };
  }
}

export class SqliteTransaction implements Transaction {
  readonly engine = 'sqlite';
  now: number;
  readonly origin: Origin | undefined;
  /** Absent until the work sets one. */
  deadlines: TransactionDeadlines | undefined;
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

  /**
   * Transactions run one at a time and wait for no locks; but another process with a faster clock may have written the
   * row.
   */
  refreshNow(after = 0): void {
    if (after > this.now) this.now = after;
  }

  requireVisibleBefore(end: number, late: () => Error): void {
    this.deadlines ??= this.#options.deadlines.forTransaction();
    this.deadlines.requireVisibleBefore(end, late);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#execute(this.#prepare(query), params, 'all') as R[];
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    const prepared = this.#prepare(query);
    // A statement with RETURNING must run to its end: SQLite checks foreign keys there.
    if (prepared.writes) return (this.#execute(prepared, params, 'all') as R[])[0];
    return this.#execute(prepared, params, 'get') as R | undefined;
  }

  run<P, R>(query: Query<P, R>, params: P): number {
    const prepared = this.#prepare(query);
    if (!prepared.statement.reader) return (this.#execute(prepared, params, 'run') as RunResult).changes;
    const { length } = this.#execute(prepared, params, 'all') as R[];
    return prepared.writes ? length : 0;
  }

  queue<P, R>(query: Query<P, R>, params: P, check?: (rows: number) => MaybePromise<void>): MaybePromise<void> {
    const prepared = this.#prepare(query);
    const { reader } = prepared.statement;
    const result = this.#execute(prepared, params, reader ? 'all' : 'run');
    return check?.(reader ? (result as R[]).length : (result as RunResult).changes);
  }

  insert<P>(query: Query<P, { id: number }>, params: P): number {
    return (this.#execute(this.#prepare(query), params, 'run') as RunResult).lastInsertRowid as number;
  }

  increment(counters: CounterTable, key: string, by: number): void {
    // With a savepoint, increments are written at the end of the work, and discarded if it fails.
    if (!this.#options.savepoint) this.#wrote = true;
    this.#changes.increments.increment(counters, key, by);
  }

  incrementAndGet(counters: ReadableCounterTable, key: string, by: number): number {
    if (!this.#options.savepoint) this.#wrote = true;
    // Unlike `first`, this does not write the pending increments before it reads.
    const numberOf = this.#prepare(counters.numberOf, false);
    const sum = this.#changes.increments.increment(counters, key, by);
    if (sum.stored === undefined) {
      const row = this.#execute(numberOf, { key }, 'get') as { number: number } | undefined;
      sum.stored = row?.number ?? 0;
    }
    return sum.stored + sum.by;
  }

  notify(topic: string): void {
    // Without a savepoint, work that fails must not pass its topics to the group.
    if (!this.#options.savepoint) this.#wrote = true;
    this.#changes.topics.add(topic);
  }

  /** Ends the work. Throws the error of a failed statement, even if the work caught it, or of a missed deadline. */
  finish(): void {
    // Without a savepoint the group writes its increments once, for all units.
    if (this.#options.savepoint && this.#error === undefined) this.#changes.increments.write(this);
    this.#closed = true;
    if (this.#error !== undefined) throw this.#error;
    this.deadlines?.check();
    if (this.#options.savepoint && this.#wrote) this.#connection.exec('release work');
  }

  /** Ends failed work and undoes its writes. Reports whether some writes remain, because there is no savepoint. */
  undo(): boolean {
    this.#closed = true;
    if (!this.#wrote) return false;
    if (!this.#options.savepoint) return true;
    this.#connection.exec('rollback to work; release work');
    return false;
  }

  /** Returns the statement of a query, by default after the pending increments that it may read. */
  #prepare<P, R>(query: Query<P, R>, seesIncrements = true): Prepared {
    if (this.#closed) {
      throw new Error('This transaction has ended: its work awaited something else, or continued after returning.');
    }
    if (this.#error !== undefined) throw this.#error;
    const prepared = this.#connection.statements.get(query);
    const { increments } = this.#changes;
    if (prepared.writes && !this.#wrote) {
      if (this.#options.savepoint) this.#connection.exec('savepoint work');
      this.#wrote = true;
    }
    if (seesIncrements && increments.concern(prepared.words)) increments.write(this);
    return prepared;
  }

  /** Runs a statement with a method of the driver, and returns its result. */
  #execute(prepared: Prepared, params: unknown, method: 'all' | 'get' | 'run'): unknown {
    const { statement, topic, writes } = prepared;
    try {
      const result = statement[method](prepared.values(params));
      const changed = method === 'run' ? (result as RunResult).changes : writes && (result as unknown[]).length;
      if (changed) {
        this.#changes.changedRows = true;
        if (topic !== undefined) this.#changes.topics.add(topic);
      }
      return result;
    } catch (error) {
      this.#error ??= error;
      throw error;
    }
  }
}

/**
 * Rejects work that is still pending at the end of this turn of the event loop: it awaits more than its transaction,
 * which would stay open while unrelated requests run.
 */
function withinTurn<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const endOfTurn = setImmediate(() => {
      reject(new Error('The work of a transaction awaits something other than its transaction.'));
    });
    work.then(resolve, reject).finally(() => clearImmediate(endOfTurn));
  });
}
