import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sweeps } from '../../../test/model/sweeps.ts';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { type OrderStore, openOrderStore, owner, placer, stranger } from '../../../test/support/order-store.ts';
import { Problem } from '../../lib/http/problem.ts';
import { eventsOf } from '../../model/log/log.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import type { Database } from '../../model/schema.ts';
import { checks } from '../../operate/verify/checks.ts';
import { createHold, getHold, releaseHold } from '../holds/holds.ts';
import type { PetEventData } from '../pets/change.ts';
import { listPets } from '../pets/list.ts';
import { updatePet } from '../pets/pets.ts';
import { listOrders } from './list.ts';
import { placeOrder } from './orders.ts';
import { orderOf } from './rows.ts';

const group = { id: 'Minka and Moritz', kind: 'bonded' } as const;

/** Opens a store in which animals 1 and 3 are bonded, and 2 and 4 are not. */
async function openBonded(engine: Engine, prices: readonly [number, string][] = []): Promise<OrderStore> {
  const store = await openOrderStore(engine);
  for (const [index, id] of [1, 3].entries()) {
    const [amount, currency] = prices[index] ?? [];
    await change(store, id, { group, ...(amount && currency && { price: { amount, currency } }) });
  }
  return store;
}

const change = ({ database }: OrderStore, id: number, patch: object) =>
  database.write(tx => updatePet(tx, owner, id, patch, 'open'));

const problemOf = (code: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error));
  assert.equal(error.code, code);
  if (message !== undefined) assert.match(error.message, message);
  return true;
};

const statuses = async ({ petStatus }: OrderStore) => [await petStatus(1), await petStatus(3)];

