import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import { type Database, type Health, StorageError, type Transaction } from '../database.ts';
import { COMMIT_MS, type TransactionDeadlines, VisibilityDeadlines } from '../deadlines.ts';
import type { Migration } from '../migration.ts';
import type { Query } from '../query.ts';
import { CALL_MS, type Connection, type Pool, type PostgresServer, postgresServer } from './connection.ts';
import { migratePostgres, requireMigrated } from './migrate.ts';
import { type Watch, watch } from './notifications.ts';

/** How a database on a PostgreSQL server is opened. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with the driver's parameters such as `sslmode`. */
  readonly url: string;
  /** Where the tables are; left out, where the URL or the server's settings say (`public`, usually). */
  readonly schema?: string;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** A server hears announcements and may hold locks; a visitor (a command) comes, does one thing and leaves. */
  readonly role: 'server' | 'cli';
  /** Whether to bring the schema up to date; else a database that is behind is refused. */
  readonly migrate: boolean;
  readonly log: Log;
  /** Connections for calls, 16 where left out (a visitor takes 2); one more stands for announcements and locks. */
  readonly connectionsMax?: number;
}

/** A database on a PostgreSQL server. */
export type PostgresDatabase = Database & Required<Pick<Database, 'tryAdvisoryLock'>>;

/** How often a transaction begins anew when others were in its way, or its connection was lost before the commit. */
const ATTEMPTS = 5;
/** How long a full disk is spoken of after it was met. */
const FULL_MS = 5000;
/** How long an answer about health is good, and how long it may take. */
const HEALTH_MS = 1000;

/**
 * Opens a database on a PostgreSQL server, 14 or later.
 *
 * Every call is answered within `CALL_MS`, also when the server is away or swallows what it is sent; a connection that
 * was lost is replaced by itself. A transaction is `read committed`: what it has read may change before it writes, so
 * unique indexes and single statements decide, as `docs/decisions/engines.md` says.
 * @throws {UserError} when the database is not as it must be (behind, newer, not UTF-8, too old a server), in one sentence
 * @throws {StorageError} `unavailable` when it cannot be reached
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { clock, log, migrations, role } = options;
  const server = postgresServer(options.url, options.schema);
  if (options.migrate) await migratePostgres(server, options.schema, migrations, clock.now());
  await inspect(server, migrations, log);

  const pool = server.pool(options.connectionsMax ?? (role === 'server' ? 16 : 2));
  const watching = role === 'server' ? watchFor(server, pool, log) : undefined;
  const calls = callsOver(pool);
  const now = wholeMilliseconds(clock);
  const deadlines = new VisibilityDeadlines(now, COMMIT_MS);

  const rows = <P, R>(query: Query<P, R>, params: P): Promise<R[]> =>
    calls.run(async (connection, deadlineMs) => (await connection.ask(deadlineMs, ...statement(query, params))).rows);
  const health = healthOf(calls);
  const listeners = new Set<{ readonly table: string; readonly listener: () => void }>();
  const tell = (changed: ReadonlySet<string>) => {
    for (const { table, listener } of listeners) if (changed.has(table)) listener();
  };
  let closed: Promise<void> | undefined;
  async function close() {
    await calls.close();
    await watching?.close();
    await pool.close();
  }

  return {
    engine: 'postgres',
    all: rows,
    first: async (query, params) => (await rows(query, params))[0],
    async write(work) {
      const announced = new Map<string, number>();
      const changed = new Set<string>();
      try {
        const result = await calls.run((connection, deadlineMs) => {
          announced.clear();
          changed.clear();
          return transaction(connection, deadlineMs, { now, deadlines: deadlines.ofOne(), announced, changed }, work);
        });
        health.wrote();
        for (const [topic, version] of announced) watching?.announced(topic, version);
        tell(changed);
        return result;
      } catch (error) {
        health.refused(error);
        // Whether a commit without an answer was made is not known, so it counts as made.
        if (error instanceof UnknownOutcome) {
          for (const topic of announced.keys()) watching?.announced(topic, undefined);
          tell(changed);
        }
        throw error;
      }
    },
    readTimestamp: time => deadlines.readableAt(time),
    dataVersion: () => undefined,
    topicVersion: topic => watching?.heard(topic),
    onChange(table, listener) {
      const watching = { table, listener };
      listeners.add(watching);
      return () => listeners.delete(watching);
    },
    health: () => health.ask(watching?.lost() ?? []),
    tryAdvisoryLock: async name => (await watching?.tryLock(name)) ?? false,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Looks once at what the product relies on. */
