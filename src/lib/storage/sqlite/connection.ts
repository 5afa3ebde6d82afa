import { setTimeout as pause } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { UserError } from '../../user-error.ts';
import type { Query } from '../query.ts';
import { StatementCache } from '../statement-cache.ts';
import { isBusy } from './errors.ts';

/** The settings of a connection. Each is set explicitly, so that compile-time defaults of SQLite do not matter. */
export interface SqliteConnectionOptions {
  /** `full` flushes at every commit; `off` never, for callers that flush. */
  readonly synchronous: Synchronous;
  /** Upper bound of the page cache in KiB. */
  readonly cacheKiB: number;
  /** How long SQLite waits for a lock, blocking the thread. */
  readonly busyMs: number;
}

export type Synchronous = 'off' | 'full';

export type { RunResult } from 'better-sqlite3';

export interface Prepared {
  readonly statement: SqliteDatabase.Statement<[unknown[]]>;
  readonly writes: boolean;
  /** The topic that changes when this statement changes rows. */
  readonly topic: string | undefined;
  readonly words: ReadonlySet<string>;
  values(params: unknown): unknown[];
}

/** How many frames a checkpoint has not copied yet, and whether the WAL is now empty. */
export interface CheckpointResult {
  readonly left: number;
  readonly truncated: boolean;
}

/** Returns the topic that changes when rows of a table change. */
export function tableTopic(table: string): string {
  return `rows of ${table}`;
}

/**
 * Calls `work` with a function that runs a query on an existing file. Migrates nothing and writes nothing. The
 * connection is not opened read-only, because such a connection leaves `-wal` and `-shm` files behind.
 */
export function readSqlite<T>(file: string, work: (rows: (sql: string) => unknown[]) => T): T {
  const db = new SqliteDatabase(file, { fileMustExist: true });
  try {
    db.pragma('query_only = on');
    return work(sql => db.prepare(sql).all());
  } finally {
    db.close();
  }
}

