import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { eventsOf } from '../../src/events/log.ts';
import { testClock } from '../../src/lib/clock.ts';
import { placeOrder } from '../../src/orders/orders.ts';
import { countPets } from '../../src/pets/counts.ts';
import { createPet, getPet, updatePet } from '../../src/pets/pets.ts';
import { type Engine, onEachEngine, onServer, run, type TestLocation } from '../support/engines.ts';

/** Later than the fixtures were written, and before their hold and order expire. */
const NOW = Date.parse('2026-11-22T05:10:00Z');

onEachEngine(engine => {
  it('opens a database that release 1.0.0 wrote, and reads and writes it', async () => {
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

async function loadFixture(engine: Engine, location: TestLocation): Promise<void> {
  const dump = readFileSync(new URL(`fixtures/1.0.0-${engine.name}.sql`, import.meta.url), 'utf8');
  if ('directory' in location) {
    const sqlite = new SqliteDatabase(join(location.directory, 'petstore.db'));
    sqlite.exec(dump);
    sqlite.close();
    return;
  }
  await onServer(async connection => {
    await run(connection, `create schema ${location.schema}; set search_path to ${location.schema}`);
    await run(connection, dump);
  }, location.url);
}
