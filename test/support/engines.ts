import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Database } from '../../src/lib/storage/database.ts';
import type { Migration } from '../../src/lib/storage/migration.ts';
import { type Connection, postgresServer } from '../../src/lib/storage/postgres/connection.ts';
import { openPostgres } from '../../src/lib/storage/postgres/database.ts';
import type { EngineName } from '../../src/lib/storage/query.ts';
import { openSqlite } from '../../src/lib/storage/sqlite/database.ts';
import { migrations } from '../../src/migrations/index.ts';
import { describeUnless, withoutServers } from './selection.ts';

/**
 * A storage engine that a suite runs on. Databases that a test opens are closed after the test, others after the suite.
 * All of them are deleted after the suite.
 */
export interface Engine {
  readonly name: EngineName;
  /** Opens a migrated database: a new one, or the one at `options.location`. */
  open(options?: OpenOptions): Promise<Database>;
  /**
   * Creates a location for a database that is opened several times.
   * @param options.quick whether it may be in memory, for tests that do not depend on the disk
   */
  newLocation(options?: { readonly quick?: boolean }): Promise<TestLocation>;
}

/** How a test opens a database. Default: as the service does. */
export interface OpenOptions {
  readonly location?: TestLocation;
  readonly clock?: Clock;
  readonly role?: 'server' | 'cli';
  readonly migrations?: readonly Migration[];
  readonly migrate?: boolean;
  readonly log?: Log;
}

/** The location of a database: a directory, or a schema behind a URL. */
export type TestLocation = { readonly directory: string } | { readonly url: string; readonly schema: string };

/** The PostgreSQL server for the databases of tests. */
export const postgresUrl = process.env.PETSTORE_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** The tests share a busy machine: PostgreSQL gets 15 s for a connection and 24 s for a call. */
export const TIMEOUT_SCALE = 10;

/** Why suites on PostgreSQL are skipped; `undefined` if they run. */
export const withoutPostgres: string | undefined =
  withoutServers ??
  (await postgresServer(postgresUrl, undefined, TIMEOUT_SCALE)
    .connect('petstore test')
    .then(
      connection => void connection.release(),
      error => `left out: ${error.message} (PETSTORE_TEST_DATABASE_URL)`,
    ));

/** Registers a suite of tests for each of the two engines. */
export function onEachEngine(suite: (engine: Engine) => void) {
  describe('on the embedded engine', () => suite(embedded()));
  onPostgres(suite);
}

/** Registers a suite of tests for PostgreSQL. */
export function onPostgres(suite: (engine: Engine) => void) {
  describeUnless(withoutPostgres, 'on PostgreSQL', () => suite(postgres()));
}

/** A log that discards everything. */
export const silent: Log = { info() {}, warn() {}, error() {} };

/** The file system in memory on Linux. */
const MEMORY = '/dev/shm';

function embedded(): Engine {
  const opened = openedHere();
  const directories: string[] = [];
  after(async () => {
    await opened.close();
    await Promise.all(directories.map(directory => rm(directory, { recursive: true, force: true })));
  });
  async function newLocation({ quick = false } = {}) {
    const directory = await mkdtemp(join(quick && existsSync(MEMORY) ? MEMORY : tmpdir(), 'petstore-test-'));
    directories.push(directory);
    return { directory };
  }
  return {
    name: 'sqlite',
    newLocation,
    async open(options = {}) {
      const { directory } = (options.location ?? (await newLocation())) as { directory: string };
      const database = await openSqlite({
        file: join(directory, 'petstore.db'),
        migrations: options.migrations ?? migrations,
        clock: options.clock ?? systemClock(),
        role: options.role ?? 'server',
        log: options.log ?? silent,
        onFailed(error) {
          throw error;
        },
      });
      opened.add(database);
      return database;
    },
  };
}

/** Tracks the open databases of a suite, because a server allows few connections at a time. */
function openedHere() {
  const ofSuite: Database[] = [];
  let ofTest: Database[] | undefined;
  const close = (databases: readonly Database[]) => Promise.all(databases.map(database => database.close()));
  beforeEach(() => {
    ofTest = [];
  });
  afterEach(async () => {
    const ended = ofTest ?? [];
    ofTest = undefined;
    await close(ended);
  });
  return {
    add: (database: Database) => void (ofTest ?? ofSuite).push(database),
    close: () => close(ofSuite),
  };
}

/** A database of its own on the server. Each location is a schema in it. */
function postgres(): Engine {
  const name = `petstore_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  const opened = openedHere();
  let created: Promise<unknown> | undefined;
  let locations = 0;
  after(async () => {
    await opened.close();
    if (created !== undefined) await onServer(connection => run(connection, `drop database ${name} with (force)`));
  });
  async function newLocation() {
    created ??= onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`));
    await created;
    return { url, schema: `place_${++locations}` };
  }
  return {
    name: 'postgres',
    newLocation,
    async open(options = {}) {
      const { url, schema } = (options.location ?? (await newLocation())) as { url: string; schema: string };
      const database = await openPostgres({
        url,
        schema,
        migrations: options.migrations ?? migrations,
        clock: options.clock ?? systemClock(),
        role: options.role ?? 'server',
        migrate: options.migrate ?? true,
        log: options.log ?? silent,
        // All test files that run at the same time share the connections of the server.
        connectionsMax: 6,
        timeoutScale: TIMEOUT_SCALE,
      });
      opened.add(database);
      return database;
    },
  };
}

/** Runs work on a connection to the default database of the test server. */
export async function onServer<T>(work: (connection: Connection) => Promise<T>, url = postgresUrl): Promise<T> {
  const connection = await postgresServer(url, undefined, TIMEOUT_SCALE).connect('petstore test', { unlimited: true });
  try {
    return await work(connection);
  } finally {
    connection.release();
  }
}

/** Runs one statement without a time limit and returns its rows. */
export async function run(connection: Connection, text: string) {
  return (await connection.query(Number.POSITIVE_INFINITY, text)).rows;
}