/** A connection to a SQLite file in WAL mode, with its prepared statements. Automatic checkpoints are off. */
export class SqliteConnection {
  readonly #db: SqliteDatabase.Database;
  readonly #dataVersion: SqliteDatabase.Statement<[], number>;
  readonly #begin: SqliteDatabase.Statement<[]>;
  readonly #beginWrite: SqliteDatabase.Statement<[]>;
  readonly #commit: SqliteDatabase.Statement<[]>;
  readonly #rollback: SqliteDatabase.Statement<[]>;
  /** Reads the file, which takes the snapshot of a read transaction. */
  readonly #anyRow: SqliteDatabase.Statement<[]>;
  // better-sqlite3 finalizes a statement when it is garbage collected.
  readonly statements = new StatementCache((query: Query<unknown, unknown>) => this.#prepare(query));

  /** Opens `file`, creating it if necessary; its directory must exist. */
  constructor(file: string, options: SqliteConnectionOptions) {
    this.#db = new SqliteDatabase(file, { timeout: options.busyMs });
    try {
      this.synchronous(options.synchronous);
      // A new pet changes one page of each index: small pages mean fewer bytes to write. Applies to new files only.
      this.#db.pragma('page_size = 2048');
      this.#db.pragma('journal_mode = wal');
      this.#db.pragma('wal_autocheckpoint = 0');
      this.#db.pragma(`cache_size = ${-options.cacheKiB}`);
      this.#db.pragma('temp_store = memory');
      this.#db.pragma('foreign_keys = on');
      this.#db.pragma('mmap_size = 0');
      this.#dataVersion = this.#db.prepare<[], number>('pragma data_version').pluck();
      this.#begin = this.#db.prepare('begin');
      this.#beginWrite = this.#db.prepare('begin immediate');
      this.#commit = this.#db.prepare('commit');
      this.#rollback = this.#db.prepare('rollback');
      this.#anyRow = this.#db.prepare('select 1 from sqlite_schema limit 1');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Whether a transaction is open. SQLite rolls back by itself after some errors. */
  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  #prepare(query: Query<unknown, unknown>): Prepared {
    const { sql, values, words, changedTable } = query.compiledFor('sqlite');
    const statement = this.#db.prepare<[unknown[]]>(sql);
    const topic = changedTable === undefined ? undefined : tableTopic(changedTable);
    return { statement, writes: !statement.readonly, topic, words, values };
  }

  /** Runs statements that have no parameters, and ignores the rows that they return. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Runs a statement once, without caching it. Returns no rows for a statement that has none. */
  rows(sql: string, ...values: unknown[]): unknown[] {
    const statement = this.#db.prepare(sql);
    if (statement.reader) return statement.all(...values);
    statement.run(...values);
    return [];
  }

  synchronous(value: Synchronous): void {
    this.#db.pragma(`synchronous = ${value}`);
  }

  /** Sets how long SQLite waits for a lock, blocking the thread. */
  busyMs(value: number): void {
    this.#db.pragma(`busy_timeout = ${value}`);
  }

  /** Begins a read transaction, a snapshot of all committed data; it replaces the open transaction, if any. */
  beginRead(): void {
    this.rollback();
    this.#begin.run();
    try {
      this.#anyRow.get();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Begins a write transaction. Throws `SQLITE_BUSY` if another connection holds the write lock. */
  beginWrite(): void {
    this.#beginWrite.run();
  }

  commit(): void {
    this.#commit.run();
  }

  /** Rolls back the open transaction, if any. */
  rollback(): void {
    if (this.#db.inTransaction) this.#rollback.run();
  }

  /**
   * Commits a WAL frame that changes nothing. Until a checkpoint copies it to the file, new readers hold a lock on the
   * WAL, which prevents commits from restarting the WAL over old frames.
   */
  touch(): void {
    this.beginWrite();
    try {
      // This number is not used. Setting it writes its page even if the value is the same.
      const version = this.#db.pragma('user_version', { simple: true });
      this.#db.pragma(`user_version = ${version}`);
      this.commit();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Returns SQLite's `PRAGMA data_version`, which changes when another connection commits. */
  dataVersion(): number {
    return this.#dataVersion.get()!;
  }

  checkpoint(mode: 'passive' | 'truncate'): CheckpointResult {
    const [row] = this.#db.pragma(`wal_checkpoint(${mode})`) as { busy: number; log: number; checkpointed: number }[];
    const { busy, log, checkpointed } = row!;
    return { left: Math.max(0, log - checkpointed), truncated: mode === 'truncate' && busy === 0 && log <= 0 };
  }

  /**
   * Copies the database to a file, as of the open read transaction. Other processes may write meanwhile.
   * @param onPages called every COPY_PAGES pages with the number of copied pages and of all pages; if it throws, the
   *   copy ends
   */
  async copyTo(file: string, onPages: (copied: number, total: number) => void): Promise<void> {
    const progress = ({ totalPages, remainingPages }: SqliteDatabase.BackupMetadata) => {
      onPages(totalPages - remainingPages, totalPages);
      return COPY_PAGES;
    };
    await this.#db.backup(file, { progress });
  }

  close(): void {
    this.#db.close();
  }
}

/** How many pages a copy writes at a time: 4 MiB. */
const COPY_PAGES = 2048;

/** How long to try to get a lock that another process holds, and the pause between attempts. */
export const LOCK_TIMEOUT_MS = 5000;
export const LOCK_RETRY_MS = 3;

/** Repeats `attempt` while another connection holds the lock that it needs, for LOCK_TIMEOUT_MS. */
export async function retryWhileBusy<T>(attempt: () => T): Promise<T> {
  const deadlineMs = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadlineMs) throw error;
      await pause(LOCK_RETRY_MS);
    }
  }
}

/**
 * Locks `file`, a small database for this purpose only, for the life of this process.
 * @returns releases the lock
 * @throws `SQLITE_BUSY` if another process holds it
 */
export function lockFile(file: string): () => void {
  const holder = new SqliteDatabase(file, { timeout: 0 });
  try {
    holder.pragma('journal_mode = memory');
    // Exactly one of several concurrent callers gets this lock. If they requested an exclusive lock, all of them could
    // fail.
    holder.exec('begin immediate');
  } catch (error) {
    holder.close();
    throw error;
  }
  held.add(holder);
  return () => {
    held.delete(holder);
    holder.close();
  };
}

/** Keeps the connections reachable: collecting one would release its lock. */
const held = new Set<SqliteDatabase.Database>();

/** Earlier versions can corrupt a database that has two writers (SQLite, "the WAL-reset bug"). */
const OLDEST = [3, 51, 3] as const;

/** Throws a UserError if this SQLite is too old to be safe. */
export function requireSqlite(version: string = builtInVersion()): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const difference = major - OLDEST[0] || minor - OLDEST[1] || patch - OLDEST[2];
  if (difference < 0)
    throw new UserError(`SQLite ${version} is too old: version ${OLDEST.join('.')} or later is required.`);
}

function builtInVersion(): string {
  const memory = new SqliteDatabase(':memory:');
  try {
    return memory.prepare<[], string>('select sqlite_version()').pluck().get()!;
  } finally {
    memory.close();
  }
}
