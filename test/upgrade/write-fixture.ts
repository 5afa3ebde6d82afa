// Writes a fixture of this version on both engines: `npm run fixtures`. Run it for each release whose schema is new, and
// commit the files. A fixture that a release wrote is never written again.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import SqliteDatabase from 'better-sqlite3';
import packageJson from '../../package.json' with { type: 'json' };
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { startSession } from '../../src/access/sessions/sessions.ts';
import { testClock } from '../../src/lib/clock.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { copiedTables } from '../../src/operate/copy/copy-database.ts';
import { routes } from '../../src/views/api.ts';
import { jsonOf } from '../support/commands.ts';
import { createDatabase } from '../support/engines.ts';
import { anew, type ExampleStore, examplesAt, openExampleStore, prepare, sendExample } from '../support/examples.ts';
import { send, serve } from '../support/serving.ts';
import { environment, type FixtureAnswers, fixtures, readAnswers, retried } from './fixture.ts';

const { version } = packageJson;
const schema = migrations.at(-1)!.name;
/** An hour after the examples, so that reports on that hour do not change any more. */
const at = examplesAt + HOUR_MS;

interface Source {
  readonly settings: Readonly<Record<string, string>>;
  dump(): string | Promise<string>;
  remove(): void | Promise<void>;
}

const sources: Readonly<Record<string, () => Source | Promise<Source>>> = {
  sqlite() {
    const directory = mkdtempSync(join(tmpdir(), 'petstore-fixture-'));
    return {
      settings: { PETSTORE_DATA_DIR: directory },
      dump: () => dumpSqlite(join(directory, 'production.db')),
      remove: () => rmSync(directory, { recursive: true }),
    };
  },
  async postgres() {
    const { url, remove } = await createDatabase({ empty: true });
    await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
    return { settings: { PETSTORE_DATABASE_URL: url }, dump: () => dumpPostgres(url), remove };
  },
};

for (const [engine, open] of Object.entries(sources)) {
  const [dumpFile, answersFile] = ['sql.gz', 'json.gz'].map(end => new URL(`${version}-${engine}.${end}`, fixtures));
  if (existsSync(dumpFile!)) throw new Error(`${dumpFile!.pathname} exists. Delete it if ${version} is not released.`);
  const source = await open();
  try {
    const keys = await fillStore(source.settings);
    const dump = await source.dump();
    const empty = copiedTables.filter(({ name }) => !new RegExp(`^insert into ("|public.)${name}\\b`, 'im').test(dump));
    console.log(`Empty on ${engine}: ${empty.map(({ name }) => name).join(', ') || 'no table'}.`);
    const service = await serve({ clock: testClock(at), environment: { ...environment, ...source.settings } });
    try {
      const answers: FixtureAnswers = { at, keys, answers: await readAnswers(service.urls.production, keys, at) };
      writeFileSync(
        dumpFile!,
        gzipSync(
          `-- A database of release ${version} on ${engine}, with the migrations up to ${schema}. Never edit it.\n${dump}`,
        ),
      );
      writeFileSync(answersFile!, gzipSync(JSON.stringify(answers)));
    } finally {
      await service.stop();
    }
  } finally {
    await source.remove();
  }
}

/** Fills a store through the API and commands. Returns the tokens of its callers. */
async function fillStore(settings: Source['settings']): Promise<Record<string, string>> {
  const store = await openExampleStore({ environment: { ...environment, ...settings } });
  try {
    await sendAll(store);
    store.clock.advance(HOUR_MS);
    // The holds of the first hour have ended, and the organization is deleted.
    await sendAll(store, ({ operationId }) => ['createHold', 'replaceOrganization'].includes(operationId));
    await send(`${store.baseUrl}/pets`, { method: 'POST', key: store.keys.owner, ...retried });
    await store.serving.app.databases.production.write(async tx => {
      await storePassword(tx, 1, 'scrypt of no password');
      await startSession(tx, 1, { address: '192.0.2.1', userAgent: 'Fixture' });
    });
    const keys = { ...store.keys, ...(await runCommands(store, settings)) };
    await deactivateWebhooks(store);
    await store.serving.app.usage.write();
    return keys;
  } finally {
    await store.serving.stop();
  }
}

/** Sends the examples that change something. */
async function sendAll(store: ExampleStore, where: (route: Route<never>) => boolean = () => true): Promise<void> {
  for (const route of routes as readonly Route<never>[]) {
    if (route.method === 'GET' || !where(route)) continue;
    for (const example of route.examples.filter(({ status }) => status < 300)) {
      const shared = await anew(store);
      // A few need a store of their own.
      await prepare(example, shared).catch(() => {});
      await sendExample(route, example, shared);
    }
  }
}

