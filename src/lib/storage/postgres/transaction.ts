import type { Origin } from '../../origin.ts';
import type { MaybePromise, Transaction } from '../database.ts';
import type { TransactionDeadlines, VisibilityDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import type { QueryResult } from './batch.ts';
import { NOTIFY } from './notifications.ts';
import type { Connection } from './session.ts';
import { StatementQueue } from './statement-queue.ts';

export interface TransactionOptions {
  readonly origin: Origin | undefined;
  readonly deadlines: VisibilityDeadlines;
  /** The topics that the transaction notifies are added here, with their versions once they are known. */
  readonly notified: Map<string, number | undefined>;
  /** The tables that the transaction may change are added here. */
  readonly changedTables: Set<string>;
  /** Whether to notify servers of every change. True on a CLI connection, whose commands queue work for them. */
  readonly notifies: boolean;
}

/** Runs `work` in a `read committed` transaction. */
export async function runTransaction<T>(
  connection: Connection,
  deadlineMs: number,
  options: TransactionOptions,
  work: (tx: Transaction) => MaybePromise<T>,
): Promise<T> {
  const statements = new StatementQueue(connection, deadlineMs);
  const tx = new PostgresTransaction(statements, options);
  try {
    const result = await work(tx);
    const notifies = options.notifies && options.changedTables.size > 0;
    await statements.commit(tx, notifies, tx.deadlines?.check);
    return result;
  } catch (error) {
    await statements.rollback();
    throw error;
  } finally {
    tx.deadlines?.end();
  }
}

/** Work that may share a transaction with other work. */
export interface SharedWork {
  readonly work: (tx: Transaction) => MaybePromise<unknown>;
  readonly options: TransactionOptions;
}

/** The outcome of shared work, which is final. */
export type WorkOutcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Runs several pieces of work concurrently in one `read committed` transaction. It commits what succeeds; if work fails
 * after a change, or a statement fails, it rolls all back.
 * @returns the outcome of each work; `undefined` for work that changed nothing and must run alone
 * @throws {UnknownOutcomeError}; any other error means that nothing was changed
 */
export async function runShared(
  connection: Connection,
  deadlineMs: number,
  all: readonly SharedWork[],
): Promise<(WorkOutcome | undefined)[]> {
  const statements = new StatementQueue(connection, deadlineMs);
  statements.enqueue(LIMIT_LOCKS, []);
  const claims = new Map<string, PostgresTransaction>();
  const transactions = all.map(({ options }) => new PostgresTransaction(statements, options, claims));
  try {
    const outcomes = await Promise.all(
      all.map(async ({ work }, index): Promise<WorkOutcome | undefined> => {
        const tx = transactions[index]!;
        try {
          const value = await work(tx);
          if (!tx.mustRunAlone) return { value };
        } catch (error) {
          if (tx.hasChanged) throw error;
          if (!tx.mustRunAlone) return { error };
        }
        if (tx.hasChanged) throw new Error('This work cannot share a transaction.');
        return undefined;
      }),
    );
    const notifies = all.some(({ options }) => options.notifies && options.changedTables.size > 0);
    await statements.commit(transactions[0]!, notifies, undefined);
    return outcomes;
  } catch (error) {
    await statements.rollback();
    throw error;
  }
}

/** Transactions that share locks could wait for each other. Then each piece of work runs alone. */
const LIMIT_LOCKS = { sql: `set local lock_timeout = '50ms'`, id: -6 };

class PostgresTransaction implements Transaction {
  readonly engine = 'postgres';
  now: number;
  readonly origin: Origin | undefined;
  /** Absent until the work sets one. */
  deadlines: TransactionDeadlines | undefined;
  /** Whether the work has changed something. */
  hasChanged = false;
  /** Whether the work cannot share its transaction. */
  mustRunAlone = false;
  readonly #statements: StatementQueue;
  readonly #options: TransactionOptions;
  readonly #claims: Map<string, PostgresTransaction> | undefined;

  /** @param claims what each piece of work of a shared transaction has claimed */
  constructor(statements: StatementQueue, options: TransactionOptions, claims?: Map<string, PostgresTransaction>) {
    this.#statements = statements;
    this.#options = options;
    this.#claims = claims;
    this.now = options.deadlines.now();
    this.origin = options.origin;
  }

  claim(resource: string): void {
    if (this.#claims !== undefined && this.#claims.getOrInsert(resource, this) !== this) this.#requireAlone();
  }

  refreshNow(after = 0): void {
    this.now = Math.max(this.now, this.#options.deadlines.now(), after);
  }

  requireVisibleBefore(end: number, late: () => Error): void {
    if (this.#claims !== undefined) this.#requireAlone();
    this.deadlines ??= this.#options.deadlines.forTransaction();
    this.deadlines.requireVisibleBefore(end, late);
  }

  async all<P, R>(query: Query<P, R>, params: P): Promise<R[]> {
    return (await this.#result(query, params)).rows;
  }

  async first<P, R>(query: Query<P, R>, params: P): Promise<R | undefined> {
    return (await this.#result(query, params)).rows[0];
  }

  async run<P, R>(query: Query<P, R>, params: P): Promise<number> {
    return (await this.#result(query, params)).rowCount ?? 0;
  }

  readonly newId = (table: string): Promise<number> => this.#statements.newId(table);

  async insert<P>(query: Query<P, { id: number }>, params: P, id?: number): Promise<number> {
    if (id === undefined) return (await this.#result(query, params)).rows[0].id;
    this.queue(query, params);
    return id;
  }

  queue<P, R>(query: Query<P, R>, params: P, check?: (rows: number) => MaybePromise<void>): void {
    const { sql, values } = this.#compiled(query);
    const options = { check: check && (({ rowCount }: QueryResult) => check(rowCount ?? 0)) };
    this.#statements.enqueue({ sql, id: query.id }, values(params), options);
  }

  increment: Transaction['increment'] = (counters, key, by) => {
    this.hasChanged = true;
    this.#statements.increments.increment(counters, key, by);
  };

  incrementAndGet: Transaction['incrementAndGet'] = async ({ addOne }, key, by) =>
    (await this.first(addOne!, { key, by }))!.number;

  notify(topic: string): void {
    const { notified } = this.#options;
    this.hasChanged = true;
    notified.set(topic, undefined);
    this.#statements.enqueue(RAISE_VERSION, [topic], {
      check: ({ rows }) => void notified.set(topic, rows[0].version),
    });
  }

  #result<P, R>(query: Query<P, R>, params: P): Promise<QueryResult> {
    const { sql, values, changedTable } = this.#compiled(query);
    const text = { sql, id: query.id };
    const isRead = changedTable === undefined;
    return isRead ? this.#statements.read(text, values(params)) : this.#statements.result(text, values(params));
  }

  /** Returns the SQL of a query that is about to be queued. */
  #compiled<P, R>(query: Query<P, R>) {
    const compiled = query.compiledFor('postgres');
    const { changedTable } = compiled;
    this.#statements.writeIncrementsFor(compiled, this);
    if (changedTable !== undefined) {
      this.hasChanged = true;
      this.#options.changedTables.add(changedTable);
    }
    return compiled;
  }

  #requireAlone(): never {
    this.mustRunAlone = true;
    throw new Error('This work cannot share a transaction.');
  }
}

const RAISE_VERSION = {
  sql: `insert into announcements (topic, version) values ($1, 1)
    on conflict (topic) do update set version = announcements.version + 1 returning version, ${NOTIFY}`,
  id: -4,
};
