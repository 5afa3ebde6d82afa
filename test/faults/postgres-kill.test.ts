import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/lib/clock.ts';
import { StorageError } from '../../src/lib/storage/database.ts';
import { openPostgres } from '../../src/lib/storage/postgres/database.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { silent } from '../support/engines.ts';
import { startCluster, withoutCluster } from '../support/postgres-cluster.ts';
import { long, skipFor } from '../support/selection.ts';

const rounds = long ? 100 : 10;
const WRITERS = 32;

const addPet = query((db, p: Params<{ name: string }>) =>
  db
    .insertInto('pets')
    .values({ name: p.name, category_id: 1, status: 'available', account_id: 1, created_at: 0, updated_at: 0 })
    .returning('id'),
);
const everyPet = query(db => db.selectFrom('pets').select(['id', 'name']));

const skip = skipFor(withoutCluster);

it(`loses no acknowledged row and assigns no id twice when PostgreSQL is killed ${rounds} times under ${WRITERS} writers`, {
  skip,
  timeout: rounds * 10_000 + 60_000,
}, async t => {
  const cluster = await startCluster();
  t.after(() => cluster.remove());
  const open = () =>
    openPostgres({
      url: cluster.url,
      migrations,
      clock: systemClock(),
      role: 'server',
      connectionsMax: 16,
      migrate: true,
      log: silent,
    });
  const database = await open();
  t.after(() => database.close());

  const acknowledged = new Map<number, string>();
  let refused = 0;
  let going = true;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; going; n++) {
      const name = `writer ${writer}, ${n}`;
      try {
        const { id } = (await database.write(tx => tx.first(addPet, { name }))) as { id: number };
        assert.ok(!acknowledged.has(id), `${id} was assigned twice`);
        acknowledged.set(id, name);
      } catch (error) {
        assert.ok(error instanceof StorageError && error.reason === 'unavailable', String(error));
        refused++;
        await pause(100);
      }
    }
  });

  for (let round = 0; round < rounds; round++) {
    const enough = acknowledged.size + 200 + Math.floor(Math.random() * 400);
    while (acknowledged.size < enough) await pause(5);
    await cluster.kill();
    await cluster.start();
  }
  going = false;
  await Promise.all(writers);

  const kept = new Map((await database.all(everyPet, {})).map(({ id, name }) => [id, name]));
  for (const [id, name] of acknowledged) assert.equal(kept.get(id), name);
  t.diagnostic(`${acknowledged.size} acknowledged over ${rounds} kills, ${refused} refused, none lost`);
});
