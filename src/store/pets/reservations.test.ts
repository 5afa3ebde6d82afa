import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { type TestClock, testClock } from '../../lib/clock.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { PetStatus } from '../../model/pet.ts';
import { type Database, type Params, query, type Transaction } from '../../model/schema.ts';
import type { LockedPet, PetEventData } from './change.ts';
import { countByStatus } from './counts.ts';
import { lockPet, lockPets } from './lock.ts';
import { createPet, getPet } from './pets.ts';
import { changeExpiry, convertHold, endReservation, nextExpiry, reservationOf, reserve } from './reservations.ts';

const START = Date.parse('2026-11-21T12:00:00Z');

onEachEngine(engine => {
  describe('reserve', () => {
    it('makes an available pet pending, counts it so, and records the cause', async () => {
      const { database, add, take } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1000 });
      const pet = await getPet(database, id, START);
      assert.deepEqual([pet.status, pet.version, pet.updatedAt], ['pending', 2, START]);
      assert.deepEqual(await reservationOf(database, id), { holdId: 1, orderId: null, until: START + 1000 });
      assert.deepEqual(await countByStatus(database, START), { available: 0, pending: 1, sold: 0 });
      const event = (await eventsOf<PetEventData>(database, 'pet', id)).at(-1)!;
      assert.deepEqual([event.action, event.accountId], ['updated', 7]);
      assert.deepEqual(event.data, {
        pet: { name: 'x', categoryId: 2, status: 'pending' },
        was: { status: 'available' },
        reason: 'held',
        holdId: 1,
        ownerId: 1,
      });
    });

    it('rejects a reserved pet, and says until when', async () => {
      const { add, take, clock } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1500 });
      for (const [ms, retryAfter] of [
        [0, '2'],
        [500, '1'],
        [999, '1'],
      ] as const) {
        clock.advance(ms);
        await assert.rejects(take(id, { until: null }), {
          code: 'pet_reserved',
          status: 409,
          message: `Animal ${id} is on hold until 2026-11-21T12:00:01.500Z; it may be available then.`,
          headers: ['Retry-After', retryAfter],
        });
      }
      const other = await add();
      await take(other, { until: null, order: true });
      await assert.rejects(take(other, { until: null }), {
        code: 'pet_reserved',
        message: `Animal ${other} is ordered; when it will be available is not known.`,
        headers: [],
      });
    });

    it('reserves a pet from the millisecond its reservation expires, not before', async () => {
      for (const order of [false, true]) {
        const { database, add, take, clock } = await open(engine);
        const id = await add();
        await take(id, { until: START + 1000, order });
        clock.advance(999);
        await assert.rejects(take(id, { until: START + 9000 }), { code: 'pet_reserved' });
        assert.equal((await getPet(database, id, clock.now())).status, 'pending');
        clock.advance(1);
        assert.equal((await getPet(database, id, clock.now())).status, 'available');
        await take(id, { until: START + 9000 });
        const pet = await getPet(database, id, clock.now());
        assert.deepEqual([pet.status, pet.version, pet.updatedAt], ['pending', 4, START + 1000]);
        const [, , expired, held] = await eventsOf<PetEventData>(database, 'pet', id);
        assert.deepEqual(expired!.data, {
          pet: { name: 'x', categoryId: 2, status: 'available' },
          was: { status: 'pending' },
          reason: order ? 'order_expired' : 'hold_expired',
          ...(order ? { orderId: 1 } : { holdId: 1 }),
          at: START + 1000,
          ownerId: 1,
        });
        assert.equal(expired!.accountId, null);
        assert.equal(held!.data.reason, 'held');
        assert.deepEqual(await countByStatus(database, clock.now()), { available: 0, pending: 1, sold: 0 });
      }
    });

    it('rejects a pet that is sold or set aside', async () => {
      const { add, take } = await open(engine);
      const sold = await add('sold');
      const aside = await add('pending');
      await assert.rejects(take(sold, { until: null }), {
        code: 'invalid_status_transition',
        status: 409,
        message: `Animal ${sold} is sold.`,
      });
      await assert.rejects(take(aside, { until: null }), { code: 'invalid_status_transition', message: /set aside/ });
    });

    it('is rejected by the unique index if the process has missed a reservation', async () => {
      const { database, add, take } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1000 });
      const believing = database.write(async tx => {
        const pet = await lockPet(tx, id);
        const free: LockedPet = { ...pet, status: 'available', reservation: undefined };
        await reserve(tx, free, { holdId: await anyHold(tx), until: null }, 8);
      });
      await assert.rejects(believing, { code: 'pet_reserved', message: /until 2026-11-21T12:00:01.000Z/ });
      await assert.rejects(
        database.write(async tx => tx.run(insertSecond, { petId: id, holdId: await anyHold(tx) })),
        /unique/i,
      );
      assert.deepEqual(await countByStatus(database, START), { available: 0, pending: 1, sold: 0 });
    });

    it('lets one of many concurrent attempts succeed, and tells the others', async () => {
      const { databases, add, take } = await open(engine);
      for (let round = 0; round < 5; round++) {
        const id = await add();
        const tries = Array.from({ length: 20 }, (_, index) =>
          take(id, { until: START + 5000, order: index % 2 === 0 }, databases[index % databases.length]),
        );
        const outcomes = await Promise.allSettled(tries);
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'pet_reserved', outcome.reason);
        }
      }
    });
  });

  describe('convertHold', () => {
    it('replaces a hold by an order while the pet stays pending', async () => {
      const { database, add, take } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1000 });
      await database.write(async tx => {
        const order = { orderId: await anyOrder(tx, id), until: START + 5000 };
        const pet = await convertHold(tx, await lockPet(tx, id), order, 7);
        assert.deepEqual(pet.reservation, { holdId: null, ...order });
      });
      assert.deepEqual(await reservationOf(database, id), { holdId: null, orderId: 1, until: START + 5000 });
      assert.equal((await getPet(database, id, START + 4999)).status, 'pending');
      assert.equal((await getPet(database, id, START + 5000)).status, 'available');
      const event = (await eventsOf<PetEventData>(database, 'pet', id)).at(-1)!;
      assert.deepEqual(event.data, {
        pet: { name: 'x', categoryId: 2, status: 'pending' },
        was: {},
        reason: 'order_placed',
        orderId: 1,
        holdId: 1,
        ownerId: 1,
      });
      assert.equal((await getPet(database, id, START)).version, 4);
    });
  });

  describe('endReservation', () => {
    it('sets the status, and allows new reservations', async () => {
      const { database, add, take } = await open(engine);
      for (const status of ['available', 'sold', 'pending'] as const) {
        const id = await add();
        await take(id, { until: START + 1000 });
        await database.write(async tx => {
          const cause = { accountId: 7, reason: 'hold_released', holdId: 1 } as const;
          const pet = await endReservation(tx, await lockPet(tx, id), status, cause);
          assert.equal(pet.reservation, undefined);
        });
        assert.equal(await reservationOf(database, id), undefined);
        assert.equal((await getPet(database, id, START + 9000)).status, status);
        if (status === 'available') await take(id, { until: null });
      }
      assert.deepEqual(await countByStatus(database, START + 9000), { available: 0, pending: 2, sold: 1 });
    });
  });

  describe('changeExpiry', () => {
    it('changes the expiry, also to none', async () => {
      const { database, add, take, clock } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1000 });
      await database.write(tx => changeExpiry(tx, id, START + 3000));
      clock.advance(2999);
      assert.equal((await getPet(database, id, clock.now())).status, 'pending');
      await assert.rejects(take(id, { until: null }), { code: 'pet_reserved', message: /12:00:03.000Z/ });
      await database.write(tx => changeExpiry(tx, id, null));
      clock.advance(1_000_000_000);
      assert.equal((await getPet(database, id, clock.now())).status, 'pending');
      await assert.rejects(take(id, { until: null }), { code: 'pet_reserved', message: /not known/ });
    });
  });

  describe('nextExpiry', () => {
    it('returns the next expiry, and none that has passed', async () => {
      const { database, add, take } = await open(engine);
      assert.equal(await nextExpiry(database, START), undefined);
      for (const until of [START + 3000, START + 1000, null]) await take(await add(), { until });
      assert.equal(await nextExpiry(database, START), START + 1000);
      assert.equal(await nextExpiry(database, START + 999), START + 1000);
      assert.equal(await nextExpiry(database, START + 1000), START + 3000);
      assert.equal(await nextExpiry(database, START + 3000), undefined);
    });
  });

  describe('lockPets', () => {
    it('locks in the order of ids, each once, and leaves out unknown ids', async () => {
      const { database, add } = await open(engine);
      for (let index = 0; index < 3; index++) await add();
      const ids = await database.write(async tx => (await lockPets(tx, [3, 1, 99, 3, 2])).map(({ id }) => id));
      assert.deepEqual(ids, [1, 2, 3]);
      await assert.rejects(
        database.write(tx => lockPet(tx, 99)),
        { code: 'pet_not_found', status: 404 },
      );
    });

    it('ends an expired reservation in the first transaction that locks the pet', async () => {
      const { database, add, take, clock } = await open(engine);
      const id = await add();
      await take(id, { until: START + 1000 });
      clock.advance(5000);
      const [pet] = await database.write(tx => lockPets(tx, [id]));
      assert.deepEqual(
        [pet!.status, pet!.version, pet!.updatedAt, pet!.reservation],
        ['available', 3, START + 1000, undefined],
      );
      assert.deepEqual(await database.first(wholePet, { id }), {
        status: 'available',
        version: 3,
        reserved_until: null,
      });
      await database.write(tx => lockPets(tx, [id]));
      assert.equal((await eventsOf(database, 'pet', id)).length, 3);
    });
  });
});

