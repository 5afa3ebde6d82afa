import type { Database, OpenOptions } from './database.ts';
import { type Migration, missingMigrations, requireCopied, requireCurrent } from './migration.ts';
import type { MigrationState } from './migration-report.ts';
import type { OfflineDatabase } from './offline.ts';

/** A SQLite file, or a PostgreSQL URL with an optional schema. */
export type DatabaseLocation = { readonly file: string } | { readonly url: string; readonly schema?: string };

/**
 * Opens the database at `location`, and loads only its engine. Always migrates a SQLite file; migrates PostgreSQL only
 * with `migrate`, otherwise it must be up to date.
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

/**
 * Returns the applied migrations of a database, which may not exist. Changes nothing.
 * @throws {UserError} if it is not a database of this program, or a copy or restore of it was interrupted
 * @throws {StorageError} `unavailable` if the server cannot be reached
 */
export async function migrationState(
  location: DatabaseLocation,
  migrations: readonly Migration[],
): Promise<MigrationState> {
  const state = await readMigrationState(location, migrations);
  requireCopied(state.applied, state.location);
  return state;
}

async function readMigrationState(location: DatabaseLocation, migrations: readonly Migration[]) {
  if ('file' in location) {
    const { sqliteMigrationState } = await import('./sqlite/migrate.ts');
    return sqliteMigrationState(location.file, migrations);
  }
  const { postgresMigrationState } = await import('./postgres/migrate.ts');
  return postgresMigrationState(location.url, location.schema, migrations);
}

/**
 * Checks a database that a command reads without `openDatabase`: no copy or restore of it was interrupted, and it is
 * not newer than this program.
 * @param current whether it must have all migrations; otherwise it must have at least one
 * @throws {UserError} if a check fails
 * @throws {StorageError} `unavailable` if the server cannot be reached
 */
export async function requireComplete(
  database: DatabaseLocation,
  migrations: readonly Migration[],
  { current = false } = {},
): Promise<void> {
  const { applied, location } = await migrationState(database, migrations);
  const require = current || applied.length === 0 ? requireCurrent : missingMigrations;
  require(migrations, applied, location);
}

/**
 * Opens the database at `location` for work while no server serves it. Migrates nothing. Creates a missing SQLite file.
 * @throws {UserError} if the database cannot be used
 * @throws {StorageError} `unavailable` if it cannot be reached
 */
export async function openOffline(location: DatabaseLocation): Promise<OfflineDatabase> {
  if ('file' in location) {
    const { OfflineSqlite } = await import('./sqlite/offline.ts');
    return new OfflineSqlite(location.file);
  }
  const { openOfflinePostgres } = await import('./postgres/offline.ts');
  return openOfflinePostgres(location);
}