onEachEngine(engine => {
  describe('bonded animals', () => {
    it('name each other in the full view, without those that are sold', async () => {
      const store = await openBonded(engine);
      const groups = async () => {
        const { rows } = await listPets(store.database, { sort: 'id' }, { limit: 10 }, store.now(), 'full');
        return rows.map(pet => pet.group?.petIds);
      };
      assert.deepEqual(await groups(), [[1, 3], undefined, [1, 3], undefined]);
      await change(store, 2, { group });
      await change(store, 4, { group: { ...group, kind: 'litter' } });
      assert.deepEqual(await groups(), [[1, 2, 3], [1, 2, 3], [1, 2, 3], undefined]);
      await change(store, 3, { status: 'sold' });
      assert.deepEqual(await groups(), [[1, 2], [1, 2], [1, 2, 3], undefined]);
    });

    it('cannot be held or ordered alone, and the error names the others', async () => {
      const store = await openBonded(engine);
      const named = problemOf('bonded_animals', /^Animal 3 is bonded with 1; .*"petIds": \[1, 3\]/);
      await assert.rejects(store.place(3), named);
      await assert.rejects(store.placeSeveral([3]), named);
      await assert.rejects(store.hold([3]), named);
      await assert.rejects(store.hold([2, 3]), problemOf('bonded_animals', /\[1, 2, 3\]/));
      assert.deepEqual(await statuses(store), ['available', 'available']);
      await change(store, 1, { status: 'sold' });
      assert.equal((await store.place(3)).petId, 3);
    });

    it('are not those of a litter, of another group or of another account', async () => {
      const store = await openBonded(engine);
      await change(store, 1, { group: { id: 'x', kind: 'litter' } });
      await change(store, 2, { group: { id: 'x', kind: 'litter' } });
      await store.place(1);
      await store.place(3);
      await assert.rejects(
        store.placeSeveral([2, 4]),
        problemOf('invalid_body', /^Invalid body. \/petIds: The animals 2, 4 /),
      );
    });

    it('are ordered together, at the sum of their prices', async () => {
      const store = await openBonded(engine, [
        [9000, 'EUR'],
        [500, 'EUR'],
      ]);
      const order = await store.placeSeveral([3, 1]);
      const shown = orderOf(order, placer);
      assert.deepEqual([shown.petId, shown.petIds, shown.quantity], [1, [1, 3], 2]);
      assert.deepEqual(shown.price, { amount: 9500, currency: 'EUR' });
      assert.deepEqual(await store.order(order.id), order);
      assert.deepEqual(await statuses(store), ['pending', 'pending']);
      for (const petId of [1, 3]) {
        const { rows } = await listOrders(store.database, placer, { petId }, { limit: 10 }, store.now());
        assert.deepEqual(
          rows.map(({ id }) => id),
          [order.id],
        );
        const event = (await eventsOf<PetEventData>(store.database, 'pet', petId)).at(-1)!;
        assert.deepEqual([event.data.reason, event.data.orderId], ['order_placed', order.id]);
      }
      await store.assertSound();
      await assertIntact(store);
    });

    it('need prices in one currency', async () => {
      const store = await openBonded(engine, [
        [9000, 'EUR'],
        [500, 'USD'],
      ]);
      await assert.rejects(store.placeSeveral([1, 3]), problemOf('invalid_body', /prices/));
      assert.deepEqual(await statuses(store), ['available', 'available']);
    });

    it('move together with every step of their order', async () => {
      const store = await openBonded(engine);
      const { id } = await store.placeSeveral([1, 3]);
      store.clock.advance(APPROVAL_PERIOD_MS / 2);
      await store.approve(id);
      store.clock.advance(APPROVAL_PERIOD_MS);
      assert.deepEqual(await statuses(store), ['pending', 'pending']);
      await store.deliver(id);
      assert.deepEqual(await statuses(store), ['sold', 'sold']);
      await store.takeBack(id, { ready: false });
      assert.deepEqual(await statuses(store), ['pending', 'pending']);
      for (const petId of [1, 3]) await change(store, petId, { status: 'available' });
      const again = await store.placeSeveral([1, 3]);
      await store.cancel(again.id);
      assert.deepEqual(await statuses(store), ['available', 'available']);
      await store.assertSound();
      await assertIntact(store);
    });

    it('stay sold after the return of an order if a later order of both was delivered', async () => {
      const store = await openBonded(engine);
      const first = await store.placeSeveral([1, 3]);
      await store.approve(first.id);
      await store.deliver(first.id);
      for (const petId of [1, 3]) await change(store, petId, { status: 'available' });
      const second = await store.placeSeveral([1, 3]);
      await store.approve(second.id);
      await store.deliver(second.id);
      await store.takeBack(first.id);
      assert.deepEqual(await statuses(store), ['sold', 'sold']);
    });

    it('are available together from the moment at which their order expires', async () => {
      const store = await openBonded(engine);
      const { id, expiresAt } = await store.placeSeveral([1, 3]);
      store.clock.advance(APPROVAL_PERIOD_MS - 1);
      assert.deepEqual(await statuses(store), ['pending', 'pending']);
      store.clock.advance(1);
      assert.deepEqual(await statuses(store), ['available', 'available']);
      await sweeps.orders(store.database, store.now());
      await sweeps.pets(store.database, store.now());
      assert.equal((await store.order(id)).status, 'expired');
      for (const petId of [1, 3]) {
        const { data } = (await eventsOf<PetEventData>(store.database, 'pet', petId)).at(-1)!;
        assert.deepEqual([data.reason, data.at, data.orderId], ['order_expired', expiresAt, id]);
      }
      await store.assertSound();
      await assertIntact(store);
    });

    it('are ordered from a hold together, which is used then', async () => {
      const store = await openBonded(engine);
      const holdId = await store.hold([1, 2, 3]);
      await assert.rejects(store.place(1, { holdId }), problemOf('bonded_animals'));
      await store.placeSeveral([1, 3], { holdId });
      await store.place(2, { holdId });
      assert.equal((await getHold(store.database, placer, holdId, store.now())).status, 'used');
      await store.assertSound();
    });

    it('are ordered from a hold on some of them, if the others are free', async () => {
      const store = await openOrderStore(engine);
      const holdId = await store.hold([1, 2]);
      const other = await store.hold([4], stranger);
      for (const id of [1, 3, 4]) await change(store, id, { group });
      await assert.rejects(
        store.placeSeveral([1, 3, 4], { holdId }),
        problemOf('pet_reserved', /^Animal 4 is on hold/),
      );
      await store.database.write(tx => releaseHold(tx, stranger, other));
      await assert.rejects(store.placeSeveral([1, 3, 4]), problemOf('pet_reserved', /Animal 1 is on hold for you/));
      const order = await store.placeSeveral([1, 3, 4], { holdId });
      assert.deepEqual(orderOf(order, placer).petIds, [1, 3, 4]);
      const hold = await getHold(store.database, placer, holdId, store.now());
      assert.equal(hold.status, 'active');
      await store.cancel(order.id);
      await assert.rejects(
        store.placeSeveral([1, 3, 4], { holdId }),
        problemOf('hold_ended', /does not hold animal 1/),
      );
      await store.place(2, { holdId });
      await store.assertSound();
      await assertIntact(store);
    });

    it('are at most twenty, so that a hold can have them all', async () => {
      const store = await openBonded(engine);
      for (let index = 2; index < 20; index++) await store.add({ group });
      await assert.rejects(store.add({ group }), problemOf('invalid_body', /\/group\/id: The bonded group .* has 20/));
      await assert.rejects(change(store, 2, { group }), problemOf('invalid_body'));
      await change(store, 1, { group, name: 'Minka' });
      const all = [1, 3, ...Array.from({ length: 18 }, (_, index) => index + 5)];
      assert.deepEqual((await store.placeSeveral(all)).quantity, 20);
    });

    it('are never separated by concurrent holds and orders', async () => {
      const location = await engine.newLocation();
      const store = await openOrderStore(engine, 9, { location });
      const nodes = [store.database];
      if (engine.name === 'postgres') nodes.push(await engine.open({ location, clock: store.clock }));
      const trios = [1, 4, 7].map(first => [first, first + 1, first + 2]);
      for (const trio of trios) for (const id of trio) await change(store, id, { group: { ...group, id: `${trio}` } });
      for (let round = 0; round < (engine.name === 'sqlite' ? 20 : 6); round++) {
        const outcomes = await Promise.all(
          Array.from({ length: 40 }, (_, index) => attempt(nodes[index % nodes.length]!, index, trios)),
        );
        for (const outcome of outcomes) {
          if (typeof outcome === 'string')
            assert.ok(['bonded_animals', 'pet_reserved', 'invalid_body'].includes(outcome), outcome);
        }
        const won = outcomes.filter(outcome => typeof outcome !== 'string');
        const taken = won.flatMap(({ petIds }) => petIds);
        assert.equal(new Set(taken).size, taken.length);
        assert.equal(taken.length % 3, 0);
        for (const trio of trios) {
          const reserved = await Promise.all(trio.map(store.petStatus));
          assert.equal(new Set(reserved).size, 1, `${trio}: ${reserved}`);
          assert.equal(reserved[0], trio.some(id => taken.includes(id)) ? 'pending' : 'available');
        }
        await store.assertSound();
        store.clock.advance(APPROVAL_PERIOD_MS);
      }
      await sweeps.orders(store.database, store.now());
      await sweeps.holds(store.database, store.now());
      await assertIntact(store);
    });
  });
});

/** Asserts the invariants that `petstore verify` checks. */
async function assertIntact({ database, now }: OrderStore): Promise<void> {
  for (const { name, query } of checks) {
    assert.deepEqual(await database.all(query, { now: now(), limit: 20 }), [], name);
  }
}

/** Holds or orders some animals, in whole groups or not. Returns the animals, or the code of the error. */
async function attempt(node: Database, index: number, trios: readonly number[][]) {
  const actor = index % 2 === 0 ? placer : stranger;
  const [one, other] = [trios[index % 3]!, trios[(index + 1) % 3]!];
  // Groups in either order: if locks followed the order of the request, they could deadlock.
  const wanted = [[...other, ...one], one, one.toReversed(), one.slice(1), [one[0]!, other[0]!]][index % 5]!;
  try {
    if (index % 4 < 2) return await node.write(tx => createHold(tx, actor, { petIds: wanted }, 100));
    const { petIds } = orderOf(await node.write(tx => placeOrder(tx, actor, { petIds: wanted })), actor);
    return { petIds: petIds! };
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}
