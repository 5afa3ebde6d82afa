import { once } from 'node:events';
import pg from 'pg';
import { UserError } from '../../user-error.ts';
import { STATEMENTS_MAX, StatementCache } from '../statement-cache.ts';
import { isStatementError, timeoutError, translateError } from './errors.ts';

/** A PostgreSQL server and database. This is the only file that imports the driver. */
export interface PostgresServer {
  /** Host, port and database for messages; never the user or the password. */
  readonly location: string;
  readonly timeouts: Timeouts;
  /** Creates a pool. Connects when a connection is needed. */
  pool(connectionsMax: number): ConnectionPool;
  /**
   * Opens a connection outside the pools.
   * @param name its `application_name`, which identifies it in `pg_stat_activity`
   * @param options.unlimited disables the server's statement and lock timeouts, for migrations
   * @throws {StorageError} `unavailable`
   */
  connect(name: string, options?: { unlimited?: boolean }): Promise<Connection>;
}

/** A connection. Runs one statement at a time. */
export interface Connection {
  /**
   * Runs a statement.
   * @param deadlineMs when the result must be there, on the scale of `performance.now()`
   * @param statementId prepares the statement once, under this id
   * @throws {StorageError} for any error that is not about the statement; else the driver's error, with the SQLSTATE in
   *   `code`
   */
  query(deadlineMs: number, text: string, values?: unknown[], statementId?: number): Promise<QueryResult>;
  /** Whether the connection is unusable: it was lost, or a statement timed out. */
  readonly broken: boolean;
  /** Returns it to its pool. Closes it if it is broken or has no pool. */
  release(): void;
}

/** How long the connections of a server wait, in milliseconds. */
export interface Timeouts {
  /** For a call, from acquiring a connection to its last result. A request may take 3 s and makes few calls. */
  readonly call: number;
  /** For a free or a new connection. */
  readonly connect: number;
  /** The server's own statement timeout: shorter than a call, so that a slow statement does not cost the connection. */
  readonly statement: number;
  /** For an advisory lock, which a killed process may seem to hold. */
  readonly lock: number;
}

export interface QueryResult {
  // biome-ignore lint/suspicious/noExplicitAny: the statement determines the type of the rows
  readonly rows: any[];
  readonly rowCount: number | null;
  /** The command tag: `SELECT`, `COMMIT`, … */
  readonly command: string;
}

export interface ConnectionPool {
  /**
   * Waits at most `Timeouts.connect` for a connection.
   * @throws {StorageError} `unavailable`
   */
  acquire(): Promise<Connection>;
  /** Closes idle connections. Call it after a connection was lost, because the others probably were too. */
  closeIdle(): void;
  /** Closes all connections once they are released. */
  close(): Promise<void>;
}

const TIMEOUTS: Timeouts = { call: 2400, connect: 1500, statement: 2000, lock: 3000 };
const IDLE_MS = 60_000;
/** How long closing a connection waits for the server. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Returns the server that `url` names. Does not connect.
 * @param url `postgres://user:password@host:port/database`, with the driver's parameters such as `sslmode`
 * @param schema the schema of the tables; by default the URL or the server decides, usually `public`
 * @param timeoutScale multiplies all timeouts, for tests on a busy machine
 * @throws {UserError} if `url` or `schema` is invalid
 */
export function postgresServer(url: string, schema?: string, timeoutScale = 1): PostgresServer {
  const { call, connect, statement, lock } = TIMEOUTS;
  const timeouts = {
    call: call * timeoutScale,
    connect: connect * timeoutScale,
    statement: statement * timeoutScale,
    lock: lock * timeoutScale,
  };
  const { location, config } = parseUrl(url, schema, timeouts);
  const settings = (own: pg.PoolConfig) => ({ ...config, ...own });
  return {
    location,
    timeouts,
    pool: connectionsMax =>
      createPool(
        new pg.Pool(settings({ application_name: 'petstore', max: connectionsMax, idleTimeoutMillis: IDLE_MS })),
        location,
      ),
    async connect(name, { unlimited = false } = {}) {
      try {
        const client = new pg.Client(settings({ application_name: name }));
        client.on('error', () => {});
        await client.connect();
        if (unlimited) await client.query('set statement_timeout = 0; set lock_timeout = 0');
        return createConnection(client, location, () => closeClient(client));
      } catch (error) {
        throw translateError(error, location);
      }
    },
  };
}

