import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { Connection, ConnectionPool, PostgresServer } from './connection.ts';

/** How often the notified topics are read: a quarter of the second within which other processes must see them. */
const POLL_MS = 250;
/** How long what was read is valid. */
const VALID_MS = 1000;
const LOCK_POLL_MS = 20;

/**
 * A dedicated connection of a server process: polls the topics that other processes notified, and holds advisory locks.
 * Reconnects when the connection is lost. Polling rather than LISTEN, because a silent half-open connection would miss
 * notifications unnoticed.
 */
export class NotificationConnection {
  readonly #server: PostgresServer;
  readonly #pool: ConnectionPool;
  readonly #log: Log;
  /** Distinguishes this process's connection from any other. */
  readonly #name = `petstore ${randomBytes(9).toString('base64url')}`;
  readonly #stop = new AbortController();
  readonly #topics = new Map<string, { version: number; changes: number }>();
  readonly #locks = new Map<string, 'wanted' | 'held' | 'lost'>();
  /** Moves every topic: the database may have been restored from a backup meanwhile. */
  #connections = 0;
  #polledMs = Number.NEGATIVE_INFINITY;
  #lost = false;
  readonly #running: Promise<void>;

  constructor(server: PostgresServer, pool: ConnectionPool, log: Log) {
    this.#server = server;
    this.#pool = pool;
    this.#log = log;
    this.#running = this.#run();
  }

  /** See `Database.topicVersion`. */
  topicVersion(topic: string): number | undefined {
    if (performance.now() - this.#polledMs > VALID_MS) return undefined;
    return this.#connections + (this.#topics.get(topic)?.changes ?? 0);
  }

  /** Moves a topic to `version`, or to an unknown one if that is `undefined`. */
  moveTopic(topic: string, version: number | undefined): void {
    const known = this.#topics.get(topic);
    if (known === undefined) this.#topics.set(topic, { version: version ?? 0, changes: 1 });
    else if (version === undefined || version > known.version) {
      known.version = version ?? known.version;
      known.changes++;
    }
  }

  /** See `Database.tryAdvisoryLock`. After a reconnect it takes its locks again. */
  async tryLock(name: string): Promise<boolean> {
    this.#locks.set(name, 'wanted');
    const deadlineMs = performance.now() + this.#server.timeouts.lock;
    while (this.#locks.get(name) !== 'held' && performance.now() < deadlineMs) await pause(LOCK_POLL_MS);
    if (this.#locks.get(name) === 'held') return true;
    this.#locks.delete(name);
    return false;
  }

  /** Returns the locks that another process took while the connection was lost. */
  lostLocks(): string[] {
    return [...this.#locks].filter(([, state]) => state === 'lost').map(([name]) => name);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#session().catch(error => this.#onLost(error));
      await this.#pause();
    }
  }

  async #session(): Promise<void> {
    const connection = await this.#server.connect(this.#name);
    try {
      // If the server has not noticed that the last connection was lost, that one still holds the locks.
      await connection.query(performance.now() + VALID_MS, END_PREDECESSOR, [this.#name]);
      for (const topic of this.#topics.values()) topic.version = -1;
      for (const [lock, state] of this.#locks) if (state === 'held') this.#locks.set(lock, 'lost');
      this.#connections++;
      for (let polls = 0; !this.#stop.signal.aborted; polls++) {
        await this.#takeLocks(connection);
        await this.#poll(connection);
        if (polls === 0) this.#onConnected();
        await this.#pause();
      }
    } finally {
      connection.release();
    }
  }

  async #takeLocks(connection: Connection): Promise<void> {
    for (const [name, state] of this.#locks) {
      if (state === 'held') continue;
      const { rows } = await connection.query(performance.now() + VALID_MS, TRY_LOCK, [name]);
      if (rows[0].taken && this.#locks.has(name)) this.#locks.set(name, 'held');
    }
  }

  async #poll(connection: Connection): Promise<void> {
    const startedMs = performance.now();
    const { rows } = await connection.query(startedMs + VALID_MS, 'select topic, version from announcements');
    for (const { topic, version } of rows) this.moveTopic(topic, version);
    this.#polledMs = startedMs;
  }

  #pause(): Promise<void> {
    return pause(POLL_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  #onConnected(): void {
    if (this.#lost) this.#log.warn(`The database at ${this.#server.location} is available again.`);
    this.#lost = false;
  }

  #onLost(error: unknown): void {
    this.#pool.closeIdle();
    if (!this.#lost) this.#log.warn((error as Error).message);
    this.#lost = true;
  }
}

const TRY_LOCK = `select pg_try_advisory_lock(hashtextextended(format('petstore %s %s', current_schema(), $1::text), 0)) as taken`;
const END_PREDECESSOR = `select pg_terminate_backend(pid, 500) from pg_stat_activity
  where application_name = $1 and usename = current_user and pid <> pg_backend_pid()`;
