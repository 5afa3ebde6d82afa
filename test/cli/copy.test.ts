import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import Sqlite from 'better-sqlite3';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../src/lib/clock.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { openSqlite } from '../../src/lib/storage/sqlite/database.ts';
import { type Table, tablesOf } from '../../src/lib/storage/tables.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { copiedTables } from '../../src/operate/copy/copy-database.ts';
import { routes } from '../../src/views/api.ts';
import { type Environment, jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { createDatabase, isAnalyzed, onServer, run, silent, withoutPostgres } from '../support/engines.ts';
import { anew, openExampleStore, prepare, sendExample } from '../support/examples.ts';
import { killedAt } from '../support/killed-command.ts';
import { openBlocker } from '../support/lock-waits.ts';
import { startReceiver } from '../support/receiver.ts';
import { describeUnless } from '../support/selection.ts';
import { send, serve } from '../support/serving.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

describeUnless(withoutPostgres, 'petstore copy', () => {
  const databases: Awaited<ReturnType<typeof createDatabase>>[] = [];
  after(() => Promise.all(databases.map(database => database.remove())));
  async function emptyDatabase(): Promise<string> {
    const database = await createDatabase({ empty: true });
    databases.push(database);
    return database.url;
  }
  /** Where a store on PostgreSQL has its photos. */
  const settings = { PETSTORE_DATA_DIR: temporaryDirectory() };
  const copy = (from: string, to: string, ...more: string[]) =>
    jsonOf(settings, 'copy', '--from', from, '--to', to, ...more);

  /** A data directory with rows in every table. */
  let full: string;
  before(async () => {
    full = await fullStore();
  });

  it('copies every table to PostgreSQL and back, unchanged', async () => {
    const [url, back] = [await emptyDatabase(), temporaryDirectory()];
    const rows = await copy(`sqlite:${full}`, url);
    assert.deepEqual(await copy(url, join(back, 'new')), rows);
    for (const deployment of ['production', 'staging'] as const) {
      const before = contentOf(full, deployment);
      assert.deepEqual(contentOf(join(back, 'new'), deployment), before);
      const counts = Object.entries(before.tables).map(([name, content]) => [name, content.length]);
      assert.deepEqual(rows[deployment], Object.fromEntries(counts));
    }
    assert.deepEqual(
      Object.keys(rows.production).filter(name => rows.production[name] === 0),
      [],
    );
  });

  it('copies every table that migrations create, except those of the processes and of sandboxes', () => {
    const names = tablesOf(migrations).map(({ name }) => name);
    const others = names.filter(name => !copiedTables.some(table => table.name === name));
    assert.deepEqual(others, ['announcements', 'classic_documents', 'classic_sandboxes', 'migrations', 'nodes']);
  });

  it('knows every column that PostgreSQL has', async () => {
    const url = await emptyDatabase();
    await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
    const columns = await onServer(
      connection =>
        run(
          connection,
          `select table_name, column_name, data_type from information_schema.columns
        where table_schema = 'public'`,
        ),
      url,
    );
    const types: Record<string, string> = { bigint: 'int', text: 'text' };
    const found = columns.map(row => `${row.table_name}.${row.column_name} ${types[row.data_type]}`);
    const known = tablesOf(migrations).flatMap(({ name, columns }) =>
      columns.map(column => `${name}.${column.name} ${column.type}`),
    );
    assert.deepEqual(found.sort(), [...known, 'events.seq int'].sort());
  });

  for (const direction of ['PostgreSQL', 'the embedded engine']) {
    it(`serves from the copy on ${direction} as from the source`, async () => {
      const url = await emptyDatabase();
      await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
      const directory = temporaryDirectory();
      const [onPostgres, onSqlite] = [{ PETSTORE_DATABASE_URL: url }, { PETSTORE_DATA_DIR: directory }];
      const toPostgres = direction === 'PostgreSQL';
      const [source, target] = toPostgres ? [onSqlite, onPostgres] : [onPostgres, onSqlite];
      // The ids of events on PostgreSQL have gaps, and their positions have none.
      if (!toPostgres) await onServer(connection => run(connection, `select setval('events_id_seq', 1000)`), url);

      const receiver = await startReceiver();
      const first = await openStore(source);
      let second: Awaited<ReturnType<typeof openStore>> | undefined;
      try {
        await first.post('/pets', { name: 'Minka', categoryId: 2 }, 'once');
        await first.post('/pets', { name: 'Rex', categoryId: 1 });
        for (const description of ['a', 'b', 'c'].map(letter => letter.repeat(300))) {
          assert.equal((await first.ask('PATCH', '/pets/1', { description })).status, 200);
        }
        const { id } = await first.post('/pets', { name: 'Bella', categoryId: 1 });
        assert.equal((await first.ask('DELETE', `/pets/${id}`)).status, 204);
        const webhook = await first.post('/webhooks', { url: receiver.url });
        await first.post(`/webhooks/${webhook.id}/activation`);
        const before = await stateOf(first);
        const tokenOf = async (path: string) => String((await first.get(path)).headers['x-sync-token']);
        const changedToken = await tokenOf('/pets?updatedSince=2000-01-01T00:00:00Z');
        const eventsToken = await tokenOf('/events');
        await first.stop();

        await (toPostgres ? copy(directory, url) : copy(url, directory));
        if (toPostgres) assert.ok(await isAnalyzed(url));
        second = await openStore(target, first.key);
        assert.deepEqual(await stateOf(second), before);
        const again = await second.post('/pets', { name: 'Minka', categoryId: 2 }, 'once');
        assert.equal(again.id, 1, 'the stored response is replayed');
        assert.equal((await second.post('/pets', { name: 'Momo', categoryId: 2 })).id, id + 1);
        const changed = await second.get(`/pets?updatedSince=${changedToken}`);
        assert.deepEqual(namesOf(changed.body), ['Momo']);
        const events = await second.get(`/events?after=${eventsToken}`);
        assert.deepEqual(
          events.body.map((event: { type: string }) => event.type),
          ['pet.created'],
        );
        await waitUntil(() => receiver.received.some(({ body }) => body.includes('Momo')));
        const delivery = receiver.received.find(({ body }) => body.includes('Momo'))!;
        new Webhook(webhook.secret).verify(delivery.body, delivery.headers as Record<string, string>);
      } finally {
        await first.stop();
        await second?.stop();
        await receiver.close();
      }
    });
  }

  it('refuses a store that is being served, as source and as target', async () => {
    const url = await emptyDatabase();
    await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
    for (const environment of [{ PETSTORE_DATA_DIR: temporaryDirectory() }, { PETSTORE_DATABASE_URL: url }]) {
      const service = await serve({ environment });
      try {
        const served = environment.PETSTORE_DATA_DIR ?? url;
        await refused({}, /serve/, 'copy', '--from', served, '--to', join(temporaryDirectory(), 'new'));
        await refused({}, /serve/, 'copy', '--from', full, '--to', served);
      } finally {
        await service.stop();
      }
    }
  });

  it('refuses to copy a store to itself', async () => {
    const url = await emptyDatabase();
    await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(full, link);
    for (const [from, to] of [
      [full, full],
      [full, link],
      [url, url],
    ] as const) {
      await refused({}, /^The source and the target are the same store: /, 'copy', '--from', from, '--to', to);
    }
  });

  it('names the disk that is full, and can be run again once it has space', async t => {
    const disk = smallDisk(t, 16);
    if (disk === undefined) return;
    const directory = join(disk.directory, 'data');
    disk.fill();
    const ballast = join(disk.directory, 'ballast');
    // Room for no table, and for some.
    for (const kib of [32, 500]) {
      truncateSync(ballast, statSync(ballast).size - kib * 1024);
      const sentence =
        /^The disk of .*\/data\/production\.db is full\. The copy is not complete: run "petstore copy" again\.$/m;
      await refused({}, sentence, 'copy', '--from', full, '--to', directory);
      if (kib < 100) assert.deepEqual(readdirSync(directory), ['serve.lock']);
    }
    await unfinished({ PETSTORE_DATA_DIR: directory }, 'verify');
    disk.empty();
    await copy(full, directory);
    assert.deepEqual(contentOf(directory, 'production'), contentOf(full, 'production'));
  });

  it('refuses a target that holds data, and changes nothing there', async () => {
    const url = await emptyDatabase();
    await copy(full, url);
    const other = await fullStore();
    for (const target of [url, other]) await refused({}, /has data/, 'copy', '--from', full, '--to', target);
    assert.match(await textOf({ PETSTORE_DATABASE_URL: url }, 'account', 'list'), /jo@example.org/);
  });

  it('refuses a source that is missing, or not up to date', async () => {
    const [missing, old] = [join(temporaryDirectory(), 'none'), temporaryDirectory()];
    await refused({}, /There is no pet store in/, 'copy', '--from', missing, '--to', await emptyDatabase());
    assert.ok(!existsSync(missing));
    const file = join(old, 'production.db');
    const options = { clock: systemClock(), role: 'cli', log: silent } as const;
    await (await openSqlite({ ...options, file, migrations: migrations.slice(0, -1), onFailed() {} })).close();
    for (const source of [old, await emptyDatabase()]) {
      await refused({}, /run "petstore migrate" first/, 'copy', '--from', source, '--to', join(old, 'new'));
    }
  });

  it('rejects what is no store', async () => {
    const wrong = [
      ['--from', 'mysql://host/db', '--to', full],
      ['--from', 'sqlite:', '--to', full],
      ['--from', full, '--to', 'postgres://:x:y/'],
      ['--from', full, '--to', 'postgres://a/b', '--to-staging', 'postgres://a/b'],
      ['--from', full, '--to', 'postgres://a/b', '--from-staging', 'postgres://a/c'],
      ['--to', full],
    ];
    for (const options of wrong) {
      const { code, errors } = await petstore({}, 'copy', ...options);
      assert.deepEqual([code, errors.trim().split('\n').length], [2, 1], errors);
    }
  });

  /** Kills a copy into an empty database while it waits for a lock that a statement holds. */
  async function killCopy(url: string, statement: string) {
    const blocker = await openBlocker({ url, schema: 'public' });
    try {
      await blocker.lock(statement);
      const launcher = new URL('../../bin/petstore', import.meta.url).pathname;
      const env = { ...process.env, ...settings };
      const child = spawn(launcher, ['copy', '--from', full, '--to', url], { stdio: 'inherit', env });
      const exited = once(child, 'exit');
      await blocker.untilLockWait();
      child.kill('SIGKILL');
      await exited;
    } finally {
      await blocker.release();
      blocker.close();
    }
  }

  it('leaves an unfinished copy when it is killed, which nothing opens and another copy replaces', async () => {
    const url = await emptyDatabase();
    const environment = { PETSTORE_DATABASE_URL: url };
    await jsonOf(environment, 'migrate');
    await killCopy(url, 'lock table webhooks in share mode');
    for (const command of [...READING, 'migrate', 'pet list --deployment staging'])
      await unfinished(environment, command);
    await assert.rejects(serve({ environment }), /is an unfinished copy/);
    const rows = await copy(full, url);
    assert.equal(rows.production.accounts, contentOf(full, 'production').tables['accounts']!.length);
    assert.match(await textOf(environment, 'account', 'list'), /jo@example.org/);

    // Interrupted at its end, between the two deployments.
    await onServer(connection => run(connection, `insert into migrations values ('unfinished-copy', 0)`), url);
    for (const command of READING) await unfinished(environment, command);
    assert.deepEqual(await copy(full, url), rows);
  });

  it('leaves an unfinished copy on the embedded engine when it is killed, which another copy replaces', async () => {
    const directory = join(temporaryDirectory(), 'new');
    const environment = { PETSTORE_DATA_DIR: directory };
    // Without a row, and with those of production.
    for (const nth of [3, 150]) {
      const step = killedAt(nth, settings, 'copy', '--from', full, '--to', directory);
      assert.match(step ?? '', /^Copying [a-z_]+ \d+ %$/);
      for (const command of [...READING, 'migrate', 'compact']) await unfinished(environment, command);
    }
    await copy(full, directory);
    assert.deepEqual(contentOf(directory, 'production'), contentOf(full, 'production'));
    await jsonOf(environment, 'compact');
  });

  it('can be run again after it was killed while it created the tables', async () => {
    const url = await emptyDatabase();
    await killCopy(url, 'create table webhooks (id int)');
    await onServer(connection => run(connection, 'drop table webhooks'), url);
    await refused({ PETSTORE_DATABASE_URL: url }, /is an unfinished copy: run "petstore copy" again/, 'migrate');
    assert.equal((await copy(full, url)).production.accounts, contentOf(full, 'production').tables['accounts']!.length);
  });

  it('copies a staging with a database of its own', async () => {
    const [production, staging] = [await emptyDatabase(), await emptyDatabase()];
    const rows = await copy(full, production, '--to-staging', staging);
    const back = temporaryDirectory();
    assert.deepEqual(await copy(production, back, '--from-staging', staging), rows);
    assert.deepEqual(contentOf(back, 'staging'), contentOf(full, 'staging'));
    const environment = { PETSTORE_DATABASE_URL: production, PETSTORE_STAGING_DATABASE_URL: staging };
    assert.match(await textOf(environment, 'pet', 'list', '--deployment', 'staging'), /Minka|Rex|Bella/);
  });
});

/** Commands that read a database. */
const READING = ['account list', 'verify', 'migrate --plan', `backup ${temporaryDirectory()}`];

async function unfinished(environment: Environment, command: string): Promise<void> {
  await refused(environment, /is an unfinished copy: run "petstore copy" again/, ...command.split(' '));
}

async function openStore(environment: Environment, known?: { token: string }) {
  const service = await serve({
    environment: {
      PETSTORE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
      ...environment,
    },
  });
  const key = known ?? (await service.newKey());
  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    send(service.urls.production + path, { method, key, headers, ...(body !== undefined && { body }) });
  return {
    key,
    ask,
    get: (path: string) => ask('GET', path),
    async post(path: string, body?: unknown, idempotencyKey?: string) {
      const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
      const reply = await ask('POST', path, body, headers);
      assert.ok(reply.status < 300, reply.text);
      return reply.body;
    },
    stop: service.stop,
  };
}

const namesOf = (pets: readonly { name: string }[]) => pets.map(({ name }) => name);

/** Returns what the API shows of a store. */
async function stateOf({ get }: Pick<Awaited<ReturnType<typeof openStore>>, 'get'>) {
  const paths = [
    '/pets?view=full',
    '/categories',
    '/events',
    '/webhooks',
    '/store/inventory',
    '/pets/1/history',
    '/audit',
  ];
  // A read of the events assigns their positions, which the audit log shows.
  await get('/events');
  const replies = await Promise.all(paths.map(get));
  for (const { status, text } of replies) assert.equal(status, 200, text);
  const [history, audit] = replies.splice(-2);
  // On the embedded engine, the ids of changes are the positions of their events.
  const changes = [...history!.body, ...audit!.body].map(({ id: _, ...change }) => change);
  return [...replies.map(({ body }) => body), changes];
}

/** Creates a data directory with rows in every table: by the requests of all examples, and samples where those leave none. */
async function fullStore(): Promise<string> {
  const directory = temporaryDirectory();
  const store = await openExampleStore({ environment: { PETSTORE_DATA_DIR: directory } });
  for (const route of (routes as readonly Route<never>[]).filter(({ method }) => method !== 'GET')) {
    for (const example of route.examples.filter(({ status }) => status < 300)) {
      const shared = await anew(store);
      // A few need a store of their own.
      await prepare(example, shared).catch(() => {});
      await sendExample(route, example, shared);
    }
  }
  await store.serving.stop();
  const db = new Sqlite(join(directory, 'production.db'));
  for (const table of copiedTables) {
    if (db.prepare(`select 1 from "${table.name}"`).get() === undefined) insertSample(db, table);
  }
  // The last id of each table is used, but no row has it.
  db.exec('update sqlite_sequence set seq = seq + 1');
  db.prepare('vacuum into ?').run(join(directory, 'staging.db'));
  cpSync(join(directory, 'photos', 'production'), join(directory, 'photos', 'staging'), { recursive: true });
  db.close();
  return directory;
}

/** Text that encodings, escapes and collations change if they are wrong. */
const TEXT = '{"a": "\\u0000"}\u2028\n\'"é e\u0301 🐈 \ufeff';

function insertSample(db: Sqlite.Database, { name, columns }: Table) {
  const samples: Record<string, unknown> = { outcome: 'failed' };
  for (const key of db.pragma(`foreign_key_list(${name})`) as Record<'table' | 'from' | 'to', string>[]) {
    samples[key.from] = db.prepare(`select "${key.to}" from "${key.table}"`).pluck().get();
  }
  const values = columns.map((column, index) => samples[column.name] ?? (column.type === 'int' ? index + 1 : TEXT));
  db.prepare(`insert into "${name}" values (${values.map(() => '?').join(', ')})`).run(values);
}

/** Returns every copied row, in the order of the primary keys, and the last ids. */
function contentOf(directory: string, deployment: string) {
  const db = new Sqlite(join(directory, `${deployment}.db`), { readonly: true });
  try {
    const tables = copiedTables.map(({ name, key }) => {
      const order = key.map(column => `"${column}"`).join(', ');
      return [name, db.prepare(`select * from "${name}" order by ${order}`).all()] as const;
    });
    const lastIds = db.prepare('select name, seq from sqlite_sequence order by name').all();
    return { tables: Object.fromEntries(tables), lastIds };
  } finally {
    db.close();
  }
}
