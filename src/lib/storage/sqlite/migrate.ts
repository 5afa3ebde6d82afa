import { existsSync } from 'node:fs';
import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import { createMigrationsTable, dialects, type Migration, missingMigrations } from '../migration.ts';
import { MigrationReport, type MigrationState, workedTables } from '../migration-report.ts';
import { readSqlite, type SqliteConnection } from './connection.ts';
import { requireRestored } from './data-directory.ts';
import { openingError } from './errors.ts';

/**
 * Runs the missing migrations, each in its own transaction. Safe to run in several processes at once.
 * @param now milliseconds since the Unix epoch
 * @param log gets the progress of an upgrade
 * @throws {UserError} if the file has migrations that this program does not know, or is not a database of this program
 */
export function migrateSqlite(
  connection: SqliteConnection,
  file: string,
  migrations: readonly Migration[],
  now: number,
  log?: Log,
): void {
  if (missing(connection, file, migrations).length === 0) return;
  const report = new MigrationReport(
    stateOf(sql => connection.rows(sql), file, migrations),
    log,
  );
  while (missing(connection, file, migrations).length > 0) {
    connection.beginWrite();
    try {
      const [step] = missing(connection, file, migrations);
      if (step !== undefined) {
        connection.exec(createMigrationsTable(dialects.sqlite));
        for (const statement of report.statements(step)) connection.exec(statement);
        connection.rows('insert into migrations (name, applied_at) values (?, ?)', step.name, Math.floor(now));
      }
      connection.commit();
    } catch (error) {
      connection.rollback();
      throw error;
    }
  }
  report.end();
}

/**
 * Returns the applied migrations of a file. Changes nothing.
 * @throws {UserError} if the file cannot be read, is not a database of this program, or a restore of it was interrupted
 */
export function sqliteMigrationState(file: string, migrations: readonly Migration[]): MigrationState {
  requireRestored(file);
  if (!existsSync(file)) return stateOf(() => [], file, migrations);
  try {
    return readSqlite(file, rows => stateOf(rows, file, migrations));
  } catch (error) {
    throw openingError(error, file);
  }
}

function stateOf(rows: (sql: string) => unknown[], file: string, migrations: readonly Migration[]): MigrationState {
  const applied = appliedNames(rows, file);
  const missing = migrations.filter(({ name }) => !applied.includes(name));
  const tables = rows(`select name from sqlite_schema where type = 'table'`) as { name: string }[];
  const counts = tables
    .filter(({ name }) => workedTables(missing).has(name))
    .map(({ name }) => [name, (rows(`select count(*) as rows from ${name}`)[0] as { rows: number }).rows] as const);
  return { engine: 'sqlite', location: file, applied, missing, rows: new Map(counts) };
}

function missing(connection: SqliteConnection, file: string, migrations: readonly Migration[]): readonly Migration[] {
  return missingMigrations(migrations, appliedNames(connection.rows.bind(connection), file), file);
}

/**
 * Returns the names of the applied migrations of a file, in order; none for an empty file.
 * @param rows runs a query on the file
 * @throws {UserError} if it is not a database of this program
 */
export function appliedNames(rows: (sql: string) => unknown[], file: string): readonly string[] {
  const tables = rows(`select name from sqlite_schema where type = 'table'`) as { name: string }[];
  if (tables.length === 0) return [];
  if (!tables.some(({ name }) => name === 'migrations')) {
    throw new UserError(`The file ${file} is not a database of this program.`);
  }
  const applied = rows('select name from migrations order by name') as { name: string }[];
  return applied.map(({ name }) => name);
}
