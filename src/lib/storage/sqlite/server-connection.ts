import type { MaybePromise } from '../../maybe-promise.ts';
import {
  type Database,
  type Health,
  type OpenOptions,
  StorageError,
  type StorageMeasurements,
  type Transaction,
} from '../database.ts';
import type { Query } from '../query.ts';
import { type SqliteConnection, tableTopic } from './connection.ts';
import type { WalFlush } from './flush.ts';
import { GroupCommit } from './group-commit.ts';
import type { Snapshots } from './snapshots.ts';

export interface SqliteOptions extends OpenOptions {
  /** The database file. SQLite puts `-wal` and `-shm` files beside it. Its directory is created if necessary. */
  readonly file: string;
  /** The size of the WAL that starts a checkpoint; 16 MiB by default. */
  readonly checkpointBytes?: number;
}

export interface SqliteServerDeps {
  /** The connection must not wait for locks, and must have written to the WAL before the snapshots were opened. */
  readonly writer: SqliteConnection;
  /** The writer's `dataVersion` before the snapshots were opened. */
  readonly dataVersion: number;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  readonly checkpointBytes: number;
}

/** How long a check for other processes' commits is valid within a turn of the event loop. */
const CHECK_MS = 1;

/**
 * The database of the one process that serves a file: it reads from snapshots of durable data, writes by group commit,
 * and notices commits, also of other processes.
 */
export class SqliteServerConnection implements Database {
  readonly engine = 'sqlite';
  readonly readTimestamp: Database['readTimestamp'];
  readonly #options: SqliteOptions;
  readonly #deps: SqliteServerDeps;
  readonly #groupCommit: GroupCommit;
  /** Whether reads work: until the database is closed, or has failed. */
  #readable = true;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;

  #dataVersion: number;
  #checkedThisTurn = false;
  #checkedMs = 0;
  #foreignCommits = 0;
  readonly #topicVersions = new Map<string, number>();
  readonly #listeners = new Set<{ readonly topic: string; readonly listener: () => void }>();

  constructor(options: SqliteOptions, deps: SqliteServerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#dataVersion = deps.dataVersion;
    this.#groupCommit = new GroupCommit({
      ...options,
      ...deps,
      onWriteLock: this.#seeForeignCommits,
      onVisible: this.#publish,
      onFlushFailed: error => this.#fail(error),
    });
    this.readTimestamp = this.#groupCommit.deadlines.readTimestamp;
    unflushed.add(deps.writer);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    this.#checkForeignCommits();
    const { statement, values } = this.#deps.snapshots.front.statements.get(query);
    return statement.all(values(params)) as R[];
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    this.#checkForeignCommits();
    const { statement, values } = this.#deps.snapshots.front.statements.get(query);
    return statement.get(values(params)) as R | undefined;
  }

  write<T>(work: (tx: Transaction) => MaybePromise<T>, origin = this.#options.origin): Promise<T> {
    if (this.#closing !== undefined || this.#failure !== undefined) return Promise.reject(this.#closedError());
    return this.#groupCommit.write(work, origin);
  }

  dataVersion(table: string): number | undefined {
    return this.topicVersion(tableTopic(table));
  }

  topicVersion(topic: string): number | undefined {
    if (!this.#readable) return undefined;
    this.#checkForeignCommits();
    return this.#foreignCommits + (this.#topicVersions.get(topic) ?? 0);
  }

  onChange(table: string, listener: () => void): () => void {
    const entry = { topic: tableTopic(table), listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  health(): Health {
    if (!this.#readable) return { ok: false, writes: 'unavailable', detail: this.#closedError().message };
    const writes = this.#groupCommit.health();
    if (writes !== 'stalled' && this.#deps.flush.isReadOnly()) {
      return { ok: true, writes: 'unavailable', detail: 'The disk is read-only.' };
    }
    return { ok: true, writes, detail: details[writes] };
  }

  measurements(): StorageMeasurements {
    const { durations: flushes, bytes } = this.#deps.flush;
    return { wal: { flushes, checkpoints: this.#groupCommit.checkpointer.durations, bytes } };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#groupCommit.idle();
    await this.#groupCommit.checkpointer.close();
    // After a failed flush, leave the WAL for the recovery at the next start.
    if (this.#failure !== undefined) return;
    const { snapshots, writer, flush } = this.#deps;
    this.#readable = false;
    this.#groupCommit.end(this.#closedError());
    snapshots.close();
    writer.synchronous('full');
    try {
      writer.checkpoint('truncate');
    } catch (error) {
      const message = 'The write-ahead log could not be truncated; it stays beside the database until the next start.';
      this.#options.log.warn({ err: error }, message);
    }
    flush.close();
    writer.close();
    unflushed.delete(writer);
  }

  readonly #publish = (topics: ReadonlySet<string>): void => {
    for (const topic of topics) this.#topicVersions.set(topic, (this.#topicVersions.get(topic) ?? 0) + 1);
    for (const { topic, listener } of this.#listeners) if (topics.has(topic)) listener();
    this.#groupCommit.checkpointer.consider();
  };

  /** Checks for commits of other processes, at most once per turn of the event loop and CHECK_MS. */
  #checkForeignCommits(): void {
    if (!this.#readable) throw this.#closedError();
    const now = performance.now();
    if (this.#checkedThisTurn && now - this.#checkedMs < CHECK_MS) return;
    if (!this.#checkedThisTurn) {
      this.#checkedThisTurn = true;
      setImmediate(this.#onNextTurn);
    }
    this.#checkedMs = now;
    if (this.#deps.writer.dataVersion() === this.#dataVersion) return;
    const { dataVersionUncertain, flushedAll } = this.#groupCommit;
    if (!dataVersionUncertain || flushedAll) this.#seeForeignCommits();
  }

  readonly #onNextTurn = () => {
    this.#checkedThisTurn = false;
  };

  /**
   * Makes commits of other processes visible. They are on disk: other processes flush their own commits and everything
   * before them in the WAL. No unflushed commit of ours follows them, because each group checks under the write lock.
   */
  readonly #seeForeignCommits = (): void => {
    this.#groupCommit.dataVersionUncertain = false;
    const dataVersion = this.#deps.writer.dataVersion();
    if (dataVersion === this.#dataVersion) return;
    try {
      this.#deps.snapshots.renew();
    } catch (error) {
      // Without its snapshot a reader would see unflushed data.
      this.#fail(error as Error);
      throw this.#closedError();
    }
    this.#dataVersion = dataVersion;
    this.#foreignCommits++;
  };

  /** Fails permanently: no request succeeds after this. */
  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#readable = false;
    this.#groupCommit.end(this.#closedError());
    this.#options.onFailed?.(error);
  }

  #closedError(): StorageError {
    const cause = this.#failure;
    if (cause === undefined) return new StorageError('closed', 'The database is closed.');
    return new StorageError('failed', 'A flush to disk has failed; the process must restart.', { cause });
  }
}

const details: Record<Health['writes'], string> = {
  ok: '',
  full: 'The disk is full.',
  stalled: 'The disk does not complete a flush.',
  unavailable: 'Another process holds the write lock of the database.',
};

/** The connections that do not flush their commits. */
const unflushed = new Set<SqliteConnection>();

// SQLite runs a checkpoint when a process closes the database at its exit: that one must flush.
process.on('exit', () => {
  for (const connection of unflushed) {
    connection.rollback();
    connection.synchronous('full');
  }
});
