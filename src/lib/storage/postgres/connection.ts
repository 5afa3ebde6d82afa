import { once } from 'node:events';
import pg from 'pg';
import { UserError } from '../../user-error.ts';
import { StorageError } from '../database.ts';

/** A PostgreSQL server as this process reaches it. The only file that knows the driver. */
export interface PostgresServer {
  /** Host, port and database, for sentences: never the user, never the password. */
  readonly place: string;
  /** Up to `connectionsMax` connections that calls share. Nothing is connected yet. */
  pool(connectionsMax: number): Pool;
  /**
   * A connection of its own, connected.
   * @param name its `application_name`, by which it is found in `pg_stat_activity`
   * @param options.patient statements may take as long as they need (migrations), once `ask` is given no end
   * @throws {StorageError} `unavailable`
   */
  connect(name: string, options?: { patient?: boolean }): Promise<Connection>;
}

/** One connection, used by one call at a time. */
export interface Connection {
  /**
   * Runs one statement and answers before `deadlineMs` on the scale of `performance.now()`.
   * @param name keeps the prepared statement on this connection under this name
   * @throws {StorageError} for whatever is not about the statement itself; else the driver's error, with its SQLSTATE
   *   in `code`
   */
  ask(deadlineMs: number, text: string, values?: unknown[], name?: string): Promise<QueryResult>;
  /** Whether the connection can be used no more: it was lost, or time ran out amid something on it. */
  readonly broken: boolean;
  /** Lets go of it: back to its pool, or, when it is broken or has none, closed at once. */
  release(): void;
}

/** What a statement brought. */
export interface QueryResult {
  // biome-ignore lint/suspicious/noExplicitAny: rows are what the statement says they are
  readonly rows: any[];
  readonly rowCount: number | null;
  /** What was done, as PostgreSQL says it: `SELECT`, `COMMIT`, … */
  readonly command: string;
}

/** Connections that calls share. */
export interface Pool {
  /**
   * A connection, waited for no longer than `CONNECT_MS`.
   * @throws {StorageError} `unavailable`
   */
  take(): Promise<Connection>;
  /** Closes the connections that nobody uses: they may be as dead as one that was just lost. */
  drop(): void;
  /** Closes all connections, once they were released. */
  close(): Promise<void>;
}

/** How long a call may take from asking for a connection to its last answer; a request, which has 3 s, makes few. */
export const CALL_MS = 2400;
/** How long getting a connection may take. */
export const CONNECT_MS = 1500;
/** How long the server works on a statement: less than a call takes, so that slow ones cost no connection. */
const STATEMENT_MS = 2000;
/** How long a connection that nobody uses is kept. */
const IDLE_MS = 60_000;
/** How long a closing connection has for its goodbye. */
const GOODBYE_MS = 500;

/**
 * The server that `url` names (`postgres://user:password@host:port/database`, with the parameters of the driver such as
 * `sslmode`). Nothing is connected yet.
 * @param schema where the tables are; left out, where the URL or the server's settings say (`public`, usually)
 * @throws {UserError} when the URL is none
 */
export function postgresServer(url: string, schema?: string): PostgresServer {
  const { place, config } = parse(url, schema);
  const client = (settings: pg.ClientConfig) => ({ ...config, ...settings });
  return {
    place,
    pool: connectionsMax =>
      pool(
        new pg.Pool({ ...client({ application_name: 'petstore' }), max: connectionsMax, idleTimeoutMillis: IDLE_MS }),
        place,
      ),
    async connect(name, { patient = false } = {}) {
      try {
        const single = new pg.Client(client({ application_name: name }));
        single.on('error', () => {});
        await single.connect();
        if (patient) await single.query('set statement_timeout = 0; set lock_timeout = 0');
        return connection(single, place, () => end(single));
      } catch (error) {
        throw translated(error, place);
      }
    },
  };
}

function parse(url: string, schema: string | undefined): { place: string; config: pg.ClientConfig } {
  const parts = URL.parse(url);
  if (parts === null || !/^postgres(ql)?:$/.test(parts.protocol)) {
    throw new UserError('The database URL is not one: it looks like postgres://user:password@host:5432/database.');
  }
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new UserError(`The schema ${JSON.stringify(schema)} is not a plain lower-case name.`);
  }
  const settings = {
    client_encoding: 'UTF8',
    // Whatever the server's default is: what we have answered has to be on disk.
    synchronous_commit: 'on',
    statement_timeout: STATEMENT_MS,
    lock_timeout: STATEMENT_MS,
    // A node that stops amid a transaction must not hold its locks for ever.
    idle_in_transaction_session_timeout: 2 * CALL_MS,
    // The server notices within seconds that a node is gone, and gives its locks free.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 1,
    tcp_keepalives_count: 5,
    ...(schema === undefined ? {} : { search_path: schema }),
  };
  const own = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const theirs = parts.searchParams.get('options');
  parts.searchParams.set('options', [...own, ...(theirs === null ? [] : [theirs])].join(' '));
  // By this name a connection finds what is left of its predecessor.
  parts.searchParams.delete('application_name');
  const host = parts.searchParams.get('host') ?? (parts.hostname || 'localhost');
  const port = parts.searchParams.get('port') ?? (parts.port || '5432');
  return {
    place: `${host}:${port}${parts.pathname}`,
    config: {
      connectionString: parts.href,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
      types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
    },
  };
}