function parseUrl(
  url: string,
  schema: string | undefined,
  timeouts: Timeouts,
): { location: string; config: pg.ClientConfig } {
  const parts = URL.parse(url);
  if (parts === null || !/^postgres(ql)?:$/.test(parts.protocol)) {
    throw new UserError('The database URL is invalid: it must look like postgres://user:password@host:5432/database.');
  }
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new UserError(`The schema ${JSON.stringify(schema)} is not a plain lower-case name.`);
  }
  parts.searchParams.set('options', serverOptions(schema, timeouts, parts.searchParams.get('options')));
  // The notification connection ends its predecessor by this name.
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
    // Whatever the server's default: an acknowledged write must be on disk.
    synchronous_commit: 'on',
    statement_timeout: timeouts.statement,
    lock_timeout: timeouts.statement,
    // A node that hangs in a transaction must not hold its locks forever.
    idle_in_transaction_session_timeout: 2 * timeouts.call,
    // The server notices within seconds that a node is gone, and releases its locks.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 1,
    tcp_keepalives_count: 5,
    ...(schema && { search_path: schema }),
  };
  const own = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  return [...own, ...(fromUrl === null ? [] : [fromUrl])].join(' ');
}

/** Returns `bigint` values, and `numeric` ones (sums of `bigint`), as numbers: the product's stay below 2^53. */
function typeParser(oid: number, format?: 'text' | 'binary') {
  const { INT8, NUMERIC } = pg.types.builtins;
  return oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text');
}

function createPool(pool: pg.Pool, location: string): ConnectionPool {
  const clients = new Set<pg.PoolClient>();
  const acquired = new Set<pg.PoolClient>();
  // The next statement on the connection reports the same error. Without a listener it would end the process.
  pool.on('error', () => {});
  pool.on('connect', client => {
    clients.add(client);
    client.on('error', () => {});
  });
  pool.on('remove', client => clients.delete(client));
  return {
    async acquire() {
      let client: pg.PoolClient;
      try {
        client = await pool.connect();
      } catch (error) {
        throw translateError(error, location);
      }
      acquired.add(client);
      return createConnection(client, location, broken => {
        acquired.delete(client);
        client.release(broken);
      });
    },
    closeIdle() {
      for (const client of clients) if (!acquired.has(client)) destroy(client);
    },
    async close() {
      const timer = setTimeout(() => {
        for (const client of clients) destroy(client);
      }, CLOSE_TIMEOUT_MS);
      await pool.end();
      while (clients.size > 0) await once(pool, 'remove');
      clearTimeout(timer);
    },
  };
}

function createConnection(client: pg.ClientBase, location: string, release: (broken: boolean) => void): Connection {
  let broken = false;
  async function send(deadlineMs: number, statement: pg.QueryConfig): Promise<QueryResult> {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) {
      // A transaction on it cannot be rolled back in time either.
      broken = true;
      throw timeoutError(location);
    }
    const timeout = leftMs < Number.POSITIVE_INFINITY ? { query_timeout: Math.ceil(leftMs) } : {};
    try {
      return await client.query({ ...statement, ...timeout });
    } catch (error) {
      // After any other error a result may still be on its way.
      if (!isStatementError(error)) broken = true;
      throw translateError(error, location);
    }
  }
  async function deallocate(deadlineMs: number, names: readonly string[]) {
    try {
      await send(deadlineMs, { text: names.map(name => `deallocate ${name}`).join('; ') });
    } catch (error) {
      // The driver has forgotten statements that the server may still have.
      broken = true;
      throw error;
    }
  }
  return {
    get broken() {
      return broken;
    },
    async query(deadlineMs, text, values, statementId) {
      if (statementId === undefined) return send(deadlineMs, values === undefined ? { text } : { text, values });
      const name = `q${statementId}`;
      const evicted = evictedBy(client, statementId, name);
      if (evicted.length > 0) await deallocate(deadlineMs, evicted);
      return send(deadlineMs, { text, values: values ?? [], name });
    },
    release: () => release(broken),
  };
}

/** The prepared statements of each connection, and those just evicted. */
const preparedStatements = new WeakMap<pg.ClientBase, { cache: StatementCache<string>; evicted: string[] }>();

/** Adds a statement to the cache of a connection. Returns the names of the evicted statements, to be deallocated. */
function evictedBy(client: pg.ClientBase, id: number, name: string): string[] {
  let prepared = preparedStatements.get(client);
  if (prepared === undefined) {
    const evicted: string[] = [];
    prepared = { cache: new StatementCache(STATEMENTS_MAX, name => evicted.push(name)), evicted };
    preparedStatements.set(client, prepared);
  }
  if (prepared.cache.get(id) === undefined) prepared.cache.set(id, name);
  const { parsedStatements } = (client as unknown as DriverInternals).connection;
  const names = prepared.evicted.splice(0).filter(name => name in parsedStatements);
  for (const name of names) delete parsedStatements[name];
  return names;
}

/** The parts of the driver's client that it does not publish. */
interface DriverInternals {
  readonly connection: { readonly stream: { destroy(): void }; readonly parsedStatements: Record<string, string> };
}

/** Closes a connection politely, or by force if the server does not respond. */
function closeClient(client: pg.Client) {
  const timer = setTimeout(() => destroy(client), CLOSE_TIMEOUT_MS);
  client.end(() => clearTimeout(timer));
}

function destroy(client: pg.ClientBase) {
  (client as unknown as DriverInternals).connection.stream.destroy();
}
