import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { Database } from '../../model/schema.ts';
import { checks } from '../../operate/verify/checks.ts';
import { transferPets } from '../orders/transfer.ts';
import { countOwned } from './counts.ts';
import { createPet, deletePet } from './pets.ts';

const CAT = { name: 'Minka', categoryId: 2 };
const actor = { accountId: 1, admin: false };

onEachEngine(engine => {
  const add = (database: Database, petsMax: number, accountId = 1, pets = 1) =>
    database
      .write(async tx => {
        for (let added = 0; added < pets; added++) await createPet(tx, accountId, CAT, 'open', { petsMax });
      })
      .then(
        () => 'done',
        error => (error instanceof Problem ? error.code : String(error)),
      );

  /** Asserts that the counters match the rows. */
  async function assertCounted(database: Database): Promise<void> {
    const { query } = checks.find(({ name }) => name === 'numbers of animals')!;
    assert.deepEqual(await database.all(query, { now: 0, limit: 20 }), []);
  }

  describe('the bound of pets', () => {
    it('is exact for concurrent pets of an account', async () => {
      const location = await engine.newLocation();
      const nodes = [await engine.open({ location })];
      if (engine.name === 'postgres') nodes.push(await engine.open({ location }));
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          add(nodes[index % nodes.length]!, 40, 1 + (Math.floor(index / 2) % 2)),
        ),
      );
      assert.equal(outcomes.filter(outcome => outcome === 'done').length, 60);
      const more = await Promise.all(Array.from({ length: 30 }, (_, index) => add(nodes[index % nodes.length]!, 40)));
      assert.equal(more.filter(outcome => outcome === 'done').length, 10);
      assert.equal(more.filter(outcome => outcome === 'pet_limit_exceeded').length, 20);
      assert.deepEqual([await countOwned(nodes[0]!, 1), await countOwned(nodes[0]!, 2)], [40, 30]);
      await assertCounted(nodes[0]!);
    });

    it('counts the pets of one transaction, and none of one that fails', async () => {
      const database = await engine.open();
      assert.equal(await add(database, 5, 1, 6), 'pet_limit_exceeded');
      assert.equal(await countOwned(database, 1), 0);
      assert.equal(await add(database, 5, 1, 5), 'done');
      assert.equal(await add(database, 5), 'pet_limit_exceeded');
      await assertCounted(database);
    });

    it('has room again after a deletion, and follows transfers', async () => {
      const database = await engine.open();
      await add(database, 2, 1, 2);
      await database.write(tx => deletePet(tx, actor, 1));
      assert.equal(await add(database, 2), 'done');
      await database.write(tx => transferPets(tx, 1, 2, 10));
      assert.deepEqual([await countOwned(database, 1), await countOwned(database, 2)], [0, 2]);
      assert.equal(await add(database, 2), 'done');
      assert.equal(await add(database, 2, 2), 'pet_limit_exceeded');
      await assertCounted(database);
    });

    it('is exact far from a large bound too', async () => {
      const database = await engine.open();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => add(database, 2_000_000, 1, 3)));
      assert.deepEqual(outcomes, Array(20).fill('done'));
      assert.equal(await countOwned(database, 1), 60);
      await assertCounted(database);
    });
  });
});
