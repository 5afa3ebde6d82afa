import type { Origin } from '../../origin.ts';
import type { MaybePromise, Transaction } from '../database.ts';
import type { TransactionDeadlines, VisibilityDeadlines } from '../deadlines.ts';
import { PendingIncrements } from '../increments.ts';
import type { Query } from '../query.ts';
import type { QueryResult, Statement } from './batch.ts';
import { UnknownOutcomeError } from './errors.ts';
import { NOTIFY } from './notifications.ts';
import type { BatchResult, Connection } from './session.ts';

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
  const tx = new PostgresTransaction(connection, deadlineMs, options);
  try {
    const result = await work(tx);
    await tx.commit();
    return result;
  } catch (error) {
    tx.closed = true;
    if (tx.hasBegun && !connection.broken) await connection.query(deadlineMs, 'rollback').catch(() => {});
    throw error;
  } finally {
    tx.deadlines?.end();
  }
}

interface QueuedOptions {
  /** Settled with the result; absent if nothing waits for it. */
  readonly waiting?: PromiseWithResolvers<QueryResult>;
  /** Called with the result. May throw, which fails the transaction. */
  readonly check?: ((result: QueryResult) => MaybePromise<void>) | undefined;
}

/** A statement that waits to be sent. */
interface Queued extends Statement, QueuedOptions {}

/**
 * Sends statements together: all that are queued when the work waits for a result. So a transaction takes a round trip
 * for each result on which its next statements depend, and the last one includes the commit.
 */
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
  #queue: Queued[] = [];
  /** Whether the queue is sent at the end of this turn. */
  #isScheduled = false;
  /** The first error of a statement, after which the server only rolls back. */
  #failed: { readonly error: unknown } | undefined;
  /** Whether BEGIN was sent. */
  hasBegun = false;
  /** Whether statements are rejected, because the work has ended. */
  closed = false;

  constructor(connection: Connection, deadlineMs: number, options: TransactionOptions) {
    this.#connection = connection;
    this.#deadlineMs = deadlineMs;
    this.#options = options;
    this.now = options.deadlines.now();
    this.origin = options.origin;
    this.#enqueue(BEGIN, []);
  }

  refreshNow(after = 0): void {
    this.now = Math.max(this.now, this.#options.deadlines.now(), after);
  }

  requireVisibleBefore(end: number, late: () => Error): void {
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

  readonly newId = async (table: string): Promise<number> => {
    return (await this.#wait(waiting => this.#enqueue(NEXT_ID, [table], { waiting }))).rows[0].id;
  };

  async insert<P>(query: Query<P, { id: number }>, params: P, id?: number): Promise<number> {
    if (id === undefined) return (await this.#result(query, params)).rows[0].id;
    this.#add(query, params, {});
    return id;
  }

  queue<P, R>(query: Query<P, R>, params: P, check?: (rows: number) => MaybePromise<void>): void {
    this.#add(query, params, { check: check && (({ rowCount }) => check(rowCount ?? 0)) });
  }

  increment: Transaction['increment'] = (counters, key, by) => void this.#increments.increment(counters, key, by);

  incrementAndGet: Transaction['incrementAndGet'] = async ({ addOne }, key, by) =>
    (await this.first(addOne!, { key, by }))!.number;

  notify(topic: string): void {
    const { notified } = this.#options;
    notified.set(topic, undefined);
    this.#enqueue(RAISE_VERSION, [topic], { check: ({ rows }) => void notified.set(topic, rows[0].version) });
  }

  /**
   * Ends the work and commits. Throws the error of a failed statement, even if the work caught it, or of a missed
   * deadline.
   */
  async commit(): Promise<void> {
    if (this.#failed === undefined) {
      this.#increments.write(this);
      const { notifies, changedTables } = this.#options;
      if (notifies && changedTables.size > 0) this.#enqueue(SEND_NOTIFICATION, []);
      // If the first batch has no COMMIT, it is repeated when the connection turns out to be lost.
      if (!this.hasBegun || this.deadlines !== undefined || this.#queue.some(({ check }) => check)) await this.#send();
    }
    if (this.#failed !== undefined) throw this.#failed.error;
    this.deadlines?.check();
    this.#enqueue(COMMIT, []);
    this.closed = true;
    const before = this.#queue.length - 1;
    const { results, error, isRejected } = await this.#send();
    if (error === undefined) return;
    // After a statement that the server rejected, it ran no COMMIT.
    const isUnknown = this.#connection.broken && !(isRejected && results.length < before);
    throw isUnknown ? new UnknownOutcomeError(error) : error;
  }

  #result<P, R>(query: Query<P, R>, params: P): Promise<QueryResult> {
    return this.#wait(waiting => this.#add(query, params, { waiting }));
  }

  /** Returns the result of a statement. Statements that are queued until the end of this turn are sent with it. */
  #wait(enqueue: (waiting: PromiseWithResolvers<QueryResult>) => void): Promise<QueryResult> {
    const waiting = Promise.withResolvers<QueryResult>();
    enqueue(waiting);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(() => {
        this.#isScheduled = false;
        if (!this.closed) this.#send();
      });
    }
    return waiting.promise;
  }

  #add<P, R>(query: Query<P, R>, params: P, options: QueuedOptions): void {
    const { sql, values, words, changedTable } = query.compiledFor('postgres');
    if (this.#increments.concern(words)) this.#increments.write(this);
    if (changedTable !== undefined) this.#options.changedTables.add(changedTable);
    this.#enqueue({ sql, id: query.id }, values(params), options);
  }

  #enqueue({ sql, id }: Text, values: readonly unknown[], options: QueuedOptions = {}): void {
    if (this.closed) throw new Error('This transaction has ended.');
    this.#queue.push({ ...this.#connection.prepare(sql, values, id), ...options });
  }

  /** Sends the queue, and passes each result to the code that waits for it. Never rejects. */
  async #send(): Promise<BatchResult> {
    const sent = this.#queue;
    this.#queue = [];
    this.hasBegun = true;
    const outcome = await this.#connection.run(this.#deadlineMs, sent);
    let failed = false;
    for (const [index, { waiting, check }] of sent.entries()) {
      const result = outcome.results[index];
      try {
        if (failed) throw this.#failed!.error;
        if (result === undefined) throw outcome.error;
        const checked = check?.(result);
        if (checked !== undefined) await checked;
        waiting?.resolve(result);
      } catch (error) {
        failed = true;
        this.#failed ??= { error };
        waiting?.reject(error);
      }
    }
    return outcome;
  }
}

/** A statement of every transaction. */
interface Text {
  readonly sql: string;
  /** The id of the prepared statement; those of queries are not negative. */
  readonly id: number;
}

const BEGIN: Text = { sql: 'begin isolation level read committed', id: -1 };
const COMMIT: Text = { sql: 'commit', id: -2 };
const SEND_NOTIFICATION: Text = { sql: `select ${NOTIFY}`, id: -3 };
const NEXT_ID: Text = { sql: `select nextval(pg_get_serial_sequence(quote_ident($1), 'id')) as id`, id: -5 };
const RAISE_VERSION: Text = {
  sql: `insert into announcements (topic, version) values ($1, 1)
    on conflict (topic) do update set version = announcements.version + 1 returning version, ${NOTIFY}`,
  id: -4,
};
