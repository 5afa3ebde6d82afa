import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import type { Database } from '../database.ts';
import { COMMIT_MARGIN_MS, VisibilityDeadlines } from '../deadlines.ts';
import type { Migration } from '../migration.ts';
import type { OpenOptions } from '../open-options.ts';
import type { Query } from '../query.ts';
import { Calls } from './calls.ts';
import { CALL_TIMEOUT_MS, type PostgresServer, postgresServer } from './connection.ts';
import { UnknownOutcomeError } from './errors.ts';
import { HealthCheck } from './health.ts';
import { migratePostgres, requireMigrated } from './migrate.ts';
import { NotificationConnection } from './notifications.ts';
import { runTransaction } from './transaction.ts';

export interface PostgresOptions extends OpenOptions {
  /** `postgres://user:password@host:port/database`, with the driver's parameters such as `sslmode`. */
  readonly url: string;
  /** The schema of the tables; by default the URL or the server decides, usually `public`. */
  readonly schema?: string;
  /** Whether to run missing migrations. Without it, a database that lacks some is rejected. */
  readonly migrate: boolean;
  /** The size of the pool: 16 by default, 2 for a CLI connection. A server has one more connection for notifications. */
  readonly connectionsMax?: number;
}

/** A database on a PostgreSQL server. */
export type PostgresDatabase = Database & Required<Pick<Database, 'tryAdvisoryLock'>>;

/**
 * Opens a database on a PostgreSQL server, version 14 or later.
 *
 * Every call ends within `CALL_TIMEOUT_MS`, even if the server is down or silent; lost connections are replaced.
 * Transactions are `read committed`: rows may change between a read and a write, so unique indexes and single statements
 * decide (`docs/decisions/engines.md`).
 * @throws {UserError} if the database cannot be used: not migrated, newer, not UTF-8, or too old a server
 * @throws {StorageError} `unavailable` if it cannot be reached
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { clock, log, migrations, role } = options;
  const server = postgresServer(options.url, options.schema);
  if (options.migrate) await migratePostgres(server, options.schema, migrations, clock.now());
  await inspect(server, migrations, log);

  const pool = server.pool(options.connectionsMax ?? (role === 'server' ? 16 : 2));
  const notifications = role === 'server' ? new NotificationConnection(server, pool, log) : undefined;
  const calls = new Calls(pool);
  const health = new HealthCheck(calls);
  let lastNow = 0;
  const now = () => {
    lastNow = Math.max(lastNow, Math.floor(clock.now()));
    return lastNow;
  };
  const deadlines = new VisibilityDeadlines(now, COMMIT_MARGIN_MS);
  const listeners = new Set<{ readonly table: string; readonly listener: () => void }>();
  let closed: Promise<void> | undefined;

  const all = <P, R>(query: Query<P, R>, params: P): Promise<R[]> =>
    calls.run(async (connection, deadlineMs) => {
      const { sql, values } = query.compiledFor('postgres');
      return (await connection.query(deadlineMs, sql, values(params), query.id)).rows;
    });

  const write: Database['write'] = async work => {
    const notified = new Map<string, number>();
    const changedTables = new Set<string>();
    const publish = (known: boolean) => {
      for (const [topic, version] of notified) notifications?.moveTopic(topic, known ? version : undefined);
      for (const { table, listener } of listeners) if (changedTables.has(table)) listener();
    };
    try {
      const result = await calls.run((connection, deadlineMs) => {
        notified.clear();
        changedTables.clear();
        const own = { now, deadlines: deadlines.forTransaction(), notified, changedTables };
        return runTransaction(connection, deadlineMs, own, work);
      });
      health.onWrite();
      publish(true);
      return result;
    } catch (error) {
      health.onWriteFailed(error);
      // The transaction may have been committed.
      if (error instanceof UnknownOutcomeError) publish(false);
      throw error;
    }
  };

  async function close() {
    await calls.close();
    await notifications?.close();
    await pool.close();
  }

  return {
    engine: 'postgres',
    all,
    first: async (query, params) => (await all(query, params))[0],
    write,
    readTimestamp: time => deadlines.readTimestamp(time),
    dataVersion: () => undefined,
    topicVersion: topic => notifications?.topicVersion(topic),
    onChange(table, listener) {
      const entry = { table, listener };
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    health: () => health.check(notifications?.lostLocks() ?? []),
    tryAdvisoryLock: async name => (await notifications?.tryLock(name)) ?? false,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Checks the server's version and settings and the database's migrations. */
async function inspect(server: PostgresServer, migrations: readonly Migration[], log: Log) {
  const connection = await server.connect('petstore open');
  try {
    const { rows } = await connection.query(
      performance.now() + CALL_TIMEOUT_MS,
      `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
              current_setting('fsync') as fsync, current_setting('full_page_writes') as pages`,
    );
    const { version, encoding, fsync, pages } = rows[0];
    const { location } = server;
    if (version < 140_000) throw new UserError(`The server at ${location} is older than PostgreSQL 14.`);
    if (encoding !== 'UTF8')
      throw new UserError(`The encoding of the database at ${location} is ${encoding}, not UTF8.`);
    if (fsync === 'off' || pages === 'off') {
      log.warn(`The database at ${location} has fsync or full_page_writes off: a power cut may destroy it.`);
    }
    await requireMigrated(connection, location, migrations);
  } finally {
    connection.release();
  }
}