/** Opens a store whose clock does not advance; on PostgreSQL with a second node. */
async function open(engine: Engine) {
  const clock: TestClock = testClock(START);
  const location = await engine.newLocation();
  const database = await engine.open({ location, clock });
  const databases = [database];
  if (engine.name === 'postgres') databases.push(await engine.open({ location, clock }));
  return {
    clock,
    database,
    databases,
    add: async (status: PetStatus = 'available') =>
      (await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2, status }, 'open'))).id,
    /** Reserves an animal for a new hold or order of account 7. */
    take: (id: number, what: { until: number | null; order?: boolean }, on: Database = database) =>
      on.write(async tx => {
        const pet = await lockPet(tx, id);
        const { until } = what;
        const kept = what.order ? { orderId: await anyOrder(tx, id), until } : { holdId: await anyHold(tx), until };
        return reserve(tx, pet, kept, 7);
      }),
  };
}

async function anyHold(tx: Transaction): Promise<number> {
  return (await tx.first(insertHold, { now: tx.now }))!.id;
}

async function anyOrder(tx: Transaction, petId: number): Promise<number> {
  return (await tx.first(insertOrder, { petId, now: tx.now }))!.id;
}

const insertHold = query((db, p: Params<{ now: number }>) =>
  db
    .insertInto('holds')
    .values({ account_id: 7, expires_at: p.now, created_at: p.now, updated_at: p.now })
    .returning('id'),
);

const insertOrder = query((db, p: Params<{ petId: number; now: number }>) =>
  db
    .insertInto('orders')
    .values({
      pet_id: p.petId,
      account_id: 7,
      owner_id: 1,
      status: 'placed',
      quantity: 1,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);

const insertSecond = query((db, p: Params<{ petId: number; holdId: number }>) =>
  db.insertInto('reservations').values({ pet_id: p.petId, owner_id: 1, hold_id: p.holdId, active: 1 }),
);

const wholePet = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select(['status', 'version', 'reserved_until']).where('id', '=', p.id),
);
