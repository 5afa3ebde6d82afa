import SqliteDatabase from 'better-sqlite3';
import { UserError } from '../../user-error.ts';
import { StorageError } from '../database.ts';
import type { Query } from '../query.ts';

/** How a connection behaves; each is set on purpose and never left to how SQLite was built. */
export interface SqliteConnectionOptions {
  /** `full` flushes at every commit; `off` never, for those who flush themselves. */
  readonly synchronous: Synchronous;
  /** The page cache's bound in KiB. */
  readonly cacheKiB: number;
  /** How long SQLite itself waits for a lock, holding up the whole thread. */
  readonly busyMs: number;
}

export type Synchronous = 'off' | 'full';

/** One connection to a SQLite file in WAL mode, with its prepared statements. Automatic checkpoints are off. */
export class SqliteConnection {
  readonly #db: SqliteDatabase.Database;
  readonly #prepared: Prepared[] = [];
  readonly #begin: SqliteDatabase.Statement;
  readonly #beginImmediate: SqliteDatabase.Statement;
  readonly #commit: SqliteDatabase.Statement;
  readonly #rollback: SqliteDatabase.Statement;
  readonly #savepoint: SqliteDatabase.Statement;
  readonly #release: SqliteDatabase.Statement;
  readonly #rollbackTo: SqliteDatabase.Statement;
  readonly #look: SqliteDatabase.Statement<[]>;
  readonly #dataVersion: SqliteDatabase.Statement<[], number>;

