import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { PostgresPool, PostgresServer } from './connection.ts';
import type { Connection } from './session.ts';

/** How often the notified topics are read: a quarter of the second within which other processes must see them. */
const POLL_MS = 250;
/** How often they are read while `topicVersion` is not called, to check that the connection works. */
const IDLE_POLL_MS = 10_000;
/** How long after the last call of `topicVersion` the connection is idle. */
const IDLE_AFTER_MS = 2000;
/** How long versions that were read are valid. */
const VALID_MS = 1000;
const LOCK_POLL_MS = 20;

/**
 * A dedicated connection of a server process: polls the topics that other processes notified, and holds advisory locks.
 * Reconnects when the connection is lost. Topics are polled, because a half-open connection would miss notifications of
 * LISTEN unnoticed. It polls only while `topicVersion` is called; LISTEN wakes background work.
 */
export class NotificationConnection {
  readonly #server: PostgresServer;
  readonly #pool: PostgresPool;
  readonly #log: Log;
  /** Distinguishes this process's connection from any other. */
  readonly #name = `petstore ${randomBytes(9).toString('base64url')}`;
  readonly #stop = new AbortController();
  readonly #topics = new Map<string, { version: number; changes: number }>();
  readonly #locks = new Map<string, 'wanted' | 'held' | 'lost'>();
  /**
   * The number of connections so far. A new one changes every topic's version: the database may have been restored
   * meanwhile.
   */
  #connections = 0;
  #polledMs = Number.NEGATIVE_INFINITY;
  /** When `topicVersion` was last called. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #lost = false;
  /** Ends the pause before the next poll. */
  #wake = () => {};
  readonly #listeners = new Set<() => void>();
  readonly #running: Promise<void>;

  constructor(server: PostgresServer, pool: PostgresPool, log: Log) {
    this.#server = server;
    this.#pool = pool;
    this.#log = log;
    this.#running = this.#run();
  }

  /** See `Database.topicVersion`. */
  topicVersion(topic: string): number | undefined {
    this.#askedMs = performance.now();
    if (this.#askedMs - this.#polledMs > VALID_MS) {
      this.#wake();
      return undefined;
    }
    return this.#connections + (this.#topics.get(topic)?.changes ?? 0);
  }

  /** Changes the version of a topic to `version`, or to an unknown one if that is `undefined`. */
  moveTopic(topic: string, version: number | undefined): void {
    const known = this.#topics.get(topic);
    if (known === undefined) this.#topics.set(topic, { version: version ?? 0, changes: 1 });
    else if (version === undefined || version > known.version) {
      known.version = version ?? known.version;
      known.changes++;
    }
  }

  /** See `Database.onNotification`. */
  onNotification(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** See `Database.tryAdvisoryLock`. After a reconnect it takes its locks again. */
  async tryLock(name: string): Promise<boolean> {
    this.#locks.set(name, 'wanted');
    this.#wake();
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
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#session().catch(error => this.#onLost(error));
      await pause(POLL_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #session(): Promise<void> {
    const connection = await this.#server.connect(this.#name, {
      onNotification: () => this.#callListeners(),
      onEnd: () => this.#wake(),
    });
    try {
      // If the server has not noticed that the previous connection was lost, that connection still holds the locks.
      await connection.query(performance.now() + VALID_MS, END_PREDECESSOR, [this.#name]);
      for (const topic of this.#topics.values()) topic.version = -1;
      for (const [lock, state] of this.#locks) if (state === 'held') this.#locks.set(lock, 'lost');
      this.#connections++;
      await this.#listen(connection);
      for (let polls = 0; !this.#stop.signal.aborted; polls++) {
        await this.#takeLocks(connection);
        await this.#poll(connection);
        if (polls === 0) this.#onConnected();
        await this.#pauseBeforePoll();
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

  /** A standby server rejects LISTEN. Without LISTEN, only polling finds the work of other processes. */
  async #listen(connection: Connection): Promise<void> {
    await connection.query(performance.now() + VALID_MS, LISTEN).catch(error => {
      if (connection.broken) throw error;
    });
  }

  async #pauseBeforePoll(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#idle ? IDLE_POLL_MS : POLL_MS);
    this.#wake = resolve;
    if (!this.#stop.signal.aborted) await promise;
    clearTimeout(timer);
  }

  get #idle(): boolean {
    const locked = [...this.#locks.values()].every(state => state === 'held');
    return locked && performance.now() - this.#askedMs > IDLE_AFTER_MS;
  }

  #onConnected(): void {
    if (this.#lost) this.#log.warn(`The database at ${this.#server.location} is available again.`);
    this.#lost = false;
    // Notifications may have been missed.
    this.#callListeners();
  }

  #callListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #onLost(error: unknown): void {
    this.#pool.closeIdle();
    if (!this.#lost) this.#log.warn((error as Error).message);
    this.#lost = true;
  }
}

/** The channel of a schema; its name must be short. */
const CHANNEL = `'petstore_' || md5(current_schema())`;
/** An expression that notifies the listeners of every process once the transaction commits. */
export const NOTIFY = `pg_notify(${CHANNEL}, '')`;
const LISTEN = `do $$ begin execute format('listen %I', ${CHANNEL}); end $$`;
/** Tries to take an advisory lock for the life of the connection. */
export const TRY_LOCK = `select pg_try_advisory_lock(hashtextextended(format('petstore %s %s', current_schema(), $1::text), 0)) as taken`;
const END_PREDECESSOR = `select pg_terminate_backend(pid, 500) from pg_stat_activity
  where application_name = $1 and usename = current_user and pid <> pg_backend_pid()`;
