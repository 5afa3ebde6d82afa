import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Database } from '../../src/lib/storage/database.ts';
import type { Migration } from '../../src/lib/storage/migration.ts';
import { postgresServer } from '../../src/lib/storage/postgres/connection.ts';
import { openPostgres } from '../../src/lib/storage/postgres/database.ts';
import type { Connection } from '../../src/lib/storage/postgres/session.ts';
import type { EngineName } from '../../src/lib/storage/query.ts';
import { openSqlite } from '../../src/lib/storage/sqlite/database.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { MEMORY, writeMigratedFile } from './migrated-file.ts';
import { postgresUrl, TIMEOUT_SCALE } from './postgres-url.ts';
import { describeUnless, reasonWithout, withoutServers } from './selection.ts';

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
   * @param options.empty whether it must be empty, for tests of migrations; others may be migrated already
   */
  newLocation(options?: { readonly quick?: boolean; readonly empty?: boolean }): Promise<TestLocation>;
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
export type TestLocation = { readonly directory: string } | Schema;

/** A schema behind a URL. */
interface Schema {
  readonly url: string;
  readonly schema: string;
}

export { postgresUrl };

/** Names the database that `postgres-template.ts` prepares for a whole run. */
export const TEMPLATE_SETTING = 'PETSTORE_TEST_TEMPLATE';

