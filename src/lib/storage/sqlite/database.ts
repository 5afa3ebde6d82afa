import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import type { Database } from '../database.ts';
import type { Migration } from '../migration.ts';
import { SqliteCliConnection } from './cli-connection.ts';
import { isBusy, openingError, requireSqlite, SqliteConnection } from './connection.ts';
import { makeDirectory } from './data-directory.ts';
import { flushDirectory, WalFlush } from './flush.ts';
import { migrateSqlite } from './migrate.ts';
import { SqliteServerConnection } from './server-connection.ts';
import { Snapshots } from './snapshots.ts';

/** How a database in a file is opened. */
export interface SqliteOptions {
  /** The database file; `-wal` and `-shm` stand beside it. Its directory is made where it is missing. */
  readonly file: string;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** The one process that serves the file, or a command that comes, does one thing and leaves. */
  readonly role: 'server' | 'cli';
  readonly log: Log;
  /** A flush has failed, which is final: the process is to end, and the next start recovers what is on disk. */
  onFailed?(error: Error): void;
  /** The length of the WAL from which it is brought into the file, 16 MiB where left out. */
  readonly checkpointBytes?: number;
}

/** The writing connection's page cache, and each reading one's: what a million animals need, twice in one process. */
const WRITER_CACHE_KIB = 8 * 1024;
const READER_CACHE_KIB = 6 * 1024;
/** How long the start waits for other processes. */
const START_MS = 5000;
/** What a reader may meet is over in no time: another process recovering the WAL. */
const READER_BUSY_MS = 20;
const CHECKPOINT_BYTES = 16 * 1024 * 1024;

/**
 * Opens the database in `file`, bringing its schema up to date.
 *
 * What a process that was killed left behind is on disk before the first read. How a write becomes durable while
 * nobody waits for a disk is told in `docs/decisions/durability.md`.
 * @throws {UserError} when the file cannot be used (damaged, newer, not ours, no permission, held by another process) or
 *   SQLite is too old, in one sentence
 */
export async function openSqlite(options: SqliteOptions): Promise<Database> {
  requireSqlite();
  const { file, role, migrations, clock } = options;
  const connections: SqliteConnection[] = [];
  const connect: Connect = (cacheKiB, busyMs) => {
    const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB, busyMs });
    connections.push(connection);
    return connection;
  };
  try {
    makeDirectory(dirname(file));
    const writer = await patiently(() => connect(WRITER_CACHE_KIB, START_MS));
    migrateSqlite(writer, file, migrations, clock.now());
    return role === 'server' ? serve(options, writer, connect) : visit(options, writer, connect);
  } catch (error) {
    for (const connection of connections) connection.close();
    throw openingError(error, file);
  }
}

type Connect = (cacheKiB: number, busyMs: number) => SqliteConnection;

function visit(options: SqliteOptions, writer: SqliteConnection, connect: Connect): Database {
  const reader = connect(READER_CACHE_KIB, READER_BUSY_MS);
  writer.busyMs(0);
  return new SqliteCliConnection(options, writer, reader, new WalFlush(options.file));
}

function serve(options: SqliteOptions, writer: SqliteConnection, connect: Connect): Database {
  const { file } = options;
  // All that was recovered comes into the file, so that what is read from now on is on disk.
  if (!writer.checkpoint('truncate').truncated) {
    throw new UserError(`The database ${file} is read by another process all the time: end it, then start again.`);
  }
  const flush = new WalFlush(file);
  flush.now();
  flushDirectory(dirname(file));
  const dataVersion = writer.dataVersion();
  // A command may have come between: the WAL need not be empty, but the readers are to keep it as it is.
  writer.touch();
  writer.busyMs(0);
  const snapshots = new Snapshots(connect(READER_CACHE_KIB, READER_BUSY_MS), connect(READER_CACHE_KIB, READER_BUSY_MS));
  return new SqliteServerConnection(options, {
    writer,
    dataVersion,
    snapshots,
    flush,
    checkpointBytes: options.checkpointBytes ?? CHECKPOINT_BYTES,
  });
}

/** While another process makes a new file a WAL database, SQLite itself does not wait. */
async function patiently<T>(open: () => T): Promise<T> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      await pause(10);
    }
  }
}
