import type { Origin } from '../../origin.ts';
import type { MaybePromise, Transaction } from '../database.ts';
import type { TransactionDeadlines, VisibilityDeadlines } from '../deadlines.ts';
import { PendingIncrements } from '../increments.ts';
import type { Query } from '../query.ts';
import type { Connection, QueryResult } from './connection.ts';
import { UnknownOutcomeError } from './errors.ts';
import { NOTIFY } from './notifications.ts';

export interface TransactionOptions {
  readonly origin: Origin | undefined;
  readonly deadlines: VisibilityDeadlines;
  /** The versions of the topics that the transaction notifies are added here. */
  readonly notified: Map<string, number>;
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
  const tx = new PostgresTransaction(connection, deadlineMs, options);
  await connection.query(deadlineMs, 'begin isolation level read committed');
  try {
    const result = await work(tx);
    await tx.finish();
    await commit(connection, deadlineMs);
    return result;
  } catch (error) {
    tx.closed = true;
    if (!connection.broken) await connection.query(deadlineMs, 'rollback').catch(() => {});
    throw error;
  } finally {
    tx.deadlines?.end();
  }
}

async function commit(connection: Connection, deadlineMs: number) {
  try {
    await connection.query(deadlineMs, 'commit');
  } catch (error) {
    throw connection.broken ? new UnknownOutcomeError(error) : error;
  }
}

class PostgresTransaction implements Transaction {
  readonly engine = 'postgres';
  now: number;
  readonly origin: Origin | undefined;
  /** Absent until the work sets one. */
  deadlines: TransactionDeadlines | undefined;
  readonly #connection: Connection;
  readonly #deadlineMs: number;
  readonly #options: TransactionOptions;
  readonly #increments = new PendingIncrements();
  /** The first error of a statement, after which the server only rolls back. */
  #failed: { readonly error: unknown } | undefined;
  /** Whether statements are rejected, because the work has ended. */
  closed = false;

  constructor(connection: Connection, deadlineMs: number, options: TransactionOptions) {
    this.#connection = connection;
    this.#deadlineMs = deadlineMs;
    this.#options = options;
    this.now = options.deadlines.now();
    this.origin = options.origin;
  }

  refreshNow(after = 0): void {
    this.now = Math.max(this.now, this.#options.deadlines.now(), after);
  }

  requireVisibleBefore(end: number, late: () => Error): void {
    this.deadlines ??= this.#options.deadlines.forTransaction();
    this.deadlines.requireVisibleBefore(end, late);
  }

  async all<P, R>(query: Query<P, R>, params: P): Promise<R[]> {
    return (await this.#query(query, params)).rows;
  }

  async first<P, R>(query: Query<P, R>, params: P): Promise<R | undefined> {
    return (await this.#query(query, params)).rows[0];
  }

  async run<P, R>(query: Query<P, R>, params: P): Promise<number> {
    return (await this.#query(query, params)).rowCount ?? 0;
  }

  async insert<P>(query: Query<P, { id: number }>, params: P): Promise<number> {
    return (await this.#query(query, params)).rows[0].id;
  }

  increment: Transaction['increment'] = (counters, key, by) => void this.#increments.increment(counters, key, by);

  incrementAndGet: Transaction['incrementAndGet'] = async ({ addOne }, key, by) =>
    (await this.first(addOne!, { key, by }))!.number;

  async notify(topic: string): Promise<void> {
    const { rows } = await this.#send(RAISE_VERSION, [topic]);
    this.#options.notified.set(topic, rows[0].version);
  }

  /** Ends the work. Throws the error of a failed statement, even if the work caught it, or of a missed deadline. */
  async finish(): Promise<void> {
    if (this.#failed === undefined) await this.#increments.write(this);
    const { notifies, changedTables } = this.#options;
    if (this.#failed === undefined && notifies && changedTables.size > 0) await this.#send(`select ${NOTIFY}`, []);
    this.closed = true;
    if (this.#failed !== undefined) throw this.#failed.error;
    this.deadlines?.check();
  }

  async #query<P, R>(query: Query<P, R>, params: P): Promise<QueryResult> {
    const { sql, values, words, changedTable } = query.compiledFor('postgres');
    if (this.#increments.concern(words)) await this.#increments.write(this);
    if (changedTable !== undefined) this.#options.changedTables.add(changedTable);
    return this.#send(sql, values(params), query.id);
  }

  async #send(text: string, values: unknown[], statementId?: number): Promise<QueryResult> {
    if (this.closed) throw new Error('This transaction has ended.');
    try {
      return await this.#connection.query(this.#deadlineMs, text, values, statementId);
    } catch (error) {
      this.#failed ??= { error };
      throw error;
    }
  }
}

const RAISE_VERSION = `insert into announcements (topic, version) values ($1, 1)
  on conflict (topic) do update set version = announcements.version + 1 returning version, ${NOTIFY}`;
