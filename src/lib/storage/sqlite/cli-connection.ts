import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { MaybePromise } from '../../maybe-promise.ts';
import { type Database, type Health, StorageError, type Transaction } from '../database.ts';
import { COMMIT_MS, VisibilityDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import { full, isBusy, isFailedFlush, isFull, type SqliteConnection } from './connection.ts';
import type { SqliteOptions } from './database.ts';
import type { WalFlush } from './flush.ts';
import { runWork, Turn, type WorkResult } from './transaction.ts';

const LOCK_MS = 5000;
const LOCK_RETRY_MS = 3;

/**
 * The database as a command sees it that comes while a server may run: it flushes each commit itself, and before each
 * answer what the server has committed and not flushed yet.
 */
export class SqliteCliConnection implements Database {
  readonly engine = 'sqlite';
  readonly #options: SqliteOptions;
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #flush: WalFlush;
  readonly #deadlines: VisibilityDeadlines;
  #state: 'open' | 'closed' | 'failed' = 'open';
  #last: Promise<unknown> = Promise.resolve();
  #lastNow = 0;
  #changes = 0;

  constructor(options: SqliteOptions, writer: SqliteConnection, reader: SqliteConnection, flush: WalFlush) {
    this.#options = options;
    this.#writer = writer;
    this.#reader = reader;
    this.#flush = flush;
    this.#deadlines = new VisibilityDeadlines(() => this.#now(), COMMIT_MS);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#read(() => this.#reader.all(query, params));
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    return this.#read(() => this.#reader.first(query, params));
  }

  write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T> {
    if (this.#state !== 'open') return Promise.reject(this.#refusal());
    const answer = this.#last.then(() => this.#write(work));
    this.#last = answer.catch(() => {});
    return answer as Promise<T>;
  }

  readTimestamp(now: number): number {
    return this.#deadlines.readableAt(now);
  }

  dataVersion(): number | undefined {
    return this.#state === 'open' ? this.#writer.dataVersion() + this.#changes : undefined;
  }

  topicVersion(): number | undefined {
    return this.dataVersion();
  }

  health(): Health {
    if (this.#state === 'open') return { ok: true, writes: 'ok', detail: '' };
    return { ok: false, writes: 'unavailable', detail: this.#refusal().message };
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    await this.#last;
    this.#state = 'closed';
    this.#flush.close();
    this.#reader.close();
    this.#writer.close();
  }

  #read<T>(read: () => T): T {
    if (this.#state !== 'open') throw this.#refusal();
    const answer = read();
    this.#flushNow();
    return answer;
  }

  async #write(work: (tx: Transaction) => MaybePromise<unknown>): Promise<unknown> {
    await this.#lock();
    const outcome = await this.#transaction(work);
    if (!outcome.changed) this.#flushNow();
    this.#changes++;
    // A server in the same process sees it in its next turn.
    await nextTurn();
    if (outcome.threw) throw outcome.value;
    return outcome.value;
  }

  async #lock(): Promise<void> {
    const until = performance.now() + LOCK_MS;
    for (;;) {
      try {
        return this.#writer.beginWrite();
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (performance.now() > until) {
          throw new StorageError(
            'unavailable',
            'Another process holds the database’s write lock; nothing was changed.',
          );
        }
        await pause(LOCK_RETRY_MS);
      }
    }
  }

  async #transaction(work: (tx: Transaction) => MaybePromise<unknown>): Promise<WorkResult> {
    const turn = new Turn();
    const deadlines = this.#deadlines.ofOne();
    try {
      const outcome = await runWork(this.#writer, work, this.#now(), deadlines, turn);
      this.#writer.commit();
      return outcome;
    } catch (error) {
      this.#writer.rollback();
      if (isFailedFlush(error)) throw this.#fail(error as Error);
      throw isFull(error) ? full(error) : error;
    } finally {
      turn.over();
      deadlines.over();
    }
  }

  /** The clock in whole milliseconds, never less than before. */
  #now(): number {
    this.#lastNow = Math.max(this.#lastNow, Math.floor(this.#options.clock.now()));
    return this.#lastNow;
  }

  #flushNow(): void {
    try {
      this.#flush.now();
    } catch (error) {
      throw this.#fail(error as Error);
    }
  }

  #fail(error: Error): StorageError {
    this.#state = 'failed';
    this.#options.onFailed?.(error);
    return this.#refusal(error);
  }

  #refusal(cause?: Error): StorageError {
    if (this.#state === 'failed') return new StorageError('failed', 'A flush to disk has failed.', { cause });
    return new StorageError('closed', 'The database is closed.');
  }
}