/** `bigint`, and `numeric` as sums of it are, are numbers here: the product's stay below 2^53. */
function typeParser(oid: number, format?: 'text' | 'binary') {
  const { INT8, NUMERIC } = pg.types.builtins;
  return oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text');
}

function pool(driver: pg.Pool, place: string): Pool {
  const clients = new Set<pg.PoolClient>();
  const taken = new Set<pg.PoolClient>();
  // Both say what the next call on the connection says as well; without a listener they would end the process.
  driver.on('error', () => {});
  driver.on('connect', client => {
    clients.add(client);
    client.on('error', () => {});
  });
  driver.on('remove', client => clients.delete(client));
  return {
    async take() {
      let client: pg.PoolClient;
      try {
        client = await driver.connect();
      } catch (error) {
        throw translated(error, place);
      }
      taken.add(client);
      return connection(client, place, broken => {
        taken.delete(client);
        client.release(broken);
      });
    },
    drop() {
      for (const client of clients) if (!taken.has(client)) cut(client);
    },
    async close() {
      const timer = setTimeout(() => {
        for (const client of clients) cut(client);
      }, GOODBYE_MS);
      await driver.end();
      while (clients.size > 0) await once(driver, 'remove');
      clearTimeout(timer);
    },
  };
}

function connection(client: pg.ClientBase, place: string, release: (broken: boolean) => void): Connection {
  let broken = false;
  return {
    get broken() {
      return broken;
    },
    async ask(deadlineMs, text, values, name) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) {
        // There is no time to end what was begun on it either.
        broken = true;
        throw tooLate(place);
      }
      const statement: pg.QueryConfig & { query_timeout?: number } = {
        text,
        ...(leftMs < Number.POSITIVE_INFINITY ? { query_timeout: Math.ceil(leftMs) } : {}),
        ...(values === undefined ? {} : { values }),
        ...(name === undefined ? {} : { name }),
      };
      try {
        return await client.query(statement);
      } catch (error) {
        // What the server refused leaves the connection well; anything else leaves a statement without an answer.
        // A prepared statement that a migration has changed is prepared anew on another connection.
        if (!isRefusal(error) || error.code === '0A000') broken = true;
        throw translated(error, place);
      }
    },
    release: () => release(broken),
  };
}

/** Says goodbye, and hangs up where that is not heard. */
function end(client: pg.Client) {
  const timer = setTimeout(() => cut(client), GOODBYE_MS);
  client.end(() => clearTimeout(timer));
}

function cut(client: pg.ClientBase) {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** Whether the server refused a statement and goes on with the connection. */
function isRefusal(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !/^(08|57P|25P03|XX)/.test(error.code ?? 'XX');
}

const tooLate = (place: string, cause?: unknown) =>
  new StorageError('unavailable', `The database at ${place} did not answer in time.`, { cause });

/** The driver's error as the rest of the product knows it; what is about the statement itself stays as it is. */
function translated(error: unknown, place: string): unknown {
  const unavailable = (what: string) =>
    new StorageError('unavailable', `The database at ${place} ${what}.`, { cause: error });
  if (!(error instanceof pg.DatabaseError)) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall !== undefined && syscall !== 'open') return unavailable(`cannot be reached (${code})`);
    if (/timeout/.test(message)) return tooLate(place, error);
    return unavailable(/terminated|not queryable/.test(message) ? 'cut the connection' : `is not usable: ${message}`);
  }
  const code = error.code ?? '';
  if (code === '53100') {
    return new StorageError('full', `The disk of the database at ${place} is full.`, { cause: error });
  }
  if (code === '57014' || code === '55P03') return tooLate(place, error);
  if (code === '40001' || code === '40P01') return unavailable('had too many writers in each other’s way');
  if (code === '0A000') return unavailable('was changed meanwhile');
  if (code === '25006') return unavailable('takes no changes (it is a standby, or set to read only)');
  if (code === '3D000') return unavailable('does not exist');
  if (code.startsWith('28')) return unavailable('refuses the user or the password');
  if (code === '53300') return unavailable('has no connection left');
  // 08 connection, 53 resources, 57P shut down or starting, 58 the system below: none of them is about the statement.
  return /^(08|53|57P|58|25P03)/.test(code) ? unavailable(`is not there for us (${code})`) : error;
}
