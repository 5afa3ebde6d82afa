import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { type Database, type Health, type MaybePromise, StorageError, type Transaction } from '../database.ts';
import { COMMIT_MARGIN_MS, VisibilityDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import type { SqliteConnection } from './connection.ts';
import { diskFullError, isBusy, isDiskFull, isFailedFlush, lockedError } from './errors.ts';
import type { WalFlush } from './flush.ts';
import type { SqliteOptions } from './options.ts';
import { ChangeSet, runWork, TurnGuard, type WorkResult, writeIncrements } from './transaction.ts';

const LOCK_TIMEOUT_MS = 5000;
const LOCK_RETRY_MS = 3;

/**
 * The database for a command that may run beside a server. It flushes each of its commits, and flushes the server's
 * unflushed commits before it returns data from them.
 */
export class SqliteCliConnection implements Database {
  readonly engine = 'sqlite';
  readonly #options: SqliteOptions;
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #flush: WalFlush;
  readonly #deadlines: VisibilityDeadlines;
  #state: 'open' | 'closed' | 'failed' = 'open';
  #lastWrite: Promise<unknown> = Promise.resolve();
  #writes = 0;

  constructor(options: SqliteOptions, writer: SqliteConnection, reader: SqliteConnection, flush: WalFlush) {
    this.#options = options;
    this.#writer = writer;
    this.#reader = reader;
    this.#flush = flush;
    this.#deadlines = new VisibilityDeadlines(options.clock, COMMIT_MARGIN_MS);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#read(() => this.#reader.all(query, params));
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    return this.#read(() => this.#reader.first(query, params));
  }

  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T> {
    if (this.#state !== 'open') return Promise.reject(this.#closedError());
    const written = this.#lastWrite.then(() => this.#write(work));
    this.#lastWrite = written.catch(() => {});
    return written as Promise<T>;
  }

  readTimestamp(now: number): number {
    return this.#deadlines.readTimestamp(now);
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

  #read<T>(read: () => T): T {
    if (this.#state !== 'open') throw this.#closedError();
    const result = read();
    this.#flushSync();
    return result;
  }

  async #write(work: (tx: Transaction) => MaybePromise<unknown>): Promise<unknown> {
    await this.#lock();
    const changes = new ChangeSet();
    const { failed, value } = await this.#transaction(work, changes);
    if (failed || !changes.changedRows) this.#flushSync();
    this.#writes++;
    // A server in the same process notices the commit in its next turn.
    await nextTurn();
    if (failed) throw value;
    return value;
  }

  async #lock(): Promise<void> {
    const deadlineMs = performance.now() + LOCK_TIMEOUT_MS;
    for (;;) {
      try {
        return this.#writer.beginWrite();
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (performance.now() > deadlineMs) throw lockedError();
        await pause(LOCK_RETRY_MS);
      }
    }
  }

  async #transaction(work: (tx: Transaction) => MaybePromise<unknown>, changes: ChangeSet): Promise<WorkResult> {
    const guard = new TurnGuard();
    const deadlines = this.#deadlines.forTransaction();
    const options = { now: this.#deadlines.now(), deadlines, guard, changes, savepoint: false };
    try {
      const result = await runWork(this.#writer, work, options);
      if (result.failed) {
        this.#writer.rollback();
      } else {
        writeIncrements(this.#writer, options);
        this.#writer.commit();
      }
      return result;
    } catch (error) {
      this.#writer.rollback();
      if (isFailedFlush(error)) throw this.#fail(error as Error);
      throw isDiskFull(error) ? diskFullError(error) : error;
    } finally {
      guard.end();
      deadlines.end();
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
