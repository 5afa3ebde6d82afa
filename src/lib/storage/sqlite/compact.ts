import { statSync } from 'node:fs';
import { OfflineSqlite } from './offline.ts';

/** The size of a database file with its write-ahead log, before and after it was rewritten. */
export interface Compaction {
  readonly before: number;
  readonly after: number;
}

/**
 * Returns the disk space that `compactSqlite` needs for a file: SQLite writes the pages in use to a temporary file, and
 * then to the write-ahead log.
 * @throws {UserError} if the file cannot be used
 */
export function compactionSpace(file: string): number {
  const database = new OfflineSqlite(file);
  try {
    const [row] = database.rows(
      `select 2 * page_size * (page_count - freelist_count) as bytes
       from pragma_page_count, pragma_freelist_count, pragma_page_size`,
    ) as { bytes: number }[];
    return row!.bytes;
  } finally {
    database.close();
  }
}

/**
 * Rewrites a database without its free pages. Runs in one transaction, so a crash leaves the file unchanged. Blocks the
 * thread. The temporary file is in `SQLITE_TMPDIR`.
 * @throws {UserError} if the file cannot be used
 * @throws {StorageError} `full`; `unavailable` if another process uses the file
 */
export function compactSqlite(file: string): Compaction {
  const before = bytesOf(file);
  const database = new OfflineSqlite(file);
  try {
    database.rows('pragma temp_store = file');
    database.rows('vacuum');
    database.rows('pragma wal_checkpoint(truncate)');
  } finally {
    database.close();
  }
  return { before, after: bytesOf(file) };
}

function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}
