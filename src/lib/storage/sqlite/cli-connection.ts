import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Origin } from '../../origin.ts';
import {
  type Database,
  type Health,
  type MaybePromise,
  type OpenOptions,
  StorageError,
  type Transaction,
} from '../database.ts';
import { COMMIT_MARGIN_MS, VisibilityDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import { type Prepared, retryWhileBusy, type SqliteConnection } from './connection.ts';
import { busyError, diskFullError, isBusy, isDiskFull, isFailedFlush } from './errors.ts';
import type { WalFlush } from './flush.ts';
import { ChangeSet, runWork, SqliteTransaction, type WorkResult } from './transaction.ts';

type CliOptions = Pick<OpenOptions, 'clock' | 'origin' | 'onFailed'>;

/**
 * The database for a command that may run beside a server. It flushes each of its commits. Before it returns data of a
 * server's unflushed commits, it flushes those too.
 */
export class SqliteCliConnection implements Database {
  readonly engine = 'sqlite';
  readonly readTimestamp: Database['readTimestamp'];
  readonly #options: CliOptions;
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #flush: WalFlush;
  readonly #deadlines: VisibilityDeadlines;
  #state: 'open' | 'closed' | 'failed' = 'open';
  #lastWrite: Promise<unknown> = Promise.resolve();
  #writes = 0;

  constructor(options: CliOptions, writer: SqliteConnection, reader: SqliteConnection, flush: WalFlush) {
    this.#options = options;
    this.#writer = writer;
    this.#reader = reader;
    this.#flush = flush;
    this.#deadlines = new VisibilityDeadlines(options.clock, COMMIT_MARGIN_MS);
    this.readTimestamp = this.#deadlines.readTimestamp;
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#read(query, ({ statement, values }) => statement.all(values(params))) as R[];
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    return this.#read(query, ({ statement, values }) => statement.get(values(params))) as R | undefined;
  }

  write<T>(work: (tx: Transaction) => MaybePromise<T>, origin = this.#options.origin): Promise<T> {
    if (this.#state !== 'open') return Promise.reject(this.#closedError());
    const written = this.#lastWrite.then(() => this.#write(work, origin));
    this.#lastWrite = written.catch(() => {});
    return written as Promise<T>;
  }

  dataVersion(): number | undefined {
    return this.#state === 'open' ? this.#writer.dataVersion() + this.#writes : undefined;
  }

  topicVersion(): number | undefined {
    return this.dataVersion();
  }

  health(): Health {
    if (this.#state === 'open') return { ok: true, writes: 'ok', detail: '' };
    return { ok: false, writes: 'unavailable', detail: this.#closedError().message };
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    await this.#lastWrite;
    this.#state = 'closed';
    this.#flush.close();
    this.#reader.close();
    this.#writer.close();
  }

  #read<P, R>(query: Query<P, R>, read: (prepared: Prepared) => unknown): unknown {
    if (this.#state !== 'open') throw this.#closedError();
    const result = read(this.#reader.statements.get(query));
    this.#flushSync();
    return result;
  }

  async #write(work: (tx: Transaction) => MaybePromise<unknown>, origin: Origin | undefined): Promise<unknown> {
    await this.#lock();
    const changes = new ChangeSet();
    const { failed, value } = await this.#transaction(work, origin, changes);
    if (failed || !changes.changedRows) this.#flushSync();
    this.#writes++;
    // A server in the same process notices the commit in its next turn.
    await nextTurn();
    if (failed) throw value;
    return value;
  }

  async #lock(): Promise<void> {
    try {
      await retryWhileBusy(() => this.#writer.beginWrite());
    } catch (error) {
      throw isBusy(error) ? busyError() : error;
    }
  }

  async #transaction(
    work: (tx: Transaction) => MaybePromise<unknown>,
    origin: Origin | undefined,
    changes: ChangeSet,
  ): Promise<WorkResult> {
    const deadlines = this.#deadlines;
    const options = { now: deadlines.now(), origin, deadlines, changes, savepoint: false };
    let result: WorkResult | undefined;
    try {
      result = await runWork(this.#writer, work, options);
      if (result.failed) {
        this.#writer.rollback();
      } else {
        changes.increments.write(new SqliteTransaction(this.#writer, options));
        this.#writer.commit();
      }
      return result;
    } catch (error) {
      this.#writer.rollback();
      if (isFailedFlush(error)) throw this.#fail(error as Error);
      throw isDiskFull(error) ? diskFullError(error) : error;
    } finally {
      result?.deadlines?.end();
    }
  }

  #flushSync(): void {
    try {
      this.#flush.flushSync();
    } catch (error) {
      throw this.#fail(error as Error);
    }
  }

  #fail(error: Error): StorageError {
    this.#state = 'failed';
    this.#options.onFailed?.(error);
    return this.#closedError(error);
  }

  #closedError(cause?: Error): StorageError {
    if (this.#state === 'failed') return new StorageError('failed', 'A flush to disk has failed.', { cause });
    return new StorageError('closed', 'The database is closed.');
  }
}
