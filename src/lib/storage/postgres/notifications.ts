import { setTimeout as pause } from 'node:timers/promises';
import type { Connection, PostgresServer } from './connection.ts';

/** A connection that stands as long as the database is open: it hears what others announced, and holds locks. */
export interface Watch {
  /** See `Database.heard`. */
  heard(topic: string): number | undefined;
  /** Says that this process announced `topic`, which now has `version`; `undefined` when that is not known. */
  announced(topic: string, version: number | undefined): void;
  /**
   * Takes the lock of this name in this schema, for as long as this process lives; where the connection is lost, it is
   * taken again with the next one.
   * @returns false when another process holds it and goes on to do so for `LOCK_PATIENCE_MS`
   */
  tryLock(name: string): Promise<boolean>;
  /** The locks that were held, and that another process took while the connection was lost. */
  lost(): string[];
  close(): Promise<void>;
}

/** Between two looks at the announcements: a quarter of the time within which others must have heard. */
const LOOK_EVERY_MS = 250;
/** What was heard longer ago is no longer good. */
const HEARD_MS = 1000;
/** How long a process that was killed may still seem to hold its lock. */
const LOCK_PATIENCE_MS = 3000;

/**
 * Starts to watch.
 * @param name tells this process's connection from any other
 * @param tell.connected called once each new connection does what it is for
 * @param tell.lost called whenever the connection is lost, or there is none to be had
 */
export function watch(
  server: PostgresServer,
  name: string,
  tell: { connected(): void; lost(error: unknown): void },
): Watch {
  const stop = new AbortController();
  const topics = new Map<string, { version: number; moves: number }>();
  const locks = new Map<string, 'wanted' | 'held' | 'lost'>();
  // With each connection everything moves: the database may be another one by now, restored from a backup.
  let connections = 0;
  let heardAtMs = Number.NEGATIVE_INFINITY;

  function moved(topic: string, version: number | undefined) {
    const known = topics.get(topic);
    if (known === undefined) topics.set(topic, { version: version ?? 0, moves: 1 });
    else if (version === undefined || version > known.version) {
      known.version = version ?? known.version;
      known.moves++;
    }
  }

  async function look(connection: Connection) {
    const beganMs = performance.now();
    const { rows } = await connection.ask(beganMs + HEARD_MS, LOOK, [], 'look');
    for (const { topic, version } of rows) moved(topic, version);
    heardAtMs = beganMs;
  }

  async function takeLocks(connection: Connection) {
    for (const [lock, state] of locks) {
      if (state === 'held') continue;
      const { rows } = await connection.ask(performance.now() + HEARD_MS, TAKE_LOCK, [lock]);
      if (rows[0].taken && locks.has(lock)) locks.set(lock, 'held');
    }
  }

  async function session() {
    const connection = await server.connect(name);
    try {
      // Where the last connection was lost without the server's notice, it still holds the locks.
      await connection.ask(performance.now() + HEARD_MS, END_PREDECESSOR, [name]);
      for (const known of topics.values()) known.version = -1;
      for (const [lock, state] of locks) if (state === 'held') locks.set(lock, 'lost');
      connections++;
      for (let looks = 0; !stop.signal.aborted; looks++) {
        await takeLocks(connection);
        await look(connection);
        if (looks === 0) tell.connected();
        await pause(LOOK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
      }
    } finally {
      connection.release();
    }
  }

  async function run() {
    while (!stop.signal.aborted) {
      await session().catch(tell.lost);
      await pause(LOOK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  const running = run();
  return {
    heard(topic) {
      if (performance.now() - heardAtMs > HEARD_MS) return undefined;
      return connections + (topics.get(topic)?.moves ?? 0);
    },
    announced: moved,
    async tryLock(lock) {
      locks.set(lock, 'wanted');
      const deadlineMs = performance.now() + LOCK_PATIENCE_MS;
      while (locks.get(lock) !== 'held' && performance.now() < deadlineMs) await pause(20);
      if (locks.get(lock) === 'held') return true;
      locks.delete(lock);
      return false;
    },
    lost: () => [...locks].filter(([, state]) => state === 'lost').map(([lock]) => lock),
    async close() {
      stop.abort();
      await running;
    },
  };
}

const LOOK = 'select topic, version from announcements';
const TAKE_LOCK = `select pg_try_advisory_lock(hashtextextended(format('petstore %s %s', current_schema(), $1::text), 0)) as taken`;
const END_PREDECESSOR = `select pg_terminate_backend(pid, 500) from pg_stat_activity
  where application_name = $1 and usename = current_user and pid <> pg_backend_pid()`;
