import { once } from 'node:events';
import pg from 'pg';
import { UserError } from '../../user-error.ts';
import { WaitEstimate } from '../../wait-estimate.ts';
import type { TypeParser } from './batch.ts';
import { translateError, unreachableError } from './errors.ts';
import { Connection, internalsOf } from './session.ts';

/** Returns the timeouts of the connections of a server, in milliseconds. */
const timeoutsOf = (scale: number) => ({
  /** For a call, from acquiring a connection to its last result. A request may take 3 s and makes few calls. */
  call: 2400 * scale,
  /** For a free or a new connection. */
  connect: 1500 * scale,
  /** The server's own statement timeout: shorter than a call, so that a slow statement does not cost the connection. */
  statement: 2000 * scale,
  /** For an advisory lock, which a killed process may appear to hold. */
  lock: 3000 * scale,
});

type Timeouts = ReturnType<typeof timeoutsOf>;

/** How long an unused connection of a pool stays open. */
const IDLE_MS = 60_000;
/** How long closing a connection waits for the server. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Returns a PostgreSQL server and database. Does not connect. This is the only file that imports the driver.
 * @param url `postgres://user:password@host:port/database`, with the driver's parameters such as `sslmode`
 * @param schema the schema of the tables; by default the URL or the server decides, usually `public`
 * @param timeoutScale multiplies all timeouts, for tests on a busy machine
 * @throws {UserError} if `url` or `schema` is invalid
 */
export function postgresServer(url: string, schema?: string, timeoutScale = 1) {
  const timeouts = timeoutsOf(timeoutScale);
  const { location, config } = parseUrl(url, schema, timeouts);
  return {
    /** Host, port and database for messages; never the user or the password. */
    location,
    timeouts,
    /** Creates a pool. It connects when a connection is needed. */
    pool(connectionsMax: number) {
      const own = { application_name: 'petstore', max: connectionsMax, idleTimeoutMillis: IDLE_MS };
      return createPool(new pg.Pool({ ...config, ...own }), location);
    },
    /**
     * Opens a connection outside the pools.
     * @param name its `application_name`, which identifies it in `pg_stat_activity`
     * @param options.unlimited disables the server's statement and lock timeouts, for migrations
     * @param options.onNotification called for each notification on its channels
     * @param options.onEnd called when the connection is lost or closed
     * @throws {StorageError} `unavailable`
     */
    async connect(name: string, { unlimited = false, onNotification, onEnd }: ConnectOptions = {}) {
      let isReached = false;
      try {
        const client = new pg.Client({ ...config, application_name: name });
        internalsOf(client).on('connect', () => {
          isReached = true;
        });
        client.on('error', () => {});
        if (onNotification !== undefined) client.on('notification', onNotification);
        if (onEnd !== undefined) client.on('end', onEnd);
        await client.connect();
        if (unlimited) await removeLimits(client);
        return new Connection(client, location, columnParser, () => closeClient(client));
      } catch (error) {
        throw isReached ? translateError(error, location) : unreachableError(error, location);
      }
    },
  };
}

/**
 * Disables the timeouts of a connection. If this process is killed, the server still ends its statements if it can
 * detect that.
 */
async function removeLimits(client: pg.Client): Promise<void> {
  await client.query('set statement_timeout = 0; set lock_timeout = 0');
  // Servers on some systems cannot check their connections.
  await client.query("set client_connection_check_interval = '2s'").catch(() => {});
}

interface ConnectOptions {
  readonly unlimited?: boolean;
  onNotification?(): void;
  onEnd?(): void;
}

export type PostgresServer = ReturnType<typeof postgresServer>;

