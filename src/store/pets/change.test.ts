import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { NewPet } from '../../model/pet.ts';
import type { Database } from '../../model/schema.ts';
import { changePet, type PetCause, type PetChange, type PetEventData } from './change.ts';
import { countByStatus, countPets } from './counts.ts';
import { lockPet } from './lock.ts';
import { createPet, getPet } from './pets.ts';

const START = Date.parse('2026-11-21T12:00:00Z');

onEachEngine(engine => {
  describe('changePet', () => {
    const add = (database: Database, pet: Partial<NewPet> = {}) =>
      database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2, ...pet }, 'open'));
    const change = (database: Database, id: number, wanted: PetChange, cause: PetCause = { accountId: 1 }) =>
      database.write(async tx => changePet(tx, await lockPet(tx, id), wanted, cause));
    const lastEvent = async (database: Database, id: number) =>
      (await eventsOf<PetEventData>(database, 'pet', id)).at(-1)!;

    it('changes the given columns, with a new version and an event that has the previous values', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const { id } = await add(database, { statusReason: 'new', price: { amount: 100, currency: 'EUR' } });
      clock.advance(1234);
      const returned = await change(database, id, {
        name: 'y',
        priceAmount: 50,
        priceCurrency: 'USD',
        statusReason: null,
      });
      const pet = await getPet(database, id, clock.now());
      assert.deepEqual(returned, { ...pet, reservation: undefined, reservedUntil: null });
      assert.partialDeepStrictEqual(pet, {
        id,
        name: 'y',
        categoryId: 2,
        status: 'available',
        statusReason: null,
        priceAmount: 50,
        priceCurrency: 'USD',
        accountId: 1,
        createdAt: START,
        updatedAt: START + 1234,
        version: 2,
      });
      const event = await lastEvent(database, id);
      assert.deepEqual([event.kind, event.action, event.accountId, event.at], ['pet', 'updated', 1, START + 1234]);
      assert.deepEqual(event.data, {
        pet: { name: 'y', categoryId: 2, status: 'available', price: { amount: 50, currency: 'USD' } },
        was: { name: 'x', statusReason: 'new', price: { amount: 100, currency: 'EUR' } },
        ownerId: 1,
      });
    });

    it('records null for a previous absence, and leaves out a deleted value', async () => {
      const database = await engine.open();
      const { id } = await add(database);
      await change(database, id, { statusReason: 'medical', priceAmount: 0, priceCurrency: 'EUR' });
      assert.deepEqual((await lastEvent(database, id)).data.was, { statusReason: null, price: null });
      await change(database, id, { statusReason: null, priceAmount: null, priceCurrency: null });
      assert.deepEqual((await lastEvent(database, id)).data, {
        pet: { name: 'x', categoryId: 2, status: 'available' },
        was: { statusReason: 'medical', price: { amount: 0, currency: 'EUR' } },
        ownerId: 1,
      });
    });

    it('does nothing if nothing changes, unless a hold or an order is the cause', async () => {
      const database = await engine.open();
      const { id } = await add(database, { statusReason: 'new' });
      for (const nothing of [{}, { name: 'x' }, { status: 'available' as const, categoryId: 2 }]) {
        assert.equal((await change(database, id, nothing)).version, 1);
      }
      assert.equal((await eventsOf(database, 'pet', id)).length, 1);
      assert.equal((await getPet(database, id, 0)).version, 1);
      await change(database, id, {}, { accountId: null, reason: 'order_placed', orderId: 4 });
      assert.equal((await getPet(database, id, 0)).version, 2);
      assert.deepEqual((await lastEvent(database, id)).data.was, {});
    });

    it('clears the reason on a new status, unless a new reason is given', async () => {
      const database = await engine.open();
      const { id } = await add(database, { statusReason: 'new' });
      assert.equal((await change(database, id, { status: 'available', name: 'y' })).statusReason, 'new');
      assert.equal((await change(database, id, { status: 'pending' })).statusReason, null);
      assert.equal((await change(database, id, { status: 'sold', statusReason: 'adopted' })).statusReason, 'adopted');
      assert.equal((await change(database, id, { status: 'available', statusReason: null })).statusReason, null);
      assert.deepEqual((await lastEvent(database, id)).data.was, { status: 'sold', statusReason: 'adopted' });
    });

    it('moves the counts with the pet', async () => {
      const database = await engine.open();
      const { id } = await add(database);
      await add(database);
      await database.write(tx => createPet(tx, 1, { name: 'other', categoryId: 5 }, 'open'));
      await change(database, id, { status: 'sold', categoryId: 5 });
      assert.deepEqual(await countByStatus(database, 0), { available: 2, pending: 0, sold: 1 });
      assert.equal(await countPets(database, { categoryId: [2] }, 0), 1);
      assert.equal(await countPets(database, { categoryId: [5] }, 0), 2);
      assert.equal(await countPets(database, { categoryId: [2, 5, 77] }, 0), 3);
      assert.equal(await countPets(database, {}, 0), 3);
    });

    it('counts concurrent changes correctly, each seeing the one before', async () => {
      const location = await engine.newLocation();
      const database = await engine.open({ location });
      const other = engine.name === 'postgres' ? await engine.open({ location }) : database;
      const pets = await Promise.all(Array.from({ length: 6 }, () => add(database)));
      const statuses = ['available', 'pending', 'sold'] as const;
      await Promise.all(
        Array.from({ length: 90 }, (_, index) =>
          change(index % 2 ? database : other, pets[index % pets.length]!.id, {
            name: `name ${index}`,
            status: statuses[Math.floor(index / 6) % 3]!,
            categoryId: 1 + (index % 4),
          }),
        ),
      );
      const now = await Promise.all(pets.map(({ id }) => getPet(database, id, 0)));
      assert.deepEqual(
        now.map(({ version }) => version),
        pets.map(() => 16),
      );
      const counts = await countByStatus(database, 0);
      for (const status of statuses) assert.equal(counts[status], now.filter(pet => pet.status === status).length);
      for (let categoryId = 1; categoryId <= 4; categoryId++) {
        const expected = now.filter(pet => pet.categoryId === categoryId).length;
        assert.equal(await countPets(database, { categoryId: [categoryId] }, 0), expected);
      }
      for (const { id, name } of now) {
        const events = await eventsOf<PetEventData>(database, 'pet', id);
        assert.equal(events.at(-1)!.data.pet.name, name);
        for (const [index, { data }] of events.entries()) {
          if (index > 0) assert.equal(data.was!.name, events[index - 1]!.data.pet.name);
        }
      }
    });
  });
});
