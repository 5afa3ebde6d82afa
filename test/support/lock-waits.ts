import { postgresServer } from '../../src/lib/storage/postgres/connection.ts';
import { type Place, run } from './engines.ts';

/** A connection that stands in the way of others in a PostgreSQL database, for as long as a test wants. */
export interface Obstacle {
  /** Runs a statement. */
  run(statement: string): Promise<void>;
  /** Takes locks by a statement; others wait for them from now on. */
  lock(statement: string): Promise<void>;
  /** Comes back once somebody in the database waits for a lock. */
  untilSomebodyWaits(): Promise<void>;
  /** Lets everybody go on. */
  letGo(): Promise<void>;
  /** Ends it. */
  close(): void;
}

/** Makes one in the database, and the schema, of a place. */
export async function obstacleAt(place: Place): Promise<Obstacle> {
  const { url, schema } = place as { url: string; schema: string };
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
    async untilSomebodyWaits() {
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      // What a transaction has seen of others stands still in it, unless it is told.
      while ((await run(connection, waiting)).length === 0) await run(connection, 'select pg_stat_clear_snapshot()');
    },
    async letGo() {
      await run(connection, 'commit');
    },
    close() {
      connection.release();
    },
  };
}