/** A service that opens the fixture would send their deliveries, and would not give the same answers each time. */
async function deactivateWebhooks({ baseUrl, keys }: ExampleStore): Promise<void> {
  for (const key of Object.values(keys)) {
    const { body } = await send(`${baseUrl}/webhooks?limit=100`, { key });
    for (const { id, status } of body) {
      if (status === 'active') await send(`${baseUrl}/webhooks/${id}/deactivation`, { method: 'POST', key });
    }
  }
}

/** Runs the commands on accounts and keys. Returns the tokens of the keys. */
async function runCommands({ baseUrl, clock }: ExampleStore, settings: Source['settings']) {
  const now = { NODE_ENV: 'test', PETSTORE_NOW: new Date(at).toISOString() };
  const command = (...args: string[]) => jsonOf({ ...environment, ...settings, ...now }, ...args);
  const newAccount = async (name: string, ...options: string[]): Promise<string> => {
    const account = await command('account', 'create', '--email', `${name}@example.org`, '--name', name, ...options);
    return String(account.id);
  };
  const newKey = async (account: string, ...options: string[]) =>
    command('key', 'create', '--account', account, ...options);

  const limits = ['--plan', 'enterprise', '--per-minute', '5', '--per-day', '100000'];
  const [limited, suspended, leaving] = [
    await newAccount('limited', ...limits),
    await newAccount('suspended'),
    await newAccount('leaving', '--plan', 'pro'),
  ];
  const banned = await newKey(limited);
  const request = () => send(`${baseUrl}/pets?limit=1`, { key: banned });
  while ((await request()).status === 200);
  clock.advance(2001);
  while ((await request()).body.code !== 'api_key_banned');

  const other = await newAccount('other');
  const keys = {
    budget: await newKey(other, '--per-minute', '10', '--per-day', '200', '--name', 'A budget'),
    network: await newKey(other, '--network', '203.0.113.0/24', '--network', '2001:db8::/32'),
    readOnly: await newKey(other, '--scope', 'pets:read', '--expires', '90d'),
    revoked: await newKey(other),
    rotated: await newKey(other),
    suspended: await newKey(suspended),
    leaving: await newKey(leaving),
  };
  await send(`${baseUrl}/pets`, { method: 'POST', key: keys.readOnly, body: { name: 'Refused', categoryId: 1 } });
  await command('key', 'revoke', keys.revoked.id);
  const replacing = await command('key', 'rotate', keys.rotated.id, '--overlap', '1h');
  await command('pet', 'create', '--account', leaving, '--name', 'Otto', '--category', '7777', '--price', '125.00 EUR');
  await command('account', 'transfer', leaving, '--to', other);
  await command('account', 'suspend', suspended);
  await command('account', 'link', other);
  await command('account', 'delete', leaving);
  const tokens = Object.entries({ ...keys, banned, replacing }).map(([name, { token }]) => [name, token]);
  return Object.fromEntries(tokens) as Record<string, string>;
}

function dumpSqlite(file: string): string {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const schema = db.prepare('select type, name, sql from sqlite_schema where sql is not null').all() as Entry[];
    const own = schema.filter(({ name }) => !name.startsWith('sqlite_'));
    const tables = [...own.filter(({ type }) => type === 'table').map(({ name }) => name), 'sqlite_sequence'];
    const rows = tables.flatMap(table => {
      const columns = db.pragma(`table_info("${table}")`) as { name: string }[];
      const values = columns.map(({ name }) => `quote("${name}")`).join(` || ', ' || `);
      const found = db.prepare(`select ${values} from "${table}"`).pluck().all();
      return found.map(text => `insert into "${table}" values (${text});`);
    });
    return ['pragma foreign_keys = off;', ...own.map(({ sql }) => `${sql};`), ...rows, ''].join('\n');
  } finally {
    db.close();
  }
}

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

function dumpPostgres(url: string): string {
  const { origin, pathname } = new URL(url.replace(/^postgres:/, 'http:'));
  const options = ['--schema=public', '--inserts', '--no-owner', '--no-privileges'];
  const database = `${origin}${pathname}`.replace(/^http:/, 'postgres:');
  const dump = execFileSync('pg_dump', [...options, database], { encoding: 'utf8' });
  // Without comments and settings, and what only psql knows.
  return dump.replace(/^(--.*|\\.*|SET .*|CREATE SCHEMA .*|)\n/gm, '');
}
