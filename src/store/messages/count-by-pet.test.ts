import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { type Params, query } from '../../model/schema.ts';
import { countMessagesByPet } from './count-by-pet.ts';

describe('the messages about animals', () => {
  onEachEngine(engine => {
    it('are counted by animal, for their recipient, once they have arrived', async () => {
      const database = await engine.open();
      for (const [to, petId, arrivedAt] of [
        [1, 7, 1],
        [1, 7, 1],
        [1, 8, 1],
        [1, 9, null],
        [1, null, 1],
        [2, 7, 1],
      ] as const) {
        await database.write(tx =>
          tx.run(addMessage, { to, petId, arrivedAt, status: arrivedAt ? 'delivered' : 'queued' }),
        );
      }
      assert.deepEqual(Object.fromEntries(await countMessagesByPet(database, 1)), { 7: 2, 8: 1 });
      assert.equal((await countMessagesByPet(database, 3)).size, 0);
    });
  });
});

type Added = { to: number; petId: number | null; arrivedAt: number | null; status: 'queued' | 'delivered' };

const addMessage = query((db, p: Params<Added>) =>
  db.insertInto('messages').values({
    ...{ to_account_id: p.to, pet_id: p.petId, text: 'x', status: p.status, arrived_at: p.arrivedAt },
    ...{ created_at: 0, updated_at: 0 },
  }),
);
