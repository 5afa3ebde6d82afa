import { existsSync } from 'node:fs';
import { UserError } from '../../user-error.ts';
import { createMigrationsTable, dialects, type Migration, missingMigrations } from '../migration.ts';
import { readSqlite, type SqliteConnection } from './connection.ts';
import { openingError } from './errors.ts';

/**
 * Runs the missing migrations, each in its own transaction. Safe to run in several processes at once.
 * @param now milliseconds since the Unix epoch
 * @throws {UserError} if the file has migrations that this program does not know, or is not one of its databases
 */
export function migrateSqlite(
  connection: SqliteConnection,
  file: string,
  migrations: readonly Migration[],
  now: number,
): void {
  while (missing(connection, file, migrations).length > 0) {
    connection.beginWrite();
    try {
      const [step] = missing(connection, file, migrations);
      if (step !== undefined) {
        connection.exec(createMigrationsTable(dialects.sqlite));
        for (const statement of step.up(dialects.sqlite)) connection.exec(statement);
        connection.rows('insert into migrations (name, applied_at) values (?, ?)', step.name, Math.floor(now));
      }
      connection.commit();
    } catch (error) {
      connection.rollback();
      throw error;
    }
  }
}

/**
 * Returns the names of the migrations of a file, in order; none if it does not exist. Changes nothing.
 * @throws {UserError} if the file cannot be read, or is not one of the databases of this program
 */
export function appliedToSqlite(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  try {
    return readSqlite(file, rows => appliedNames(rows, file));
  } catch (error) {
    throw openingError(error, file);
  }
}

function missing(connection: SqliteConnection, file: string, migrations: readonly Migration[]): readonly Migration[] {
  return missingMigrations(migrations, appliedNames(connection.rows.bind(connection), file), file);
}

/**
 * Returns the names of the migrations that a file has, in order; none for an empty file.
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
