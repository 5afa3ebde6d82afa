import type { MaybePromise, Transaction } from '../database.ts';
import { PendingIncrements } from '../increments.ts';
import type { CompiledQuery } from '../query.ts';
import type { QueryResult, Statement } from './batch.ts';
import { UnknownOutcomeError } from './errors.ts';
import { NOTIFY } from './notifications.ts';
import type { BatchResult, Connection } from './session.ts';

export interface QueuedOptions {
  /** Settled with the result; absent if nothing waits for it. */
  readonly waiting?: PromiseWithResolvers<QueryResult>;
  /** Called with the result. May throw, which fails the transaction. */
  readonly check?: ((result: QueryResult) => MaybePromise<void>) | undefined;
}

/** A statement that waits to be sent. */
interface Queued extends Statement, QueuedOptions {}

/**
 * The statements of a transaction. Sends them together: all that are queued when the work waits for a result. So a
 * transaction takes a round trip for each result on which its next statements depend, and the last one includes the
 * commit.
 */
export class StatementQueue {
  readonly #connection: Connection;
  readonly #deadlineMs: number;
  readonly #increments = new PendingIncrements();
  #queue: Queued[] = [];
  /** The results of queued reads, by statement and values, up to the next change. */
  readonly #reads = new Map<string, Promise<QueryResult>>();
  /** The queued statements that return new ids, by table. */
  readonly #newIds = new Map<string, NewIds>();
  /** Whether the queue is sent at the end of this turn. */
  #isScheduled = false;
  /** The first error of a statement, after which the server only rolls back. */
  #failed: { readonly error: unknown } | undefined;
  /** Whether BEGIN was sent. */
  #hasBegun = false;
  /** Whether statements are rejected, because the work has ended. */
  #closed = false;

  constructor(connection: Connection, deadlineMs: number) {
    this.#connection = connection;
    this.#deadlineMs = deadlineMs;
    this.enqueue(BEGIN, []);
  }

  /** Collects increments, which are written before the commit or the next statement that mentions their table. */
  get increments(): Pick<PendingIncrements, 'increment'> {
    return this.#increments;
  }

  /** Writes the increments that a statement could read. Call it before the statement is queued. */
  writeIncrementsFor({ words }: CompiledQuery<never>, tx: Transaction): void {
    if (this.#increments.concern(words)) this.#increments.write(tx);
  }

  /** Queues a statement whose result the next statements do not depend on. */
  enqueue(text: Text, values: readonly unknown[], options: QueuedOptions = {}): void {
    this.#reads.clear();
    this.#push(text, values, options);
  }

  /** Returns the result of a statement. Statements that are queued until the end of this turn are sent with it. */
  result(text: Text, values: readonly unknown[]): Promise<QueryResult> {
    this.#reads.clear();
    return this.#wait(text, values);
  }

  /** The same for a read. Equal reads without a change between them run once. */
  read(text: Text, values: readonly unknown[]): Promise<QueryResult> {
    const key = `${text.id} ${JSON.stringify(values)}`;
    return this.#reads.getOrInsertComputed(key, () => this.#wait(text, values));
  }

  /** Returns an id for a new row of `table`. All ids of a table that are queued take one statement. */
  async newId(table: string): Promise<number> {
    let ids = this.#newIds.get(table);
    if (ids === undefined) {
      const values: NewIds['values'] = [table, 0];
      ids = { values, result: this.#wait(NEXT_IDS, values) };
      this.#newIds.set(table, ids);
    }
    const index = ids.values[1]++;
    return (await ids.result).rows[index].id;
  }

  /**
   * Ends the work and commits. Throws the error of a failed statement, even if the work caught it, or of `checkTime`,
   * which is called last before the commit.
   * @param tx writes the increments
   */
  async commit(tx: Transaction, notifies: boolean, checkTime: (() => void) | undefined): Promise<void> {
    if (this.#failed === undefined) {
      this.#increments.write(tx);
      if (notifies) this.enqueue(SEND_NOTIFICATION, []);
      // If the first batch has no COMMIT, it is repeated when the connection turns out to be lost.
      const isChecked = checkTime !== undefined || this.#queue.some(({ check }) => check);
      if (!this.#hasBegun || isChecked) await this.#send();
    }
    if (this.#failed !== undefined) throw this.#failed.error;
    checkTime?.();
    this.enqueue(COMMIT, []);
    this.#closed = true;
    const before = this.#queue.length - 1;
    const { results, error, isRejected } = await this.#send();
    if (error === undefined) return;
    // After a statement that the server rejected, it ran no COMMIT.
    const isUnknown = this.#connection.broken && !(isRejected && results.length < before);
    throw isUnknown ? new UnknownOutcomeError(error) : error;
  }

  /** Rejects further statements, and rolls back if there is anything to roll back. Never rejects. */
  async rollback(): Promise<void> {
    this.#closed = true;
    if (!this.#hasBegun || this.#connection.broken) return;
    await this.#connection.query(this.#deadlineMs, 'rollback').catch(() => {});
  }

  #wait(text: Text, values: readonly unknown[]): Promise<QueryResult> {
    const waiting = Promise.withResolvers<QueryResult>();
    this.#push(text, values, { waiting });
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(() => {
        this.#isScheduled = false;
        if (!this.#closed) this.#send();
      });
    }
    return waiting.promise;
  }

  #push({ sql, id }: Text, values: readonly unknown[], options: QueuedOptions): void {
    if (this.#closed) throw new Error('This transaction has ended.');
    this.#queue.push({ ...this.#connection.prepare(sql, values, id), ...options });
  }

  /** Sends the queue, and passes each result to the code that waits for it. Never rejects. */
  async #send(): Promise<BatchResult> {
    const sent = this.#queue;
    this.#queue = [];
    this.#reads.clear();
    this.#newIds.clear();
    this.#hasBegun = true;
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

interface NewIds {
  readonly values: [table: string, count: number];
  readonly result: Promise<QueryResult>;
}

/** The SQL of a statement. */
interface Text {
  readonly sql: string;
  /** The id of the prepared statement; those of queries are not negative. */
  readonly id: number;
}

const BEGIN: Text = { sql: 'begin isolation level read committed', id: -1 };
const COMMIT: Text = { sql: 'commit', id: -2 };
const SEND_NOTIFICATION: Text = { sql: `select ${NOTIFY}`, id: -3 };
const NEXT_IDS: Text = {
  sql: `with sequence as materialized (select pg_get_serial_sequence(quote_ident($1), 'id')::regclass as name)
    select nextval(name) as id from sequence, generate_series(1, (select cast($2 as int)))`,
  id: -5,
};