async function inspect(server: PostgresServer, migrations: readonly Migration[], log: Log) {
  const connection = await server.connect('petstore open');
  try {
    const { rows } = await connection.ask(
      performance.now() + CALL_MS,
      `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
              current_setting('fsync') as fsync, current_setting('full_page_writes') as pages`,
    );
    const { version, encoding, fsync, pages } = rows[0];
    if (version < 140_000) throw new UserError(`The server at ${server.place} is older than PostgreSQL 14.`);
    if (encoding !== 'UTF8') throw new UserError(`The database at ${server.place} is not in UTF8 but in ${encoding}.`);
    if (fsync === 'off' || pages === 'off') {
      log.warn(`The database at ${server.place} runs with fsync or full_page_writes off: a power cut may destroy it.`);
    }
    await requireMigrated(connection, server.place, migrations);
  } finally {
    connection.release();
  }
}

function watchFor(server: PostgresServer, pool: Pool, log: Log): Watch {
  let wasLost = false;
  return watch(server, `petstore ${randomBytes(9).toString('base64url')}`, {
    connected() {
      if (wasLost) log.warn(`The database at ${server.place} is back.`);
      wasLost = false;
    },
    lost(error) {
      pool.drop();
      if (!wasLost) log.warn((error as Error).message);
      wasLost = true;
    },
  });
}

/** Counts the calls, bounds each in time, and repeats those that may be repeated. */
function callsOver(pool: Pool) {
  const inFlight = new Set<Promise<unknown>>();
  let closing = false;
  let answeredAtMs = Number.NEGATIVE_INFINITY;

  async function attempts<T>(work: (connection: Connection, deadlineMs: number) => Promise<T>, limitMs: number) {
    const deadlineMs = performance.now() + limitMs;
    for (let attempt = 1; ; attempt++) {
      const connection = await (attempt === 1 ? pool.take() : takeInTime(pool, deadlineMs));
      try {
        const result = await work(connection, deadlineMs);
        answeredAtMs = performance.now();
        return result;
      } catch (error) {
        const inTime = performance.now() < deadlineMs;
        // Where one connection was cut, those that nobody uses likely were as well.
        if (connection.broken && inTime) pool.drop();
        if (attempt === ATTEMPTS || !inTime || !mayRepeat(error, connection)) throw error;
      } finally {
        connection.release();
      }
      await pause(Math.random() * 10 * attempt);
    }
  }

  return {
    /** When anything was last answered, on the scale of `performance.now()`. */
    answeredAtMs: () => answeredAtMs,
    async run<T>(work: (connection: Connection, deadlineMs: number) => Promise<T>, limitMs = CALL_MS): Promise<T> {
      if (closing) throw new StorageError('closed', 'The database is being closed.');
      const call = attempts(work, limitMs);
      inFlight.add(call);
      try {
        return await call;
      } finally {
        inFlight.delete(call);
      }
    },
    async close() {
      closing = true;
      await Promise.allSettled(inFlight);
    },
  };
}

/** A connection for another attempt, for which the time that is left has to do. */
async function takeInTime(pool: Pool, deadlineMs: number): Promise<Connection> {
  const taking = pool.take();
  try {
    await inTime(taking, Math.max(1, deadlineMs - performance.now()));
  } catch (error) {
    taking.then(
      connection => connection.release(),
      () => {},
    );
    throw error;
  }
  return taking;
}

/** Whether nothing was changed, and another attempt may do better at once. */
function mayRepeat(error: unknown, connection: Connection): boolean {
  if (!(error instanceof StorageError) || error instanceof UnknownOutcome) return false;
  const { code } = (error.cause ?? {}) as { code?: string };
  return connection.broken || code === '40001' || code === '40P01';
}

/** A commit was sent and not answered. */
class UnknownOutcome extends StorageError {
  constructor(cause: unknown) {
    const message = 'The database did not answer the commit: whether the change was made is not known.';
    super('unavailable', message, { cause });
  }
}

/** A query as a connection takes it: text, values, name. */
function statement<P, R>(query: Query<P, R>, params: P): [string, unknown[], string] {
  const { sql, values } = query.compiledFor('postgres');
  return [sql, values(params), `q${query.id}`];
}

/** What is around one transaction. */
interface Surroundings {
  /** The clock in whole milliseconds. */
  now(): number;
  readonly deadlines: TransactionDeadlines;
  readonly announced: Map<string, number>;
  readonly changed: Set<string>;
}

