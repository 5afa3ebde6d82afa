import { after, describe } from 'node:test';
import type { EngineName } from '../../src/lib/storage/query.ts';
import { createDatabase, migrateDatabase, TEMPLATE_SETTING, withoutPostgres } from './engines.ts';
import { describeUnless } from './selection.ts';

/** A storage engine that the service runs on. */
export interface ServedEngine {
  readonly name: EngineName;
  /** Returns the settings of a new, migrated database that several nodes can use. It is deleted after the suite. */
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
  const created: Awaited<ReturnType<typeof createDatabase>>[] = [];
  after(async () => {
    for (const database of created) await database.remove();
  });
  return {
    name: 'postgres',
    async settings() {
      const made = await createDatabase();
      created.push(made);
      if (process.env[TEMPLATE_SETTING] === undefined) await migrateDatabase(made.url);
      return { PETSTORE_DATABASE_URL: made.url };
    },
  };
}
