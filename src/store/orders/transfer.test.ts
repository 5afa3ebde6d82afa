import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { DAY, openOrderStore, owner, placer, stranger } from '../../../test/support/order-store.ts';
import { eventsOf } from '../../model/log/log.ts';
import { getHold } from '../holds/holds.ts';
import type { PetEventData } from '../pets/change.ts';
import { createPet, getPet } from '../pets/pets.ts';
import { transferPets } from './transfer.ts';

onEachEngine(engine => {
  describe('transferPets', () => {
    it('gives pets to another account in batches, each with a new version and an event', async () => {
      const { database, now, assertSound } = await openOrderStore(engine);
      const transfer = () => database.write(tx => transferPets(tx, owner.accountId, stranger.accountId, 3));
      assert.deepEqual([await transfer(), await transfer(), await transfer()], [3, 1, 0]);
      for (const id of [1, 2, 3, 4]) {
        const pet = await getPet(database, id, now());
        assert.deepEqual([pet.accountId, pet.version], [stranger.accountId, 2]);
        const { action, accountId, data } = (await eventsOf<PetEventData>(database, 'pet', id)).at(-1)!;
        assert.deepEqual(
          [action, accountId, data.reason, data.was, data.ownerId],
          ['updated', null, 'transferred', {}, stranger.accountId],
        );
      }
      await assertSound();
    });

    it('keeps reservations, whose further steps the new owner takes', async () => {
      const store = await openOrderStore(engine);
      const { database, now, place, approve, deliver, takeBack, cancel, hold } = store;
      const holdId = await hold([1]);
      for (const petId of [2, 3, 4]) await place(petId);
      await approve(2);
      await approve(3);
      await deliver(3);
      await cancel(1);
      await database.write(tx => transferPets(tx, owner.accountId, stranger.accountId, 100));
      await store.assertSound();
      assert.equal((await getHold(database, stranger, holdId, now())).id, holdId);
      await assert.rejects(getHold(database, owner, holdId, now()), { code: 'hold_not_found' });
      await assert.rejects(deliver(2), { code: 'order_not_found' });
      assert.equal((await deliver(2, stranger)).status, 'delivered');
      assert.equal((await takeBack(3, {}, stranger)).status, 'returned');
      assert.equal((await store.order(1, owner)).status, 'cancelled');
      await assert.rejects(store.order(1, stranger), { code: 'order_not_found' });
      await store.assertSound();
    });

    it('keeps bonded pets together, and their groups apart from those of the new owner', async () => {
      const { database, now, add, assertSound } = await openOrderStore(engine, 0);
      const group = (id: string) => ({ group: { id, kind: 'bonded' as const } });
      const one = await add(group('1'));
      await add();
      const other = await add(group('1'));
      const long = '🐶'.repeat(100);
      const [third, fourth] = [await add(group(long)), await add(group(long))];
      const theirs = { name: 'x', categoryId: 1 };
      await database.write(tx => createPet(tx, stranger.accountId, { ...theirs, ...group('1') }, 'open'));
      await database.write(tx => createPet(tx, stranger.accountId, { ...theirs, ...group(long) }, 'open'));
      const transfer = (most: number) =>
        database.write(tx => transferPets(tx, owner.accountId, stranger.accountId, most));
      assert.equal(await transfer(1), 2);
      const groupOf = async (id: number) => {
        const { accountId, groupId } = await getPet(database, id, now());
        return [accountId, groupId];
      };
      assert.deepEqual([await groupOf(one), await groupOf(other)], Array(2).fill([stranger.accountId, `1 (${one})`]));
      const { data } = (await eventsOf<PetEventData>(database, 'pet', other)).at(-1)!;
      assert.deepEqual([data.was, data.pet.group], [group('1'), { id: `1 (${one})`, kind: 'bonded' }]);
      assert.equal(await transfer(100), 3);
      const [, renamed] = await groupOf(third);
      assert.equal(renamed, `${'🐶'.repeat(96)} (${third})`);
      assert.deepEqual(await groupOf(fourth), [stranger.accountId, renamed]);
      await assertSound();
    });

    it('merges no bonded groups, also where their new ids are taken', async () => {
      const { database, now, add, assertSound } = await openOrderStore(engine, 0);
      const group = (id: string) => ({ group: { id, kind: 'bonded' as const } });
      const addTheirs = (id: string) =>
        database.write(tx => createPet(tx, stranger.accountId, { name: 'x', categoryId: 1, ...group(id) }, 'open'));
      const [one, two, three, four] = [
        await add(group('pair')),
        await add(group('pair')),
        await add(group('pair (1)')),
        await add(group('other')),
      ];
      for (const id of ['pair', 'other', 'other (4)', 'other (4-2)']) await addTheirs(id);
      await database.write(tx => transferPets(tx, owner.accountId, stranger.accountId, 100));
      const groupOf = async (id: number) => (await getPet(database, id, now())).groupId;
      assert.deepEqual(await Promise.all([one, two, three, four].map(groupOf)), [
        ...['pair (1-2)', 'pair (1-2)', 'pair (1)', 'other (4-3)'],
      ]);
      await assertSound();
    });

    it('skips the version that readers see once a reservation expires', async () => {
      const { database, clock, now, place } = await openOrderStore(engine, 1);
      await place(1, { by: placer });
      const reserved = await getPet(database, 1, now());
      await database.write(tx => transferPets(tx, owner.accountId, stranger.accountId, 100));
      assert.equal((await getPet(database, 1, now())).version, reserved.version + 2);
      clock.advance(8 * DAY);
      assert.equal((await getPet(database, 1, now())).status, 'available');
      // An expired reservation ends with the next transfer.
      await database.write(tx => transferPets(tx, stranger.accountId, owner.accountId, 100));
      const events = await eventsOf<PetEventData>(database, 'pet', 1);
      assert.deepEqual(
        events.slice(-2).map(({ data }) => data.reason),
        ['order_expired', 'transferred'],
      );
    });
  });
});
