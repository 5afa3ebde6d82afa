import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import SqliteDatabase from 'better-sqlite3';
import { testClock } from '../../src/lib/clock.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { placeOrder } from '../../src/store/orders/orders.ts';
import { countPets } from '../../src/store/pets/counts.ts';
import { createPet, getPet, updatePet } from '../../src/store/pets/pets.ts';
import { LOCATION_FACT } from '../../src/store/photos/location.ts';
import { petstore, textOf } from '../support/commands.ts';
import { createDatabase, type Engine, onEachEngine, onServer, run, type TestLocation } from '../support/engines.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { send, serve } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { assertStillThere, environment, type FixtureAnswers, fixtures, retried } from './fixture.ts';

/** Later than the fixtures were written, and before their hold and order expire. */
const NOW = Date.parse('2026-11-22T05:10:00Z');

onEachEngine(engine => {
  it('opens a database of an early schema, and reads and writes it', async () => {
    const location = await engine.newLocation({ empty: true });
    await loadFixture(engine, location);
    const database = await engine.open({ location, clock: testClock(NOW) });

    const { name, status, priceAmount, version } = await getPet(database, 1, NOW);
    assert.deepEqual([name, status, priceAmount, version], ['Minka', 'pending', 12_000, 2]);
    assert.equal(await countPets(database, {}, NOW), 3);
    assert.deepEqual(
      (await eventsOf(database, 'pet', 2)).map(({ action }) => action),
      ['created', 'updated', 'updated'],
    );

    const actor = { accountId: 1, admin: false };
    const created = await database.write(tx => createPet(tx, 1, { name: 'Otto', categoryId: 2 }, 'open'));
    assert.equal(created.id, 4);
    assert.equal((await database.write(tx => updatePet(tx, actor, 3, { name: 'Iva' }, 'open'))).version, 2);
    assert.equal((await database.write(tx => placeOrder(tx, actor, { petId: 4 }))).id, 2);
    assert.equal((await getPet(database, 4, NOW)).status, 'pending');
    assert.equal(await countPets(database, {}, NOW), 4);
    assert.equal(await countPets(database, { status: ['available'] }, NOW), 1);
  });
});

/** The fixtures with the responses of the service that wrote them: a release, or code before the first one. */
const recorded = readdirSync(fixtures).flatMap(name => /^(.*)-sqlite\.json\.gz$/.exec(name)?.[1] ?? []);

overEachEngine(engine => {
  for (const name of recorded) {
    it(`responds as ${name} did, and goes on from there`, async () => {
      const read = (end: string) =>
        gunzipSync(readFileSync(new URL(`${name}-${engine.name}.${end}.gz`, fixtures))).toString();
      const { at, keys, answers } = JSON.parse(read('json')) as FixtureAnswers;
      const location = await newLocation(engine.name, read('sql'));
      const settings = { ...environment, ...location.settings };
      await textOf(settings, 'migrate');
      const service = await serve({ clock: testClock(at), environment: settings });
      try {
        // Only what the release answered: limits count every request.
        for (const { as, path, status, body } of answers) {
          const now = await readAll(service.urls.production + path, keys[as]!);
          assert.equal(now.status, status, `${as} ${path}`);
          assertStillThere(now.body, body, `${as} ${path}`);
        }
        const post = (path: string, body: object, headers = {}) =>
          send(`${service.urls.production}${path}`, { method: 'POST', key: keys['owner']!, body, headers });
        const again = await post('/pets', retried.body, retried.headers);
        assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true'], again.text);
        const pet = await post('/pets', { name: 'Otto', categoryId: 2 });
        assert.equal(pet.status, 201, pet.text);
        const order = await post('/store/orders', { petId: pet.body.id });
        assert.equal(order.status, 201, order.text);
        const webhook = await post('/webhooks', { url: 'https://93.184.215.14/hook' });
        assert.equal(webhook.status, 201, webhook.text);
        const { printed, errors } = await petstore(settings, 'verify', '--json');
        const { findings } = JSON.parse(printed || errors) as { findings: readonly { readonly check: string }[] };
        // Fixtures are databases alone, without files.
        assert.deepEqual(
          findings.filter(({ check }) => check !== 'files of photos'),
          [],
        );
      } finally {
        await service.stop();
        await location.remove();
      }
    });
  }
});

overEachEngine(engine => {
  it('reports an upgrade on standard error and in the log, and nothing about a new or current store', async () => {
    const dump = gunzipSync(readFileSync(new URL(`0024-photos-${engine.name}.sql.gz`, fixtures))).toString();
    const upgraded = /^Upgraded the database \S.* to \S+ in [\d.]+ s\.$/;
    const location = await newLocation(engine.name, dump);
    try {
      // Staging is new.
      assert.match((await petstore(location.settings, 'migrate')).errors, new RegExp(upgraded.source, 'm'));
      assert.equal((await petstore(location.settings, 'migrate')).errors, '');
    } finally {
      await location.remove();
    }
    if (engine.name === 'postgres') return;
    // A server upgrades the embedded database by itself.
    const { settings } = await newLocation('sqlite', dump);
    const service = await serve({ environment: { ...environment, ...settings } });
    await service.stop();
    const messages = service.lines.map(line => JSON.parse(line)).filter(({ level }) => level === 'info');
    assert.match(messages.map(({ msg }) => msg).find(msg => upgraded.test(msg)) ?? '', upgraded);
  });
});

/** Returns the settings of a service on a database with the statements of a dump. */
async function newLocation(engine: Engine['name'], dump: string) {
  if (engine === 'sqlite') {
    const directory = temporaryDirectory();
    writeSqlite(join(directory, 'production.db'), dump);
    return { settings: { PETSTORE_DATA_DIR: directory }, remove: async () => {} };
  }
  const { url, remove } = await createDatabase({ empty: true });
  // Fixtures are databases alone: their photos are in another directory.
  const movePhotos = `delete from public.facts where name = '${LOCATION_FACT}'`;
  await onServer(connection => run(connection, `${dump};\n${movePhotos}`), url);
  return { settings: { PETSTORE_DATABASE_URL: url }, remove };
}

function writeSqlite(file: string, dump: string): void {
  const sqlite = new SqliteDatabase(file);
  sqlite.exec(dump);
  sqlite.close();
}

async function loadFixture(engine: Engine, location: TestLocation): Promise<void> {
  const dump = readFileSync(new URL(`0006-mail-comes-to-all-${engine.name}.sql`, fixtures), 'utf8');
  if ('directory' in location) {
    writeSqlite(join(location.directory, 'petstore.db'), dump);
    return;
  }
  await onServer(async connection => {
    await run(connection, `create schema ${location.schema}; set search_path to ${location.schema}`);
    await run(connection, dump);
  }, location.url);
}

/** Returns a response, and of the request log all pages: the requests of this test come before those of the release. */
async function readAll(url: string, key: string) {
  const first = await send(url, { key });
  let { headers } = first;
  const rows = first.status === 200 && url.includes('/account/requests?') ? [...first.body] : undefined;
  while (rows !== undefined) {
    const next = /<([^>]*)>; rel="next"/.exec(String(headers.link ?? ''))?.[1];
    if (next === undefined) break;
    const page = await send(next, { key });
    assert.equal(page.status, 200, page.text);
    rows.push(...page.body);
    ({ headers } = page);
  }
  return { status: first.status, body: rows ?? first.body };
}
