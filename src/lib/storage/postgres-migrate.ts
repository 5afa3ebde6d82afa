import { Refusal } from '../refusal.ts';
import { missingMigrations } from './migrate.ts';
import { type Migration, words } from './migration.ts';
import type { Connection, Server } from './postgres-connection.ts';

/**
 * Brings the schema up to date, step by step, each in a transaction of its own: what was begun and not finished leaves
 * nothing behind. Safe to run on several machines at once: one works, the others wait and find it done.
 * @param now when, in milliseconds since the Unix epoch
 * @returns the names of the steps that were taken now
 * @throws {Refusal} when the database is newer than this program
 */
export async function migratePostgres(
  server: Server,
  schema: string | undefined,
  migrations: readonly Migration[],
  now: number,
): Promise<string[]> {
  const connection = await server.connect('petstore migrate', { patient: true });
  const run = (text: string, values?: unknown[]) => connection.ask(Number.POSITIVE_INFINITY, text, values);
  try {
    // Held until the connection is closed.
    await run(`select pg_advisory_lock(hashtextextended('petstore migrate', 0))`);
    if (schema !== undefined) await run(`create schema if not exists ${schema}`);
    const { int, text, end } = words.postgres;
    await run(`create table if not exists migrations (name ${text} primary key, applied_at ${int} not null) ${end}`);
    const steps = missingMigrations(migrations, await applied(connection), server.place);
    for (const step of steps) {
      await run('begin');
      for (const statement of step.up(words.postgres)) await run(statement);
      await run('insert into migrations (name, applied_at) values ($1, $2)', [step.name, Math.floor(now)]);
      await run('commit');
    }
    return steps.map(({ name }) => name);
  } finally {
    connection.release();
  }
}

/**
 * Refuses a database that is not exactly as far as this program.
 * @throws {Refusal} when it is behind, naming the command that helps, or newer
 */
export async function requireMigrated(connection: Connection, place: string, migrations: readonly Migration[]) {
  const names = await applied(connection).catch(error => {
    if (error.code === '42P01') return [];
    throw error;
  });
  if (missingMigrations(migrations, names, place).length > 0) {
    throw new Refusal(`The database at ${place} is not up to date: run "petstore migrate" first.`);
  }
}

async function applied(connection: Connection): Promise<string[]> {
  const { rows } = await connection.ask(performance.now() + 10_000, 'select name from migrations order by name');
  return rows.map(({ name }) => name);
}
