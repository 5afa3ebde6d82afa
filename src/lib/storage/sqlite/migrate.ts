import { UserError } from '../../user-error.ts';
import { createMigrationsTable, dialects, type Migration, missingMigrations } from '../migration.ts';
import type { SqliteConnection } from './connection.ts';

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
        const values = [step.name, Math.floor(now)];
        connection.rows('insert into migrations (name, applied_at) values (?, ?) returning 1', ...values);
      }
      connection.commit();
    } catch (error) {
      connection.rollback();
      throw error;
    }
  }
}

function missing(connection: SqliteConnection, file: string, migrations: readonly Migration[]): readonly Migration[] {
  const tables = connection.rows(`select name from sqlite_schema where type = 'table'`) as { name: string }[];
  if (tables.length === 0) return migrations;
  if (!tables.some(({ name }) => name === 'migrations')) {
    throw new UserError(`The file ${file} is not a database of this program.`);
  }
  const applied = connection.rows('select name from migrations order by name') as { name: string }[];
  const names = applied.map(({ name }) => name);
  return missingMigrations(migrations, names, file);
}
