import { UserError } from '../../user-error.ts';
import { StorageError } from '../database.ts';
import { missingMigrations } from '../migrate.ts';
import { dialects, type Migration } from '../migration.ts';
import { CALL_MS, type Connection, type PostgresServer } from './connection.ts';

/**
 * Brings the schema up to date, step by step, each in a transaction of its own: what was begun and not finished leaves
 * nothing behind. Safe to run on several machines at once: one works, the others wait and find it done.
 * @param now when, in milliseconds since the Unix epoch
 * @throws {UserError} when the database is newer than this program, or does not allow it
 */
export async function migratePostgres(
  server: PostgresServer,
  schema: string | undefined,
  migrations: readonly Migration[],
  now: number,
): Promise<void> {
  const connection = await server.connect('petstore migrate', { patient: true });
  const run = (text: string, values?: unknown[]) => connection.ask(Number.POSITIVE_INFINITY, text, values);
  try {
    // Held until the connection is closed.
    await run(`select pg_advisory_lock(hashtextextended('petstore migrate', 0))`);
    if (schema !== undefined) {
      const { rows } = await run('select to_regnamespace($1) is null as missing', [schema]);
      if (rows[0].missing) await run(`create schema ${schema}`);
    }
    for (const step of await missing(connection, server.place, migrations)) {
      const { int, text, end } = dialects.postgres;
      await run('begin');
      await run(`create table if not exists migrations (name ${text} primary key, applied_at ${int} not null) ${end}`);
      for (const statement of step.up(dialects.postgres)) await run(statement);
      await run('insert into migrations (name, applied_at) values ($1, $2)', [step.name, Math.floor(now)]);
      await run('commit');
    }
  } catch (error) {
    if (error instanceof StorageError || error instanceof UserError) throw error;
    const { message } = error as Error;
    throw new UserError(`The database at ${server.place} cannot be brought up to date: ${message}.`, { cause: error });
  } finally {
    connection.release();
  }
}

/**
 * Refuses a database that is not exactly as far as this program.
 * @throws {UserError} when it is behind, naming the command that helps, or newer
 */
export async function requireMigrated(connection: Connection, place: string, migrations: readonly Migration[]) {
  if ((await missing(connection, place, migrations)).length > 0) {
    throw new UserError(`The database at ${place} is not up to date: run "petstore migrate" first.`);
  }
}

async function missing(connection: Connection, place: string, migrations: readonly Migration[]) {
  // The table is looked for where a new one would be made, and nowhere else on the search path.
  const { rows } = await connection.ask(
    performance.now() + CALL_MS,
    `select to_regclass(quote_ident(current_schema()) || '.migrations') is not null as begun`,
  );
  if (!rows[0].begun) return migrations;
  const applied = await connection.ask(performance.now() + CALL_MS, 'select name from migrations order by name');
  return missingMigrations(
    migrations,
    applied.rows.map(({ name }) => name),
    place,
  );
}