function parseUrl(url: string, schema: string | undefined, timeouts: Timeouts) {
  const parts = URL.parse(url);
  if (parts === null || !/^postgres(ql)?:$/.test(parts.protocol)) {
    throw new UserError('The database URL is invalid: it must look like postgres://user:password@host:5432/database.');
  }
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new UserError(`The schema ${JSON.stringify(schema)} is not a plain lower-case name.`);
  }
  parts.searchParams.set('options', serverOptions(schema, timeouts, parts.searchParams.get('options')));
  // A new notification connection ends its predecessor by this name.
  parts.searchParams.delete('application_name');
  const host = parts.searchParams.get('host') ?? (parts.hostname || 'localhost');
  const port = parts.searchParams.get('port') ?? (parts.port || '5432');
  return {
    location: `${host}:${port}${parts.pathname}`,
    config: {
      connectionString: parts.href,
      connectionTimeoutMillis: timeouts.connect,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
      types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
    },
  };
}

function serverOptions(schema: string | undefined, timeouts: Timeouts, fromUrl: string | null): string {
  const settings = {
    client_encoding: 'UTF8',
    // Overrides the server's default: an acknowledged write must be on disk.
    synchronous_commit: 'on',
    statement_timeout: timeouts.statement,
    lock_timeout: timeouts.statement,
    // A node that hangs in a transaction must not hold its locks forever.
    idle_in_transaction_session_timeout: 2 * timeouts.call,
    // The server notices within seconds that a node has failed, and releases its locks.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 1,
    tcp_keepalives_count: 5,
    ...(schema && { search_path: schema }),
  };
  const own = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  return [...own, ...(fromUrl === null ? [] : [fromUrl])].join(' ');
}

/** Returns `bigint` values, and `numeric` ones (sums of `bigint`), as numbers: all of ours stay below 2^53. */
function typeParser(oid: number, format?: 'text' | 'binary') {
  const { INT8, NUMERIC } = pg.types.builtins;
  return oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text');
}

function createPool(pool: pg.Pool, location: string) {
  const connections = new Map<pg.PoolClient, Connection>();
  const acquired = new Set<pg.PoolClient>();
  const queue = new WaitEstimate();
  // The next statement on the connection reports the same error. Without a listener it would end the process.
  pool.on('error', () => {});
  pool.on('connect', client => {
    client.on('error', () => {});
    const release = (broken: boolean) => {
      acquired.delete(client);
      client.release(broken);
    };
    connections.set(client, new Connection(client, location, columnParser, release));
  });
  pool.on('remove', client => connections.delete(client));
  return {
    /** Waits at most `timeouts.connect` for a connection. Throws the StorageError `unavailable`. */
    async acquire() {
      queue.enter();
      try {
        const client = await pool.connect();
        acquired.add(client);
        return connections.get(client)!;
      } catch (error) {
        throw translateError(error, location);
      } finally {
        queue.leave(performance.now());
      }
    },
    /** Returns how long a new call will probably wait for a connection, in milliseconds. */
    expectedWaitMs: () => queue.expectedMs(),
    state: () => ({
      used: acquired.size,
      idle: pool.idleCount,
      max: pool.options.max,
      waiting: pool.waitingCount,
    }),
    /** Closes idle connections. Call it after a connection was lost, because the others probably are too. */
    closeIdle() {
      for (const client of connections.keys()) if (!acquired.has(client)) destroy(client);
    },
    /** Closes all connections once they are released. */
    async close() {
      const timer = setTimeout(() => {
        for (const client of connections.keys()) destroy(client);
      }, CLOSE_TIMEOUT_MS);
      await pool.end();
      while (connections.size > 0) await once(pool, 'remove');
      clearTimeout(timer);
    },
  };
}

export type PostgresPool = ReturnType<typeof createPool>;

const columnParser: TypeParser = oid => typeParser(oid) as (text: string) => unknown;

/** Closes a connection politely, or by force if the server does not respond. */
function closeClient(client: pg.Client) {
  const timer = setTimeout(() => destroy(client), CLOSE_TIMEOUT_MS);
  client.end(() => clearTimeout(timer));
}

function destroy(client: pg.ClientBase) {
  internalsOf(client).stream.destroy();
}
