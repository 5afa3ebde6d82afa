import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import { StorageError } from '../database.ts';
import { createMigrationsTable, dialects, type Migration, missingMigrations, requireCurrent } from '../migration.ts';
import { MigrationReport, type MigrationState, workedTables } from '../migration-report.ts';
import { type PostgresServer, postgresServer } from './connection.ts';
import type { Connection } from './session.ts';

/**
 * Runs the missing migrations, each in its own transaction. Safe to run on several machines at once: an advisory lock
 * lets one of them run while the others wait.
 * @param now milliseconds since the Unix epoch
 * @param log gets the progress of an upgrade
 * @throws {UserError} if the database is newer than this program, or rejects a migration
 */
export async function migratePostgres(
  server: PostgresServer,
  schema: string | undefined,
  migrations: readonly Migration[],
  now: number,
  log?: Log,
): Promise<void> {
  const connection = await server.connect('petstore migrate', { unlimited: true });
  const run = (text: string, values?: unknown[]) => connection.query(Number.POSITIVE_INFINITY, text, values);
  try {
    // Released when the connection is closed.
    await run(`select pg_advisory_lock(hashtextextended('petstore migrate', 0))`);
    if (schema !== undefined) {
      const { rows } = await run('select to_regnamespace($1) is null as missing', [schema]);
      if (rows[0].missing) await run(`create schema ${schema}`);
    }
    const pending = await missing(connection, server, migrations);
    if (pending.length === 0) return;
    const report = new MigrationReport(await stateOf(connection, server, migrations), log);
    for (const migration of pending) {
      await run('begin');
      await run(createMigrationsTable(dialects.postgres));
      for (const statement of report.statements(migration)) await run(statement);
      await run('insert into migrations (name, applied_at) values ($1, $2)', [migration.name, Math.floor(now)]);
      await run('commit');
    }
    report.end();
  } catch (error) {
    if (error instanceof StorageError || error instanceof UserError) throw error;
    const { message } = error as Error;
    throw new UserError(`The database at ${server.location} cannot be migrated: ${message}.`, { cause: error });
  } finally {
    connection.release();
  }
}

/**
 * Requires that the database has exactly the known migrations.
 * @throws {UserError} if some are missing, naming the command that runs them, or if the database is newer
 */
export async function requireMigrated(
  connection: Connection,
  server: PostgresServer,
  migrations: readonly Migration[],
) {
  requireCurrent(migrations, await appliedNames(connection, server), server.location);
}

/**
 * Returns the applied migrations of a database. Changes nothing.
 * @throws {StorageError} `unavailable` if it cannot be reached
 */
export async function postgresMigrationState(
  url: string,
  schema: string | undefined,
  migrations: readonly Migration[],
): Promise<MigrationState> {
  const server = postgresServer(url, schema);
  const connection = await server.connect('petstore migrate', { unlimited: true });
  try {
    return await stateOf(connection, server, migrations);
  } finally {
    connection.release();
  }
}

async function stateOf(
  connection: Connection,
  server: PostgresServer,
  migrations: readonly Migration[],
): Promise<MigrationState> {
  const query = async (text: string) => (await connection.query(Number.POSITIVE_INFINITY, text)).rows;
  const applied = await appliedNames(connection, server);
  const missing = migrations.filter(({ name }) => !applied.includes(name));
  const [{ schema }] = await query('select current_schema() as schema');
  const tables = await query('select tablename as name from pg_tables where schemaname = current_schema()');
  const rows = new Map<string, number>();
  for (const { name } of tables) {
    if (workedTables(missing).has(name)) rows.set(name, (await query(`select count(*) as rows from ${name}`))[0].rows);
  }
  const location = `${server.location} (schema ${schema})`;
  return { engine: 'postgres', location, applied, missing, rows };
}

async function missing(connection: Connection, server: PostgresServer, migrations: readonly Migration[]) {
  return missingMigrations(migrations, await appliedNames(connection, server), server.location);
}

/**
 * The schema that marks a database whose restore is incomplete. A restore creates no table in it, so that the restore
 * can be repeated.
 */
const RESTORING = 'petstore_restoring';

const FIND_MARK = `to_regnamespace('${RESTORING}') is not null as restoring`;

/** Reports whether a database has the mark: a restore of it is running, or was interrupted. */
export function isRestoring(url: string): Promise<boolean> {
  return queryOnce(url, `select ${FIND_MARK}`).then(({ rows }) => rows[0].restoring);
}

/** Marks a database so that no server or command opens it until its restore is complete, or removes the mark. */
export async function markRestoring(url: string, restoring: boolean): Promise<void> {
  await queryOnce(url, restoring ? `create schema if not exists ${RESTORING}` : `drop schema if exists ${RESTORING}`);
}

/** Analyzes all tables. Otherwise PostgreSQL would plan for empty tables until it analyzes them itself. */
export async function analyze(url: string): Promise<void> {
  await queryOnce(url, 'analyze');
}

async function queryOnce(url: string, statement: string) {
  const connection = await postgresServer(url, undefined).connect('petstore restore');
  try {
    return await connection.query(Number.POSITIVE_INFINITY, statement);
  } finally {
    connection.release();
  }
}

/**
 * Returns the names of the applied migrations of a schema, in order; none for an empty or a missing schema.
 * @throws {UserError} if the restore of the database is incomplete
 */
export async function appliedNames(
  connection: Connection,
  { timeouts, location }: PostgresServer,
): Promise<readonly string[]> {
  // Looks only in the schema in which the table would be created, not in the whole search path.
  const find = `select to_regclass(quote_ident(current_schema()) || '.migrations') is not null as found,
    ${FIND_MARK}`;
  const { rows } = await connection.query(performance.now() + timeouts.call, find);
  if (rows[0].restoring) {
    throw new UserError(
      `The database at ${location} is not restored completely: unless a restore is running, run "petstore restore" again.`,
    );
  }
  if (!rows[0].found) return [];
  const applied = await connection.query(performance.now() + timeouts.call, 'select name from migrations');
  return applied.rows.map(({ name }) => name).sort();
}
