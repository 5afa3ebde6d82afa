import type { MaybePromise } from '../../maybe-promise.ts';
import { type Database, type Health, StorageError, type Transaction } from '../database.ts';
import type { Query } from '../query.ts';
import { Checkpointer } from './checkpoint.ts';
import type { SqliteConnection } from './connection.ts';
import type { SqliteOptions } from './database.ts';
import type { WalFlush } from './flush.ts';
import { GroupCommit } from './group-commit.ts';
import type { Snapshots } from './snapshots.ts';
import { tableTopic } from './transaction.ts';

/** What a serving database is made of. */
export interface ServingParts {
  /** Never waits for a lock, and has touched the WAL before the snapshots were opened. */
  readonly writer: SqliteConnection;
  /** The writer's `dataVersion` before the snapshots were opened. */
  readonly dataVersion: number;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  readonly checkpointBytes: number;
}

/** How long one look at other processes' changes is good within a turn of the event loop. */
const LOOK_MS = 1;

/**
 * The database of the one process that serves a file: reads from snapshots that are on disk, writes through `Commits`,
 * and knows when either changes, also by another process.
 */
export class SqliteServerConnection implements Database {
  readonly engine = 'sqlite';
  readonly #options: SqliteOptions;
  readonly #parts: ServingParts;
  readonly #commits: GroupCommit;
  readonly #checkpoints: Checkpointer;
  #closed = false;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;

  #dataVersion: number;
  /** Whether the writer's `dataVersion` may have moved by itself, so that it tells nothing of others. */
  #doubtful = false;
  #looked = false;
  #lookedMs = 0;
  #foreign = 0;
  readonly #heard = new Map<string, number>();
  readonly #listeners = new Set<{ readonly topic: string; readonly listener: () => void }>();

  constructor(options: SqliteOptions, parts: ServingParts) {
    this.#options = options;
    this.#parts = parts;
    this.#dataVersion = parts.dataVersion;
    const failed = (error: Error) => this.#fail(error);
    this.#commits = new GroupCommit(
      { ...parts, clock: options.clock },
      {
        room: () => (this.#trusted ? this.#checkpoints.room() : 'wait'),
        locked: () => this.#seeOthers(),
        lost: () => {
          this.#doubtful = true;
        },
        shown: topics => this.#shown(topics),
        failed,
      },
    );
    this.#checkpoints = new Checkpointer(options.file, {
      commits: this.#commits,
      snapshots: parts.snapshots,
      flush: parts.flush,
      bytes: parts.checkpointBytes,
      log: options.log,
      failed,
    });
    flushAtExit(parts.writer);
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    this.#look();
    return this.#parts.snapshots.front.all(query, params);
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    this.#look();
    return this.#parts.snapshots.front.first(query, params);
  }

  async write<T>(work: (tx: Transaction) => MaybePromise<T>): Promise<T> {
    if (this.#closing !== undefined || this.#failure !== undefined) throw this.#refusal();
    return this.#commits.write(work);
  }

  readTimestamp(now: number): number {
    return this.#commits.readableAt(now);
  }

  dataVersion(table: string): number | undefined {
    return this.topicVersion(tableTopic(table));
  }

  topicVersion(topic: string): number | undefined {
    if (!this.#readable) return undefined;
    this.#look();
    return this.#foreign + (this.#heard.get(topic) ?? 0);
  }

  onChange(table: string, listener: () => void): () => void {
    const watching = { topic: tableTopic(table), listener };
    this.#listeners.add(watching);
    return () => this.#listeners.delete(watching);
  }

  health(): Health {
    if (!this.#readable) return { ok: false, writes: 'unavailable', detail: this.#refusal().message };
    const writes = this.#commits.health();
    return { ok: true, writes, detail: details[writes] };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commits.quiet();
    await this.#checkpoints.close();
    // After a failed flush the next start is to find the WAL as it is.
    if (this.#failure !== undefined) return;
    const { snapshots, writer, flush } = this.#parts;
    this.#closed = true;
    this.#commits.end(this.#refusal());
    snapshots.close();
    writer.synchronous('full');
    try {
      writer.checkpoint('truncate');
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The write-ahead log stays beside the database until the next start.');
    }
    flush.close();
    writer.close();
    flushedAtExit(writer);
  }

  #shown(topics: Iterable<string>): void {
    const moved = new Set(topics);
    for (const topic of moved) this.#heard.set(topic, (this.#heard.get(topic) ?? 0) + 1);
    for (const { topic, listener } of this.#listeners) if (moved.has(topic)) listener();
    this.#checkpoints.consider();
  }

  /** Looks whether others have changed the file, at most once in a turn of the event loop. */
  #look(): void {
    if (!this.#readable) throw this.#refusal();
    const now = performance.now();
    if (this.#looked && now - this.#lookedMs < LOOK_MS) return;
    if (!this.#looked) {
      this.#looked = true;
      setImmediate(this.#turned);
    }
    this.#lookedMs = now;
    if (this.#trusted) this.#seeOthers();
  }

  readonly #turned = () => {
    this.#looked = false;
  };

  /**
   * Whether a look tells what others did. After an error on the writing connection its `dataVersion` may move without
   * anybody's doing, which harms nothing as soon as all of ours is on disk.
   */
  get #trusted(): boolean {
    return !this.#doubtful || this.#commits.flushedAll;
  }

  /**
   * Shows what others have committed. All of it is on disk: they flush what stands before in the WAL with their own,
   * and because each batch looks under the write lock first, nothing of ours can stand behind.
   */
  #seeOthers(): void {
    const dataVersion = this.#parts.writer.dataVersion();
    this.#doubtful = false;
    if (dataVersion === this.#dataVersion) return;
    try {
      this.#parts.snapshots.renew();
    } catch (error) {
      // A reader without a snapshot would show what is not on disk.
      this.#fail(error as Error);
      throw this.#refusal();
    }
    this.#dataVersion = dataVersion;
    this.#foreign++;
  }

  /** The end: nothing is answered as a success after this. */
  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#commits.end(this.#refusal());
    this.#options.onFailed?.(error);
  }

  get #readable(): boolean {
    return this.#failure === undefined && !this.#closed;
  }

  #refusal(): StorageError {
    const cause = this.#failure;
    if (cause === undefined) return new StorageError('closed', 'The database is closed.');
    return new StorageError('failed', 'A flush to disk has failed; the process must start anew.', { cause });
  }
}

const details: Record<Health['writes'], string> = {
  ok: '',
  full: 'The disk is full.',
  stalled: 'The disk does not end a flush.',
  unavailable: 'Another process holds the database’s write lock.',
};

/** The connections that flush nothing by themselves. */
const unsynced = new Set<SqliteConnection>();

/** SQLite brings the WAL into the file when a process that ends lets go of it: not without flushing. */
function leave(): void {
  for (const connection of unsynced) {
    connection.rollback();
    connection.synchronous('full');
  }
}

function flushAtExit(connection: SqliteConnection): void {
  if (unsynced.size === 0) process.on('exit', leave);
  unsynced.add(connection);
}

function flushedAtExit(connection: SqliteConnection): void {
  unsynced.delete(connection);
  if (unsynced.size === 0) process.off('exit', leave);
}
