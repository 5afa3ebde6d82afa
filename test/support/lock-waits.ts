import { postgresServer } from '../../src/lib/storage/postgres/connection.ts';
import { run, type TestLocation } from './engines.ts';

/** A connection that blocks others in a PostgreSQL database. */
export interface Blocker {
  /** Runs a statement. */
  run(statement: string): Promise<void>;
  /** Runs a statement that acquires locks, and holds them. */
  lock(statement: string): Promise<void>;
  /** Waits until another connection waits for a lock. */
  untilLockWait(): Promise<void>;
  /** Releases the locks. */
  release(): Promise<void>;
  /** Closes the connection. */
  close(): void;
}

/** Connects to the database and schema of a location. */
export async function openBlocker(location: TestLocation): Promise<Blocker> {
  const { url, schema } = location as { url: string; schema: string };
  const connection = await postgresServer(url).connect('petstore test', { unlimited: true });
  await run(connection, `set search_path to ${schema}`);
  return {
    async run(statement) {
      await run(connection, statement);
    },
    async lock(statement) {
      await run(connection, 'begin');
      await run(connection, statement);
    },
    async untilLockWait() {
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      // Within a transaction, statistics are a snapshot until it is cleared.
      while ((await run(connection, waiting)).length === 0) await run(connection, 'select pg_stat_clear_snapshot()');
    },
    async release() {
      await run(connection, 'commit');
    },
    close() {
      connection.release();
    },
  };
}
