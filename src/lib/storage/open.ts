import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import type { Migration } from './migration.ts';

/** Where a database lives: a file of the embedded engine, or a schema behind a PostgreSQL URL. */
export type DatabaseLocation = { readonly file: string } | { readonly url: string; readonly schema?: string };

/** What a database is opened with, whichever engine it is. */
export interface OpenOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly role: 'server' | 'cli';
  /** Whether to bring a database on a server up to date; else one that is behind is refused. */
  readonly migrate?: boolean;
  readonly log: Log;
  /** The embedded engine: a flush has failed, which is final; the process is to end. */
  onFailed?(error: Error): void;
}

/**
 * Opens the database at `place`. A file is made and brought up to date; a database on a server must be up to date.
 * Only the engine that is used is loaded.
 * @throws {Refusal} when the database is not as it must be, in one sentence
 * @throws {StorageError} `unavailable` when the server cannot be reached
 */
export async function openDatabase(place: DatabaseLocation, options: OpenOptions): Promise<Database> {
  if ('file' in place) {
    const { openSqlite } = await import('./sqlite/database.ts');
    return openSqlite({ ...options, file: place.file });
  }
  const { openPostgres } = await import('./postgres/database.ts');
  return openPostgres({ ...options, ...place, migrate: options.migrate ?? false });
}
