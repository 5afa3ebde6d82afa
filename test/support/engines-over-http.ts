import { randomBytes } from 'node:crypto';
import { after, describe } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgres } from '../../src/lib/storage/postgres/database.ts';
import type { EngineName } from '../../src/lib/storage/query.ts';
import { migrations } from '../../src/migrations/index.ts';
import { onServer, postgresUrl, run, silent, TIMEOUT_SCALE, withoutPostgres } from './engines.ts';
import { describeUnless } from './selection.ts';

/** A storage engine that the service runs on. */
export interface ServedEngine {
  readonly name: EngineName;
  /** Returns the settings of a new, empty database that several nodes can use. It is deleted after the suite. */
  settings(): Promise<Record<string, string>>;
}

/**
 * Registers a suite of tests over HTTP for each engine.
 */
export function overEachEngine(suite: (engine: ServedEngine) => void) {
  describe('on the embedded engine', () => suite({ name: 'sqlite', settings: async () => ({}) }));
  overPostgres(suite);
}

/** Registers a suite of tests over HTTP for PostgreSQL. */
export function overPostgres(suite: (engine: ServedEngine) => void) {
  describeUnless(withoutPostgres, 'on PostgreSQL', () => suite(postgres()));
}

function postgres(): ServedEngine {
  const made: string[] = [];
  after(() =>
    onServer(async connection => {
      for (const name of made) await run(connection, `drop database ${name} with (force)`);
    }),
  );
  return {
    name: 'postgres',
    async settings() {
      const name = `petstore_test_${process.pid}_${randomBytes(4).toString('hex')}`;
      await onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`));
      made.push(name);
      const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
      for (const schema of [undefined, 'petstore_staging']) {
        const database = await openPostgres({
          url,
          ...(schema && { schema }),
          migrations,
          clock: systemClock(),
          role: 'cli',
          migrate: true,
          timeoutScale: TIMEOUT_SCALE,
          log: silent,
        });
        await database.close();
      }
      return { PETSTORE_DATABASE_URL: url };
    },
  };
}
