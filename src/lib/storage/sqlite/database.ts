import { dirname } from 'node:path';
import { UserError } from '../../user-error.ts';
import type { Database } from '../database.ts';
import { SqliteCliConnection } from './cli-connection.ts';
import { LOCK_TIMEOUT_MS, requireSqlite, retryWhileBusy, SqliteConnection } from './connection.ts';
import { createDirectory, createPrivateFile, requireRestored } from './data-directory.ts';
import { openingError } from './errors.ts';
import { flushDirectory, WalFlush } from './flush.ts';
import { migrateSqlite } from './migrate.ts';
import { type SqliteOptions, SqliteServerConnection } from './server-connection.ts';
import { Snapshots } from './snapshots.ts';

/** The page caches of the write connection and of each read connection. Enough for a million pets. */
const WRITER_CACHE_KIB = 8 * 1024;
const READER_CACHE_KIB = 6 * 1024;
/** Readers wait only while another process recovers the WAL, which is brief. */
const READER_BUSY_MS = 20;
const CHECKPOINT_BYTES = 16 * 1024 * 1024;

/**
 * Opens the database in `file` and runs missing migrations. Commits that a killed process left in the WAL are on disk
 * before the first read. See `docs/decisions/durability.md`.
 * @throws {UserError} if the file cannot be used (damaged, newer, foreign, no permission, locked by another process),
 *   or SQLite is too old
 */
export async function openSqlite(options: SqliteOptions): Promise<Database> {
  requireSqlite();
  const { file, role, migrations, clock, log } = options;
  requireRestored(file);
  const connections: SqliteConnection[] = [];
  const connect: Connect = (cacheKiB, busyMs) => {
    const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB, busyMs });
    connections.push(connection);
    return connection;
  };
  try {
    createDirectory(dirname(file));
    createPrivateFile(file);
    // SQLite does not wait while another process switches a new file to WAL mode.
    const writer = await retryWhileBusy(() => connect(WRITER_CACHE_KIB, LOCK_TIMEOUT_MS));
    migrateSqlite(writer, file, migrations, clock.now(), log);
    return role === 'server' ? openForServer(options, writer, connect) : openForCli(options, writer, connect);
  } catch (error) {
    for (const connection of connections) connection.close();
    throw openingError(error, file);
  }
}

type Connect = (cacheKiB: number, busyMs: number) => SqliteConnection;

function openForCli(options: SqliteOptions, writer: SqliteConnection, connect: Connect): Database {
  const reader = connect(READER_CACHE_KIB, READER_BUSY_MS);
  writer.busyMs(0);
  return new SqliteCliConnection(options, writer, reader, new WalFlush(options.file));
}

function openForServer(options: SqliteOptions, writer: SqliteConnection, connect: Connect): Database {
  const { file, checkpointBytes = CHECKPOINT_BYTES } = options;
  // Copies all recovered frames into the file, so that every later read is of flushed data.
  if (!writer.checkpoint('truncate').truncated) {
    throw new UserError(`Another process reads the database ${file} continuously: stop it, then start again.`);
  }
  const flush = new WalFlush(file);
  flush.flushSync();
  flushDirectory(dirname(file));
  const dataVersion = writer.dataVersion();
  // A command may have committed meanwhile, so the WAL may not be empty; the readers must protect it.
  writer.touch();
  writer.busyMs(0);
  const snapshots = new Snapshots(connect(READER_CACHE_KIB, READER_BUSY_MS), connect(READER_CACHE_KIB, READER_BUSY_MS));
  return new SqliteServerConnection(options, { writer, dataVersion, snapshots, flush, checkpointBytes });
}
