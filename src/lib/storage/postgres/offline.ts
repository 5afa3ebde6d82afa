import { setTimeout as pause } from 'node:timers/promises';
import type { Migration } from '../migration.ts';
import type { OfflineDatabase, Row } from '../offline.ts';
import type { Query } from '../query.ts';
import { type PostgresServer, postgresServer } from './connection.ts';
import { appliedNames, migratePostgres } from './migrate.ts';
import { TRY_LOCK } from './notifications.ts';
import type { Connection } from './session.ts';

interface PostgresLocation {
  readonly url: string;
  readonly schema?: string;
}

/** How long a transaction waits for the locks of its tables; the pause between attempts to get an advisory lock. */
const TABLE_LOCK_TIMEOUT = '5s';
const LOCK_POLL_MS = 100;

/** Opens a database on PostgreSQL that no server serves. */
export async function openOfflinePostgres({ url, schema }: PostgresLocation): Promise<OfflineDatabase> {
  const server = postgresServer(url, schema);
  const connection = await server.connect('petstore copy', { unlimited: true });
  await connection.query(Number.POSITIVE_INFINITY, 'set idle_in_transaction_session_timeout = 0');
  return new OfflinePostgres(server, schema, connection);
}

class OfflinePostgres implements OfflineDatabase {
  readonly engine = 'postgres';
  readonly location: string;
  readonly #server: PostgresServer;
  readonly #schema: string | undefined;
  readonly #connection: Connection;

  constructor(server: PostgresServer, schema: string | undefined, connection: Connection) {
    this.location = server.location;
    this.#server = server;
    this.#schema = schema;
    this.#connection = connection;
  }

  async all<P, R>(query: Query<P, R>, params: P): Promise<R[]> {
    const { sql, values } = query.compiledFor('postgres');
    return (await this.rows(sql, ...values(params))) as R[];
  }

  async first<P, R>(query: Query<P, R>, params: P): Promise<R | undefined> {
    return (await this.all(query, params))[0];
  }

  async run<P, R>(query: Query<P, R>, params: P): Promise<number> {
    const { sql, values } = query.compiledFor('postgres');
    return (await this.#connection.query(Number.POSITIVE_INFINITY, sql, values(params))).rowCount ?? 0;
  }

  async rows(statement: string, ...values: readonly unknown[]): Promise<Row[]> {
    return (await this.#connection.query(Number.POSITIVE_INFINITY, statement, [...values])).rows;
  }

  applied(): Promise<readonly string[]> {
    return appliedNames(this.#connection, this.#server);
  }

  migrate(migrations: readonly Migration[], now: number): Promise<void> {
    return migratePostgres(this.#server, this.#schema, migrations, now);
  }

  /** Take the snapshot after the locks. */
  async begin(tables: readonly string[]): Promise<void> {
    await this.rows('begin isolation level repeatable read');
    await this.rows(`set local lock_timeout = '${TABLE_LOCK_TIMEOUT}'`);
    await this.rows(`lock table ${tables.map(table => `"${table}"`).join(', ')} in share mode`);
    await this.rows('set local lock_timeout = 0');
  }

  async commit(): Promise<void> {
    await this.rows('commit');
  }

  /** PostgreSQL checks foreign keys after each statement, so they are dropped and added again. */
  async deferForeignKeys(work: () => Promise<void>): Promise<void> {
    const keys = (await this.rows(FOREIGN_KEYS)) as { table: string; name: string; definition: string }[];
    for (const { table, name } of keys) await this.rows(`alter table ${table} drop constraint ${name}`);
    await work();
    for (const { table, name, definition } of keys) {
      await this.rows(`alter table ${table} add constraint ${name} ${definition}`);
    }
  }

  async lastId(table: string): Promise<number> {
    const [row] = await this.rows(`select pg_sequence_last_value(${SEQUENCE}::regclass) as last`, table);
    return (row as { last: number | null }).last ?? 0;
  }

  async setLastId(table: string, id: number): Promise<void> {
    await this.rows(`select setval(${SEQUENCE}, $2::bigint, $3::boolean)`, table, Math.max(1, id), id > 0);
  }

  /** Waits a few seconds, because the server needs that long to notice a killed holder. */
  async tryAdvisoryLock(name: string): Promise<boolean> {
    const deadlineMs = performance.now() + this.#server.timeouts.lock;
    for (;;) {
      const [row] = await this.rows(TRY_LOCK, name);
      if (row!['taken']) return true;
      if (performance.now() > deadlineMs) return false;
      await pause(LOCK_POLL_MS);
    }
  }

  close(): void {
    this.#connection.release();
  }
}

const SEQUENCE = `pg_get_serial_sequence(quote_ident($1), 'id')`;

const FOREIGN_KEYS = `select conrelid::regclass::text as table, quote_ident(conname) as name,
    pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`;