  /** Opens `file`, making it where there is none; its directory must exist. */
  constructor(file: string, options: SqliteConnectionOptions) {
    const db = new SqliteDatabase(file, { timeout: options.busyMs });
    this.#db = db;
    try {
      this.synchronous(options.synchronous);
      // An animal more changes a place on a page of each index: small pages, few bytes to keep. Only new files take it.
      db.pragma('page_size = 2048');
      db.pragma('journal_mode = wal');
      db.pragma('wal_autocheckpoint = 0');
      db.pragma(`cache_size = ${-options.cacheKiB}`);
      db.pragma('temp_store = memory');
      db.pragma('foreign_keys = on');
      db.pragma('mmap_size = 0');
      this.#begin = db.prepare('begin');
      this.#beginImmediate = db.prepare('begin immediate');
      this.#commit = db.prepare('commit');
      this.#rollback = db.prepare('rollback');
      this.#savepoint = db.prepare('savepoint work');
      this.#release = db.prepare('release work');
      this.#rollbackTo = db.prepare('rollback to work');
      this.#look = db.prepare('select 1 from sqlite_schema limit 1');
      this.#dataVersion = db.prepare<[], number>('pragma data_version').pluck();
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Whether a transaction is open; SQLite ends one by itself after some errors. */
  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  /** Every row of a query that changes nothing. */
  all<P, R>(query: Query<P, R>, params: P): R[] {
    const { statement, values } = this.#prepare(query);
    return statement.all(values(params)) as R[];
  }

  /** The first row of a query that changes nothing. */
  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    const { statement, values } = this.#prepare(query);
    return statement.get(values(params)) as R | undefined;
  }

  /** Runs any query to its end: its rows, where it gives some, and how many it changed. */
  run<P, R>(query: Query<P, R>, params: P): { rows: R[]; changes: number } {
    const { statement, values } = this.#prepare(query);
    if (!statement.reader) return { rows: [], changes: statement.run(values(params)).changes };
    const rows = statement.all(values(params)) as R[];
    return { rows, changes: statement.readonly ? 0 : rows.length };
  }

  /** Runs statements without parameters and answers. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** The rows of a statement that is run once. */
  rows(sql: string, ...values: unknown[]): unknown[] {
    return this.#db.prepare(sql).all(...values);
  }

  synchronous(value: Synchronous): void {
    this.#db.pragma(`synchronous = ${value}`);
  }

  /** How long SQLite itself waits for a lock. */
  busyMs(value: number): void {
    this.#db.pragma(`busy_timeout = ${value}`);
  }

  /** Opens a transaction that sees what is committed at this moment, and nothing later. */
  beginRead(): void {
    this.#begin.run();
    try {
      this.#look.get();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Opens a transaction that writes, or throws `SQLITE_BUSY`. */
  beginWrite(): void {
    this.#beginImmediate.run();
  }

  commit(): void {
    this.#commit.run();
  }

  /** Ends the open transaction, where there is still one. */
  rollback(): void {
    if (this.#db.inTransaction) this.#rollback.run();
  }

  savepoint(): void {
    this.#savepoint.run();
  }

  release(): void {
    this.#release.run();
  }

  /** Undoes what came after the savepoint, and releases it. */
  undo(): void {
    this.#rollbackTo.run();
    this.#release.run();
  }

  /**
   * Commits a frame to the WAL that changes nothing. While it is not in the file, whoever begins to read holds a lock on
   * the WAL, so that no commit begins it anew over old frames.
   */
  touch(): void {
    this.beginWrite();
    try {
      // The number is nobody's; setting it writes its page also where it stays the same.
      const version = this.#db.pragma('user_version', { simple: true });
      this.#db.pragma(`user_version = ${version}`);
      this.commit();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** A number that moves when another connection has changed the file (SQLite, `PRAGMA data_version`). */
  dataVersion(): number {
    return this.#dataVersion.get()!;
  }

  /** Brings frames from the WAL into the file, and says how many are left and whether the WAL is empty now. */
  checkpoint(mode: 'passive' | 'truncate'): { left: number; truncated: boolean } {
    const [row] = this.#db.pragma(`wal_checkpoint(${mode})`) as { busy: number; log: number; checkpointed: number }[];
    const { busy, log, checkpointed } = row!;
    return { left: Math.max(0, log - checkpointed), truncated: mode === 'truncate' && busy === 0 && log <= 0 };
  }

  close(): void {
    this.#db.close();
  }

  #prepare<P, R>(query: Query<P, R>): Prepared<P> {
    const known = this.#prepared[query.id];
    if (known !== undefined) return known;
    const { sql, values } = query.compiledFor('sqlite');
    const prepared: Prepared<P> = { statement: this.#db.prepare(sql), values };
    this.#prepared[query.id] = prepared;
    return prepared;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the query's own type is checked where it is used
interface Prepared<P = any> {
  readonly statement: SqliteDatabase.Statement<[unknown[]]>;
  values(params: P): unknown[];
}

/**
 * Locks a small database file of its own for as long as this process lives; the function that lets it go.
 * @throws SQLite's `SQLITE_BUSY` when another process holds it
 */
export function holdFile(file: string): () => void {
  const holder = new SqliteDatabase(file, { timeout: 0 });
  try {
    holder.pragma('journal_mode = memory');
    // Of several at the same moment one gets this lock; the exclusive one may be denied to each for the others' sake.
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

/** A connection that nobody held on to would be collected, and its lock with it. */
const held = new Set<SqliteDatabase.Database>();

/** Versions below may corrupt a database with two writers (SQLite, "the WAL-reset bug"). */
const OLDEST = [3, 51, 3] as const;

/** Refuses a SQLite that is too old to be trusted. */
export function requireSqlite(version: string = builtInVersion()): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const difference = major - OLDEST[0] || minor - OLDEST[1] || patch - OLDEST[2];
  if (difference < 0) throw new UserError(`SQLite ${version} is too old: ${OLDEST.join('.')} or later is needed.`);
}

function builtInVersion(): string {
  const memory = new SqliteDatabase(':memory:');
  try {
    return memory.prepare<[], string>('select sqlite_version()').pluck().get()!;
  } finally {
    memory.close();
  }
}

/** SQLite's name of an error, such as `SQLITE_BUSY`, or '' for an error that is not SQLite's. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

/** Whether the disk did not take what was written; SQLite has undone the transaction then. */
export function isFull(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR_(WRITE|SHMSIZE|SHMOPEN|SHMMAP|TRUNCATE))$/.test(codeOf(error));
}

/** Whether the disk failed to flush, after which nothing that was written is sure. */
export function isFailedFlush(error: unknown): boolean {
  return /^SQLITE_IOERR_(DIR_)?FSYNC$/.test(codeOf(error));
}

/** The error for a write that the disk did not take. */
export function full(cause?: unknown): StorageError {
  return new StorageError('full', 'The disk is full; nothing was changed.', { cause });
}

/** Why `file` cannot be used, as one sentence; other errors as they are. */
export function openingError(error: unknown, file: string): unknown {
  const code = codeOf(error) || String((error as { code?: unknown } | null)?.code);
  const says = (sentence: string) => new UserError(sentence, { cause: error });
  if (/^SQLITE_NOTADB/.test(code)) return says(`The file ${file} is not a database of this program.`);
  if (/^SQLITE_CORRUPT/.test(code)) {
    return says(`The database ${file} is damaged: put a backup in its place, without its -wal and -shm files.`);
  }
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)|^E(ACCES|PERM|ROFS)$/.test(code)) {
    return says(`The database ${file} cannot be opened for reading and writing: see to its permissions.`);
  }
  if (code === 'ENOENT') return says(`The database ${file} cannot be made: its directory cannot be.`);
  if (/^E(NOTDIR|EXIST)$/.test(code))
    return says(`The database ${file} cannot be made: its directory is no directory.`);
  if (code === 'ENOSPC' || code === 'EDQUOT' || isFull(error)) {
    return says(`The database ${file} cannot be opened: the disk is full.`);
  }
  if (isBusy(error)) return says(`The database ${file} is held by another process: end it, or try again later.`);
  return error;
}
