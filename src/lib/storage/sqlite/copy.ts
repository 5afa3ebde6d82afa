import { closeSync, fdatasyncSync, openSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../../user-error.ts';
import type { Reader } from '../database.ts';
import { requireSqlite, retryWhileBusy, SqliteConnection } from './connection.ts';
import { createPrivateFile } from './data-directory.ts';
import { busyError, codeOf, diskFullError, isBusy, isDiskFull, openingError } from './errors.ts';

/** A database file, and the path of its copy. */
export interface SqliteCopy {
  readonly from: string;
  readonly to: string;
}

/** Reports the progress of long work: the completed share of it, from 0 to 1. */
export type OnProgress = (share: number) => void;

/** A server rejects writes at 48 MiB: a copy in progress must not let the write-ahead log grow so long. */
const WAL_BYTES_MAX = 40 * 1024 * 1024;
/** A server runs no checkpoint below this size. */
const WAL_BYTES_SHORT = 16 * 1024 * 1024;
const ATTEMPTS = 5;
/** How long to wait for a shorter log before an attempt. Without a server, the log does not get shorter. */
const SHORT_WAIT_MS = 3000;
const SHORT_CHECK_MS = 20;
/** Readers wait only while another process recovers the log, which is brief. */
const BUSY_MS = 1000;

/**
 * Copies databases as of one moment, during which only the last database accepts commits. Flushes the copies.
 *
 * A server may serve the files meanwhile. It cannot shorten its write-ahead logs during a copy, so the copy starts
 * again before the server would reject writes because a log is too long.
 * @throws {UserError} if a file cannot be read, or the server writes faster than the copy
 * @throws {StorageError} `full`; `unavailable` if another process holds a write lock
 */
export async function copySqlite(copies: readonly SqliteCopy[], onProgress?: OnProgress): Promise<void> {
  requireSqlite();
  for (let attempt = 1; ; attempt++) {
    await untilLogsAreShort(copies);
    if (await copyAll(copies, onProgress)) return;
    if (attempt === ATTEMPTS) {
      throw new UserError('The server writes faster than its database can be copied: try again when it is less busy.');
    }
  }
}

/** Makes one attempt to copy. Returns false if a log got too long. */
async function copyAll(copies: readonly SqliteCopy[], onProgress: OnProgress | undefined): Promise<boolean> {
  const readers: SqliteConnection[] = [];
  let file = '';
  try {
    for (const { from } of copies) {
      file = from;
      readers.push(connect(from));
    }
    await beginTogether(copies, readers);
    const totals = copies.map(({ from }) => sizeOf(from));
    const total = totals.reduce((sum, bytes) => sum + bytes, 0);
    const logs = copies.map(({ from }) => ({ from, bytes: walBytes(from) }));
    const grown = () => logs.some(({ from, bytes }) => walBytes(from) > Math.max(WAL_BYTES_MAX, bytes));
    let before = 0;
    for (const [index, { from, to }] of copies.entries()) {
      file = from;
      createPrivateFile(to);
      await copyFlushed(readers[index]!, to, (copied, all) => {
        if (grown()) throw new LogTooLong();
        onProgress?.((before + (totals[index]! * copied) / all) / total);
      });
      readers[index]!.rollback();
      before += totals[index]!;
    }
    return true;
  } catch (error) {
    if (error instanceof LogTooLong) return false;
    if (isDiskFull(error)) throw diskFullError(error);
    // SQLite's backup API does not say which of the two files failed.
    if (codeOf(error) === 'SQLITE_IOERR') {
      throw new UserError(`${file} cannot be read, or its copy cannot be written (${codeOf(error)}).`, {
        cause: error,
      });
    }
    throw isBusy(error) ? busyError() : openingError(error, file);
  } finally {
    for (const reader of readers) reader.close();
  }
}

/**
 * Copies a database to a new file, and flushes the file after each step. A single flush at the end would delay the
 * flushes of a server on the same disk.
 */
async function copyFlushed(
  reader: SqliteConnection,
  to: string,
  onPages: (copied: number, total: number) => void,
): Promise<void> {
  const descriptor = openSync(to, 'r+');
  try {
    await reader.copyTo(to, (copied, total) => {
      onPages(copied, total);
      fdatasyncSync(descriptor);
    });
  } finally {
    closeSync(descriptor);
  }
}

class LogTooLong extends Error {}

/** Begins a read transaction on each connection while holding the write locks of all files except the last one. */
async function beginTogether(copies: readonly SqliteCopy[], readers: readonly SqliteConnection[]): Promise<void> {
  const lockers: SqliteConnection[] = [];
  try {
    for (const { from } of copies.slice(0, -1)) {
      const locker = connect(from, 0);
      lockers.push(locker);
      await retryWhileBusy(() => locker.beginWrite());
    }
    for (const reader of readers) reader.beginRead();
  } finally {
    for (const locker of lockers) {
      locker.rollback();
      locker.close();
    }
  }
}

async function untilLogsAreShort(copies: readonly SqliteCopy[]): Promise<void> {
  const deadlineMs = performance.now() + SHORT_WAIT_MS;
  const isLong = () => copies.some(({ from }) => walBytes(from) >= WAL_BYTES_SHORT);
  while (isLong() && performance.now() < deadlineMs) await pause(SHORT_CHECK_MS);
}

/**
 * Opens a copy that no other process uses.
 * @throws {UserError} if it is not a database
 */
export function openCopy(file: string) {
  const connection = connect(file, BUSY_MS, 64 * 1024);
  const reader: Reader = {
    engine: 'sqlite',
    all(query, params) {
      const { statement, values } = connection.statements.get(query);
      return statement.all(values(params)) as never[];
    },
    first(query, params) {
      const { statement, values } = connection.statements.get(query);
      return statement.get(values(params)) as never;
    },
  };
  return {
    reader,
    /**
     * Reads every page and returns the damage found, at most `limit` lines. `quick` does not check the contents of
     * indexes.
     */
    damage(how: 'quick' | 'full', limit: number): string[] {
      const pragma = how === 'quick' ? 'quick_check' : 'integrity_check';
      const lines = connection.rows(`pragma ${pragma}(${limit})`).map(row => String(Object.values(row as object)[0]));
      return lines.filter(line => line !== 'ok').map(line => line.replaceAll('\n', ' '));
    },
    /** Deletes all rows of tables, also from the pages of the file. Tables that do not exist are skipped. */
    empty(tables: readonly string[]): void {
      connection.exec('pragma secure_delete = on');
      for (const name of tables) {
        const isTable =
          connection.rows(`select 1 from sqlite_schema where type = 'table' and name = ?`, name).length > 0;
        if (isTable) connection.exec(`delete from "${name}"`);
      }
    },
    /** Returns the rows with broken foreign keys, at most `limit` lines. */
    brokenReferences(limit: number): string[] {
      const rows = connection.rows('select * from pragma_foreign_key_check limit ?', limit);
      return (rows as { table: string; rowid: number; parent: string }[]).map(
        ({ table, rowid, parent }) => `Row ${rowid} of ${table} refers to a missing row of ${parent}.`,
      );
    },
    close: () => connection.close(),
  };
}

function connect(file: string, busyMs = BUSY_MS, cacheKiB = 2048): SqliteConnection {
  try {
    return new SqliteConnection(file, { synchronous: 'full', cacheKiB, busyMs });
  } catch (error) {
    throw openingError(error, file);
  }
}

function walBytes(file: string): number {
  return sizeOf(`${file}-wal`);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
