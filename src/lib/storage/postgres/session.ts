import type pg from 'pg';
import { StatementCache } from '../statement-cache.ts';
import { PreparedStatement, type QueryResult, type Statement, StatementBatch, type TypeParser } from './batch.ts';
import { DeadlineTimer } from './deadline-timer.ts';
import { isFromServer, isStatementError, timeoutError, translateError } from './errors.ts';

/** The outcome of statements that were sent together. */
export interface BatchResult {
  /** The results of all statements before the first one that failed. */
  readonly results: readonly QueryResult[];
  /** The error of that statement, or of the connection. */
  readonly error?: unknown;
  /** Whether the server sent the error: then no later statement has run. */
  readonly isRejected?: boolean;
}

/** A connection. It runs one batch of statements at a time. */
export class Connection {
  readonly #client: pg.ClientBase;
  readonly #location: string;
  readonly #parserOf: TypeParser;
  readonly #onRelease: (broken: boolean) => void;
  readonly #evicted: PreparedStatement[] = [];
  readonly #prepared: StatementCache<number, PreparedStatement>;
  readonly #deadline = new DeadlineTimer(() => this.#running?.batch.handleError(new Error('timeout')));
  #names = 0;
  #running: { readonly batch: StatementBatch; readonly end: Promise<BatchResult> } | undefined;
  #broken = false;

  constructor(client: pg.ClientBase, location: string, parserOf: TypeParser, onRelease: (broken: boolean) => void) {
    this.#client = client;
    this.#location = location;
    this.#parserOf = parserOf;
    this.#onRelease = onRelease;
    this.#prepared = new StatementCache<number, PreparedStatement>(
      () => new PreparedStatement(`q${++this.#names}`),
      prepared => this.#evicted.push(prepared),
    );
    internalsOf(client).on('parseComplete', () => this.#running?.batch.handleParseComplete());
  }

  /** Whether the connection is unusable: it was lost, or a statement timed out. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Runs a statement.
   * @param deadlineMs when the result must have arrived, on the scale of `performance.now()`
   * @param statementId prepares the statement once, under this id
   * @throws {StorageError} for errors that are not about the statement; otherwise the driver's error, whose `code` is
   *   the SQLSTATE
   */
  async query(deadlineMs: number, text: string, values?: unknown[], statementId?: number): Promise<QueryResult> {
    if (values === undefined && statementId === undefined) return this.#runText(deadlineMs, text);
    const { results, error } = await this.run(deadlineMs, [this.prepare(text, values ?? [], statementId)]);
    if (error !== undefined) throw error;
    return results[0]!;
  }

  /** Returns a statement for `run`. It is prepared once per `statementId`. */
  prepare(text: string, values: readonly unknown[], statementId?: number): Statement {
    return {
      prepared: statementId === undefined ? new PreparedStatement() : this.#prepared.get(statementId),
      text,
      values,
    };
  }

  /**
   * Sends statements with one write. Never rejects.
   * @param deadlineMs when the results must have arrived, on the scale of `performance.now()`
   */
  run(deadlineMs: number, statements: readonly Statement[]): Promise<BatchResult> {
    if (this.#running !== undefined) return this.#running.end.then(() => this.run(deadlineMs, statements));
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return Promise.resolve({ results: [], error: this.#late() });
    const { promise, resolve } = Promise.withResolvers<BatchResult>();
    const batch = new StatementBatch(statements, this.#closable(), this.#parserOf, error => {
      const { results } = batch;
      this.#running = undefined;
      this.#deadline.clear();
      resolve(
        error === undefined ? { results } : { results, error: this.#fail(error), isRejected: isFromServer(error) },
      );
    });
    this.#running = { batch, end: promise };
    this.#deadline.set(deadlineMs, leftMs);
    this.#client.query(batch as unknown as pg.Submittable);
    return promise;
  }

  /** Returns the connection to its pool. Closes it if it is broken or has no pool. */
  release(): void {
    this.#onRelease(this.#broken);
  }

  /** Runs text without values, which may be several statements. */
  async #runText(deadlineMs: number, text: string): Promise<QueryResult> {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) throw this.#late();
    const timeout = leftMs < Number.POSITIVE_INFINITY ? { query_timeout: Math.ceil(leftMs) } : {};
    try {
      return await this.#client.query({ text, ...timeout });
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /** Returns the names of the evicted statements that the server has. */
  #closable(): string[] {
    if (this.#evicted.length === 0) return [];
    return this.#evicted.splice(0).flatMap(({ name, isParsed }) => (isParsed ? name : []));
  }

  /** Returns the error of a statement after its deadline: a transaction cannot be rolled back in time either. */
  #late(): unknown {
    this.#broken = true;
    return timeoutError(this.#location);
  }

  #fail(error: unknown): unknown {
    // After any other error, a result may still arrive.
    if (!isStatementError(error)) this.#broken = true;
    return translateError(error, this.#location);
  }
}

/** Members of the driver's client that are not in its types. */
interface DriverInternals {
  readonly connection: {
    readonly stream: { destroy(): void };
    on(event: 'connect' | 'parseComplete', listener: () => void): void;
  };
}

export function internalsOf(client: pg.ClientBase) {
  return (client as unknown as DriverInternals).connection;
}
