import type { Reader } from '../database.ts';
import type { DatabaseLocation } from '../open.ts';
import { postgresServer } from './connection.ts';
import type { Connection } from './session.ts';

type PostgresLocation = Extract<DatabaseLocation, { url: string }>;

/** A read-only view of a database as of one moment. */
export interface PostgresSnapshot extends Reader {
  readonly location: PostgresLocation;
  /** The id with which other connections can read this snapshot while it is open. */
  readonly id: string;
  /** The version of the server as `server_version_num`: 170004 is 17.4. */
  readonly serverVersion: number;
  /** Whether the database has no tables at all. */
  readonly empty: boolean;
}

/** No request waits for these connections, so they may wait longer for a busy server. */
const TIMEOUT_SCALE = 10;

/**
 * Opens a read-only transaction on each database, runs `work` with them, and ends them. Statements have no time limit.
 *
 * The snapshots are taken one after the other. Between the first and the last one, no transaction changes `frozen`, a
 * table of the last database.
 * @throws {StorageError} `unavailable`
 */
export async function withPostgresSnapshots<T>(
  locations: readonly PostgresLocation[],
  frozen: string | undefined,
  work: (snapshots: readonly PostgresSnapshot[]) => Promise<T>,
): Promise<T> {
  const connections: Connection[] = [];
  const connect = async ({ url, schema }: PostgresLocation) => {
    const connection = await postgresServer(url, schema, TIMEOUT_SCALE).connect('petstore snapshot', {
      unlimited: true,
    });
    connections.push(connection);
    return connection;
  };
  try {
    const all: [PostgresLocation, Connection][] = [];
    for (const location of locations) all.push([location, await connect(location)]);
    const lock = frozen === undefined ? undefined : await connect(locations.at(-1)!);
    if (lock !== undefined) await run(lock, `begin; set local lock_timeout = '5s'; lock table ${frozen} in share mode`);
    const snapshots: PostgresSnapshot[] = [];
    for (const [location, connection] of all) snapshots.push(await begin(location, connection));
    if (lock !== undefined) await run(lock, 'rollback');
    return await work(snapshots);
  } finally {
    for (const connection of connections) connection.release();
  }
}

async function begin(location: PostgresLocation, connection: Connection): Promise<PostgresSnapshot> {
  // A dump or a check of a large table may take hours.
  await run(connection, 'set idle_in_transaction_session_timeout = 0');
  await run(connection, 'begin isolation level repeatable read, read only');
  const [row] = await run(connection, SNAPSHOT);
  const all: Reader['all'] = (query, params) => {
    const { sql, values } = query.compiledFor('postgres');
    return run(connection, sql, values(params)) as Promise<never[]>;
  };
  return {
    engine: 'postgres',
    location,
    id: row!['id'] as string,
    serverVersion: Number(row!['version']),
    empty: row!['empty'] as boolean,
    all,
    first: async (query, params) => (await all(query, params))[0],
  };
}

const SNAPSHOT = `select pg_export_snapshot() as id, current_setting('server_version_num') as version, not exists(
  select 1 from pg_class where relkind in ('r', 'p', 'v', 'm', 'S')
  and relnamespace not in (select oid from pg_namespace where nspname ~ '^pg_' or nspname = 'information_schema')) as empty`;

async function run(connection: Connection, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  return (await connection.query(Number.POSITIVE_INFINITY, text, values)).rows;
}
