import type { Origin } from '../../origin.ts';
import { UserError } from '../../user-error.ts';
import type { Database, Health, MaybePromise, OpenOptions, StorageMeasurements, Transaction } from '../database.ts';
import { COMMIT_MARGIN_MS, VisibilityDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import { Calls } from './calls.ts';
import { type PostgresPool, type PostgresServer, postgresServer } from './connection.ts';
import { REQUIRE_WRITABLE, UnknownOutcomeError } from './errors.ts';
import { HealthCheck } from './health.ts';
import { migratePostgres, requireMigrated } from './migrate.ts';
import { NotificationConnection } from './notifications.ts';
import { Reads } from './reads.ts';
import { WriteGroups } from './write-groups.ts';

export interface PostgresOptions extends OpenOptions {
  /** `postgres://user:password@host:port/database`, with the driver's parameters such as `sslmode`. */
  readonly url: string;
  /** The schema of the tables; by default the URL or the server decides, usually `public`. */
  readonly schema?: string;
  /** Whether to run missing migrations. If false, a database that lacks some is rejected. */
  readonly migrate: boolean;
}

/**
 * Opens a database on a PostgreSQL server, version 14 or later.
 *
 * Every call ends within 2.4 s (`Timeouts`), even if the server is down or silent; lost connections are replaced.
 * Transactions are `read committed`: rows may change between a read and a write, so unique indexes and single
 * statements decide (`docs/decisions/engines.md`).
 * @throws {UserError} if the database cannot be used: not migrated, newer, not UTF-8, or the server is too old
 * @throws {StorageError} `unavailable` if it cannot be reached or, with the role `server`, is a standby or read-only
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, schema, migrations, clock, log } = options;
  const server = postgresServer(url, schema, options.timeoutScale);
  if (options.migrate) await migratePostgres(server, schema, migrations, clock.now(), log);
  await inspect(server, options);
  return new PostgresDatabase(server, options);
}

/** A database on a PostgreSQL server. */
export class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly readTimestamp: Database['readTimestamp'];
  readonly #origin: Origin | undefined;
  readonly #pool: PostgresPool;
  /** Absent on a CLI connection. */
  readonly #notifications: NotificationConnection | undefined;
  readonly #calls: Calls;
  readonly #groups: WriteGroups;
  readonly #reads: Reads;
  readonly #health: HealthCheck;
  readonly #deadlines: VisibilityDeadlines;
  readonly #listeners = new Set<{ readonly table: string; readonly listener: () => void }>();
  #closed: Promise<void> | undefined;

  constructor(server: PostgresServer, { clock, log, role, origin, connectionsMax = 2 }: PostgresOptions) {
    this.#origin = origin;
    this.#pool = server.pool(connectionsMax);
    this.#notifications = role === 'server' ? new NotificationConnection(server, this.#pool, log) : undefined;
    this.#calls = new Calls(this.#pool, server.timeouts.call);
    this.#groups = new WriteGroups(this.#calls);
    this.#reads = new Reads(this.#calls);
    this.#health = new HealthCheck(this.#calls);
    this.#deadlines = new VisibilityDeadlines(clock, COMMIT_MARGIN_MS);
    this.readTimestamp = this.#deadlines.readTimestamp;
  }

  all<P, R>(query: Query<P, R>, params: P): Promise<R[]> {
    const { sql, values } = query.compiledFor('postgres');
    return this.#reads.all(query.id, sql, values(params));
  }

  async first<P, R>(query: Query<P, R>, params: P): Promise<R | undefined> {
    return (await this.all(query, params))[0];
  }

  async write<T>(
    work: (tx: Transaction) => MaybePromise<T>,
    origin = this.#origin,
    group: number | undefined = undefined,
  ): Promise<T> {
    const options = {
      origin,
      deadlines: this.#deadlines,
      notified: new Map<string, number | undefined>(),
      changedTables: new Set<string>(),
      notifies: this.#notifications === undefined,
    };
    const { notified, changedTables } = options;
    const run = { work, options };
    try {
      const result = await (group === undefined ? this.#groups.runAlone(run) : this.#groups.run(run, group));
      this.#health.onWrite();
      this.#publish(notified, changedTables);
      return result as T;
    } catch (error) {
      this.#health.onWriteFailed(error);
      // The transaction may have committed.
      if (error instanceof UnknownOutcomeError) {
        this.#publish(new Map(Array.from(notified.keys(), topic => [topic, undefined])), changedTables);
      }
      throw error;
    }
  }

  dataVersion(): undefined {}

  topicVersion(topic: string): number | undefined {
    return this.#notifications?.topicVersion(topic);
  }

  onChange(table: string, listener: () => void): () => void {
    const entry = { table, listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  onNotification(listener: () => void): () => void {
    return this.#notifications?.onNotification(listener) ?? (() => {});
  }

  health(): Promise<Health> {
    return this.#health.check(this.#notifications?.lostLocks() ?? []);
  }

  expectedWaitMs(): number {
    return this.#pool.expectedWaitMs() + this.#groups.expectedWaitMs();
  }

  measurements(): StorageMeasurements {
    return { pool: this.#pool.state() };
  }

  async tryAdvisoryLock(name: string): Promise<boolean> {
    return (await this.#notifications?.tryLock(name)) ?? false;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    await this.#notifications?.close();
    await this.#pool.close();
  }

  #publish(topics: ReadonlyMap<string, number | undefined>, changedTables: ReadonlySet<string>): void {
    for (const [topic, version] of topics) this.#notifications?.moveTopic(topic, version);
    for (const { table, listener } of this.#listeners) if (changedTables.has(table)) listener();
  }
}

/**
 * Checks the server's version and settings and the database's migrations; for a server, also that it accepts writes.
 */
async function inspect(server: PostgresServer, { migrations, role, log }: PostgresOptions) {
  const { location, timeouts } = server;
  const connection = await server.connect('petstore open');
  try {
    const { rows } = await connection.query(
      performance.now() + timeouts.call,
      `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
              current_setting('fsync') as fsync, current_setting('full_page_writes') as pages`,
    );
    const { version, encoding, fsync, pages } = rows[0];
    if (version < 140_000) throw new UserError(`The server at ${location} is older than PostgreSQL 14.`);
    if (encoding !== 'UTF8')
      throw new UserError(`The encoding of the database at ${location} is ${encoding}, not UTF8.`);
    if (fsync === 'off' || pages === 'off') {
      log.warn(`The database at ${location} has fsync or full_page_writes off: a power cut may destroy it.`);
    }
    await requireMigrated(connection, server, migrations);
    if (role === 'server') await connection.query(performance.now() + timeouts.call, REQUIRE_WRITABLE);
  } finally {
    connection.release();
  }
}