/** Why suites on PostgreSQL are skipped; `undefined` if they run. */
export const withoutPostgres: string | undefined =
  withoutServers ??
  (await reasonWithout(
    async () => (await postgresServer(postgresUrl, undefined, TIMEOUT_SCALE).connect('petstore test')).release(),
    'PETSTORE_TEST_DATABASE_URL',
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

/** The database file in the directory of a location. */
const FILE = 'petstore.db';

function embedded(): Engine {
  const opened = openedHere();
  const directories: string[] = [];
  after(async () => {
    await opened.close();
    await Promise.all(directories.map(directory => rm(directory, { recursive: true, force: true })));
  });
  async function newLocation({ quick = false, empty = false } = {}) {
    const directory = await mkdtemp(join(quick ? MEMORY : tmpdir(), 'petstore-test-'));
    directories.push(directory);
    if (!empty) await writeMigratedFile(join(directory, FILE));
    return { directory };
  }
  return {
    name: 'sqlite',
    newLocation,
    async open(options = {}) {
      const { directory } = (options.location ?? (await newLocation())) as { directory: string };
      const database = await openSqlite({
        file: join(directory, FILE),
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
function openedHere(afterTest: () => void = () => {}) {
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
    afterTest();
  });
  return {
    add: (database: Database) => void (ofTest ?? ofSuite).push(database),
    inTest: () => ofTest !== undefined,
    close: () => close(ofSuite),
  };
}

/** A database of its own on the server. Each location is a schema in it. */
function postgres(): Engine {
  const schemas = newSchemas();
  const opened = openedHere(lent.endTest);
  after(async () => {
    await opened.close();
    await schemas.remove();
  });
  return {
    name: 'postgres',
    newLocation: options => schemas.create(options),
    async open(options = {}) {
      const location = options.location as Schema | undefined;
      const { url, schema } = location ?? (await (opened.inTest() ? lent.borrow() : schemas.create()));
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
      if (location === undefined) contents ??= await onServer(readContents, url, schema);
      opened.add(database);
      return database;
    },
  };
}

/** What the migrations write into a schema, read from the first one that this process opens. */
let contents: Contents | undefined;

/** Migrated schemas, two in each copy of the template, and empty schemas in the first copy. */
function newSchemas() {
  const databases: ReturnType<typeof createDatabase>[] = [];
  let migrated = 0;
  let empty = 0;
  const inDatabase = async (index: number, schema: string): Promise<Schema> => {
    databases[index] ??= createDatabase();
    return { url: (await databases[index]).url, schema };
  };
  return {
    create(options: { readonly empty?: boolean } = {}): Promise<Schema> {
      if (options.empty) return inDatabase(0, `empty_${++empty}`);
      const index = migrated++;
      return inDatabase(Math.floor(index / DEPLOYMENTS.length), DEPLOYMENTS[index % DEPLOYMENTS.length]!);
    },
    async remove() {
      for (const database of databases) await (await database).remove();
    },
  };
}

/** The schemas that the tests of this process use one after the other, in one database. */
const lent = lentSchemas();

function lentSchemas() {
  const schemas = newSchemas();
  const unused: Schema[] = [];
  const borrowed: Schema[] = [];
  if (process.env['NODE_TEST_CONTEXT'] !== undefined) after(schemas.remove);
  return {
    /** Returns a schema until the test ends. Later tests get it again, with the contents of a new one. */
    async borrow(): Promise<Schema> {
      const again = unused.pop();
      const schema = again ?? (await schemas.create());
      if (again !== undefined)
        await onServer(connection => restoreContents(connection, contents!), again.url, again.schema);
      borrowed.push(schema);
      return schema;
    },
    endTest: () => void unused.push(...borrowed.splice(0)),
  };
}

/** The schemas of the two deployments, which the template has. */
const DEPLOYMENTS = ['public', 'petstore_staging'];

/**
 * Creates a database on the test server: a copy of the template of this run if there is one and `empty` is not set. Its commits do not wait for
 * the disk, because no test kills this server (`startCluster()` is for those).
 */
export async function createDatabase({ empty = false } = {}): Promise<{
  readonly url: string;
  remove(): Promise<void>;
}> {
  const name = `petstore_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  const template = (empty ? undefined : process.env[TEMPLATE_SETTING]) ?? 'template0';
  await onServer(connection => run(connection, `create database ${name} template ${template} encoding 'UTF8'`));
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` });
  url.searchParams.append('options', '-c synchronous_commit=off');
  return {
    url: url.href,
    async remove() {
      await onServer(connection => run(connection, `drop database ${name} with (force)`));
    },
  };
}

/** Migrates both deployments of a database of the test server. */
export async function migrateDatabase(url: string): Promise<void> {
  for (const schema of DEPLOYMENTS) {
    const database = await openPostgres({
      url,
      schema,
      migrations,
      clock: systemClock(),
      role: 'cli',
      migrate: true,
      timeoutScale: TIMEOUT_SCALE,
      log: silent,
    });
    await database.close();
  }
}

/** Runs work on a connection to the test server: to its default database, or to a schema behind `url`. */
export async function onServer<T>(
  work: (connection: Connection) => Promise<T>,
  url = postgresUrl,
  schema?: string,
): Promise<T> {
  const connection = await postgresServer(url, schema, TIMEOUT_SCALE).connect('petstore test', { unlimited: true });
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

/** Reports whether PostgreSQL plans by the values of the animals, which it knows once it has analyzed the table. */
export async function isAnalyzed(url: string): Promise<boolean> {
  const analyzed = `select exists (select 1 from pg_stats where schemaname = 'public' and tablename = 'pets') as analyzed`;
  return (await onServer(connection => run(connection, analyzed), url))[0]!['analyzed'];
}

/** The tables of a schema, each with its rows as JSON, and its sequences. */
interface Contents {
  readonly tables: readonly { readonly name: string; readonly rows: string | null }[];
  readonly sequences: readonly { readonly name: string; readonly value: number; readonly called: boolean }[];
}

/** Deletes all rows of a schema but its migrations, and restores its `contents`. Takes 5 ms; a new schema takes 300 ms. */
async function restoreContents(connection: Connection, { tables, sequences }: Contents): Promise<void> {
  const deletions = tables.map(({ name }) => `deleted_from_${name} as (delete from ${name})`);
  // One statement: foreign keys are checked at its end.
  const statements = [`with ${deletions.join(', ')} select`];
  for (const { name, rows } of tables) {
    if (rows === null) continue;
    statements.push(
      `insert into ${name} overriding system value
         select * from json_populate_recordset(null::${name}, $rows$${rows}$rows$)`,
    );
  }
  const values = sequences.map(({ name, value, called }) => `setval('${name}', ${value}, ${called})`);
  statements.push(`select ${values.join(', ')}`);
  await rowsOf(connection, statements.join(';\n'));
}

/** Reads the contents of a schema. */
async function readContents(connection: Connection): Promise<Contents> {
  const names = await rowsOf(
    connection,
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname <> 'migrations'`,
  );
  const rows = names.map(({ name }) => `select '${name}' as name, json_agg(t)::text as rows from ${name} t`);
  return {
    tables: await rowsOf(connection, rows.join(' union all ')),
    sequences: await rowsOf(
      connection,
      `select sequencename as name, coalesce(last_value, start_value) as value, last_value is not null as called
       from pg_sequences where schemaname = current_schema()`,
    ),
  };
}

async function rowsOf(connection: Connection, text: string) {
  return (await connection.query(Number.POSITIVE_INFINITY, text)).rows;
}