async function transaction<T>(
  connection: Connection,
  deadlineMs: number,
  { now, deadlines, announced, changed }: Surroundings,
  work: (tx: Transaction) => T | Promise<T>,
): Promise<T> {
  let open = true;
  let time = now();
  let refusal: { error: unknown } | undefined;
  const ask = async (text: string, values: unknown[], name: string) => {
    if (!open) throw new Error('a transaction was used after its end');
    try {
      return await connection.ask(deadlineMs, text, values, name);
    } catch (error) {
      refusal ??= { error };
      throw error;
    }
  };
  const run = <P, R>(query: Query<P, R>, params: P) => {
    const { changedTable } = query.compiledFor('postgres');
    if (changedTable !== undefined) changed.add(changedTable);
    return ask(...statement(query, params));
  };
  const tx: Transaction = {
    engine: 'postgres',
    get now() {
      return time;
    },
    refreshNow(after = 0) {
      time = Math.max(time, now(), after);
    },
    requireVisibleBefore: deadlines.seenBefore,
    all: async (query, params) => (await run(query, params)).rows,
    first: async (query, params) => (await run(query, params)).rows[0],
    run: async (query, params) => (await run(query, params)).rowCount ?? 0,
    async notify(topic) {
      const { rows } = await ask(ANNOUNCE, [topic], 'announce');
      announced.set(topic, rows[0].version);
    },
  };

  await connection.ask(deadlineMs, 'begin isolation level read committed');
  try {
    const result = await work(tx);
    // After a refusal the server undoes the whole transaction, whatever the work made of it.
    if (refusal !== undefined) throw refusal.error;
    open = false;
    deadlines.judge();
    await commit(connection, deadlineMs);
    return result;
  } catch (error) {
    open = false;
    if (!connection.broken) await connection.ask(deadlineMs, 'rollback').catch(() => {});
    throw error;
  } finally {
    deadlines.over();
  }
}

async function commit(connection: Connection, deadlineMs: number) {
  try {
    await connection.ask(deadlineMs, 'commit');
  } catch (error) {
    throw connection.broken ? new UnknownOutcome(error) : error;
  }
}

const ANNOUNCE = `insert into announcements (topic, version) values ($1, 1)
  on conflict (topic) do update set version = announcements.version + 1 returning version`;

/** The clock in whole milliseconds, never less than before. */
function wholeMilliseconds(clock: Clock): () => number {
  let last = 0;
  return () => {
    last = Math.max(last, Math.floor(clock.now()));
    return last;
  };
}

async function inTime(answer: Promise<unknown>, limitMs: number) {
  const timer = new AbortController();
  const late = pause(limitMs, undefined, timer).then(() => {
    throw new StorageError('unavailable', 'The database did not answer in time.');
  });
  try {
    await Promise.race([answer, late]);
  } finally {
    late.catch(() => {});
    timer.abort();
  }
}

/** Answers for how the database is: from the calls that are made anyway, or by one of its own. */
function healthOf(calls: ReturnType<typeof callsOver>) {
  let fullAtMs = Number.NEGATIVE_INFINITY;
  let readOnly = '';
  let asked: { atMs: number; answer: Promise<Health> } | undefined;

  async function look(lostLocks: readonly string[]): Promise<Health> {
    if (performance.now() - calls.answeredAtMs() > HEALTH_MS) {
      try {
        const answer = calls.run((connection, deadlineMs) => connection.ask(deadlineMs, 'select 1'), HEALTH_MS);
        await inTime(answer, HEALTH_MS);
      } catch (error) {
        return { ok: false, writes: 'unavailable', detail: (error as Error).message };
      }
    }
    if (performance.now() - fullAtMs < FULL_MS) {
      return { ok: true, writes: 'full', detail: 'The disk of the database is full.' };
    }
    if (readOnly !== '') return { ok: true, writes: 'unavailable', detail: readOnly };
    const lost = lostLocks.map(name => `Another process has taken the lock "${name}" of this one.`);
    return { ok: true, writes: 'ok', detail: lost.join(' ') };
  }

  return {
    wrote() {
      fullAtMs = Number.NEGATIVE_INFINITY;
      readOnly = '';
    },
    refused(error: unknown) {
      if (!(error instanceof StorageError)) return;
      if (error.reason === 'full') fullAtMs = performance.now();
      if ((error.cause as { code?: string } | undefined)?.code === '25006') readOnly = error.message;
    },
    ask(lostLocks: readonly string[]): Promise<Health> {
      if (asked === undefined || performance.now() - asked.atMs > HEALTH_MS) {
        asked = { atMs: performance.now(), answer: look(lostLocks) };
      }
      return asked.answer;
    },
  };
}
