import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { problem } from '../../model/errors.ts';
import type { Database } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import { changePets, deleting, patching } from './change-many.ts';
import { createPet, getPet } from './pets.ts';

const owner = { accountId: 1, admin: false };
const origin = { command: 'test' };

describe('a change of many pets', () => {
  onEachEngine(engine => {
    const most = engine.name === 'sqlite' ? 25 : 100;

    it('changes some in each transaction, and refuses single pets', async () => {
      const database = await engine.open();
      const ids = await addMany(database, 2 * most + 10);
      const [strange] = await addMany(database, 1, 2);
      await database.write(tx => createHold(tx, { accountId: 2, admin: false }, { petId: ids[30]! }, 100));
      let writes = 0;
      const counting: Pick<Database, 'write' | 'engine'> = {
        engine: database.engine,
        write(work, by) {
          writes++;
          return database.write(work, by);
        },
      };
      const sell = patching(owner, 'open', () => ({ status: 'sold' }));
      const all = [strange!, 9999, ...ids.toReversed()];
      assert.deepEqual(await changePets(counting, all, sell, origin), {
        changed: ids.length - 1,
        unchanged: 0,
        refused: [
          { id: ids[30], code: 'pet_reserved' },
          { id: strange, code: 'not_owner' },
          { id: 9999, code: 'pet_not_found' },
        ],
      });
      assert.equal(writes, 3);
      assert.deepEqual(await changePets(database, ids.slice(0, 2), sell, origin), {
        changed: 0,
        unchanged: 2,
        refused: [],
      });
      const status = async (id: number) => (await getPet(database, id, Date.now())).status;
      assert.deepEqual(
        [await status(ids[0]!), await status(ids[30]!), await status(strange!)],
        ['sold', 'pending', 'available'],
      );
      const deleted = await changePets(database, [strange!, ...ids.slice(29, 32)], deleting(owner), origin);
      assert.deepEqual([deleted.changed, deleted.refused.map(({ code }) => code)], [2, ['pet_reserved', 'not_owner']]);
      await assert.rejects(async () => status(ids[29]!), { code: 'pet_not_found' });
      assert.equal(await status(ids[30]!), 'pending');
    });

    it('depends on each pet, and ends with an error of the database', async () => {
      const database = await engine.open();
      const ids = await addMany(database, most + 5);
      const named = patching(owner, 'open', ({ id }) => ({ name: `Pet ${id}` }));
      assert.equal((await changePets(database, ids, named, origin)).changed, most + 5);
      assert.equal((await getPet(database, ids[7]!, 0)).name, `Pet ${ids[7]}`);
      const failing = patching(owner, 'open', ({ id }) => {
        if (id === ids[most + 2]) throw problem('overloaded');
        return { name: 'New' };
      });
      await assert.rejects(changePets(database, ids, failing, origin), { code: 'overloaded' });
      const names = await Promise.all([0, most + 1].map(async index => (await getPet(database, ids[index]!, 0)).name));
      // The first transaction was committed, and the second one rolled back.
      assert.deepEqual(names, ['New', `Pet ${ids[most + 1]}`]);
    });
  });
});

async function addMany(database: Database, pets: number, accountId = 1): Promise<number[]> {
  return database.write(async tx => {
    const ids: number[] = [];
    for (let added = 0; added < pets; added++) {
      ids.push((await createPet(tx, accountId, { name: 'Rex', categoryId: 1 }, 'open')).id);
    }
    return ids;
  });
}
