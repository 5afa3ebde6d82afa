import type { Database, OpenOptions } from './database.ts';

/** A SQLite file, or a PostgreSQL URL with an optional schema. */
export type DatabaseLocation = { readonly file: string } | { readonly url: string; readonly schema?: string };

/**
 * Opens the database at `location`, loading only the engine it needs. Migrates a SQLite file always, PostgreSQL only with
 * `migrate`; without it, PostgreSQL must be up to date.
 * @throws {UserError} if the database cannot be used
 * @throws {StorageError} `unavailable` if the server cannot be reached
 */
export async function openDatabase(
  location: DatabaseLocation,
  { migrate = false, ...options }: OpenOptions & { readonly migrate?: boolean },
): Promise<Database> {
  if ('file' in location) {
    const { openSqlite } = await import('./sqlite/database.ts');
    return openSqlite({ ...options, file: location.file });
  }
  const { openPostgres } = await import('./postgres/database.ts');
  return openPostgres({ ...options, ...location, migrate });
}
