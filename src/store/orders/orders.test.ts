import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { admin, DAY, openOrderStore, owner, placer, START, stranger } from '../../../test/support/order-store.ts';
import { etagOf } from '../../lib/etag.ts';
import { operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import type { Transaction } from '../../model/schema.ts';
import { getHold, releaseHold } from '../holds/holds.ts';
import type { PetEventData } from '../pets/change.ts';
import { updatePet } from '../pets/pets.ts';
import type { OrderEventData } from './events.ts';
import { getOrder, placeOrder } from './orders.ts';
import { orderOf } from './rows.ts';

onEachEngine(engine => {
  describe('placeOrder', () => {
    it('orders an animal, which is then pending', async () => {
      const store = await openOrderStore(engine);
      const shipDate = '2026-11-24T10:00:00+01:00';
      const order = await store.place(1, { shipDate, note: 'We come\nin the morning.', quantity: 1 });
      assert.deepEqual(order, {
        id: 1,
        petId: 1,
        petIds: null,
        accountId: placer.accountId,
        ownerId: owner.accountId,
        holdId: null,
        status: 'placed',
        quantity: 1,
        shipDate: Date.parse(shipDate),
        note: 'We come\nin the morning.',
        priceAmount: null,
        priceCurrency: null,
        expiresAt: START + 7 * DAY,
        createdAt: START,
        updatedAt: START,
        version: 1,
        steps: {},
      });
      assert.deepEqual(await store.order(1), order);
      assert.equal(etagOf(order), '"1.1"');
      assert.deepEqual(orderOf(order, placer), {
        id: 1,
        petId: 1,
        quantity: 1,
        shipDate: '2026-11-24T09:00:00.000Z',
        status: 'placed',
        complete: false,
        note: 'We come\nin the morning.',
        accountId: placer.accountId,
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:00.000Z',
        expiresAt: '2026-11-28T12:00:00.000Z',
      });
      assert.equal(await store.petStatus(1), 'pending');
      await store.assertSound();
    });

    it('keeps the price at the time of the order', async () => {
      const store = await openOrderStore(engine, 0);
      const petId = await store.add({ price: { amount: 12_500, currency: 'EUR' } });
      const { id } = await store.place(petId);
      await store.database.write(tx => updatePet(tx, owner, petId, { price: { amount: 1, currency: 'USD' } }, 'open'));
      assert.deepEqual(orderOf(await store.order(id), owner).price, { amount: 12_500, currency: 'EUR' });
      const free = await store.add({ price: { amount: 0, currency: 'EUR' } });
      assert.deepEqual(orderOf(await store.place(free), owner).price, { amount: 0, currency: 'EUR' });
    });

    it('records the order and the change of its animal', async () => {
      const store = await openOrderStore(engine);
      await store.place(2);
      const [placed, ...rest] = await eventsOf<OrderEventData>(store.database, 'order', 1);
      assert.deepEqual(rest, []);
      assert.deepEqual([placed!.action, placed!.accountId, placed!.at], ['placed', placer.accountId, START]);
      assert.deepEqual(placed!.data, {
        order: {
          petId: 2,
          accountId: placer.accountId,
          status: 'placed',
          quantity: 1,
          expiresAt: '2026-11-28T12:00:00.000Z',
        },
        ownerId: 1,
      });
      const { data, accountId } = (await eventsOf<PetEventData>(store.database, 'pet', 2)).at(-1)!;
      assert.equal(accountId, placer.accountId);
      assert.deepEqual([data.reason, data.orderId, data.was], ['order_placed', 1, { status: 'available' }]);
    });

    it('rejects an animal that is missing, sold or set aside', async () => {
      const store = await openOrderStore(engine, 0);
      await assert.rejects(store.place(1), { code: 'pet_not_found', status: 404 });
      const sold = await store.add({ status: 'sold' });
      await assert.rejects(store.place(sold), { code: 'invalid_status_transition', status: 409 });
      const aside = await store.add({ status: 'pending' });
      await assert.rejects(store.place(aside), { code: 'invalid_status_transition', status: 409 });
      await assert.rejects(store.order(1), { code: 'order_not_found' });
      await store.assertSound();
    });

    it('reports until when another account’s reservation lasts', async () => {
      const store = await openOrderStore(engine);
      await store.place(1);
      store.clock.advance(1);
      await assert.rejects(store.place(1, { by: stranger }), {
        code: 'pet_reserved',
        status: 409,
        message: 'Animal 1 is ordered until 2026-11-28T12:00:00.000Z; it may be available then.',
        headers: ['Retry-After', String((7 * DAY) / 1000)],
      });
      await store.approve(1);
      await assert.rejects(store.place(1, { by: stranger }), {
        code: 'pet_reserved',
        message: 'Animal 1 is ordered; when it will be available is not known.',
        headers: [],
      });
      await store.hold([2], stranger);
      await assert.rejects(store.place(2), {
        code: 'pet_reserved',
        message: 'Animal 2 is on hold until 2026-11-21T12:15:00.001Z; it may be available then.',
        headers: ['Retry-After', '900'],
      });
    });

    it('explains how to order an animal from one’s own hold', async () => {
      const store = await openOrderStore(engine);
      const holdId = await store.hold([1]);
      await assert.rejects(store.place(1), {
        code: 'pet_reserved',
        message: `Animal 1 is on hold for you: send "holdId": ${holdId} with the order.`,
        headers: ['Retry-After', '900'],
      });
    });

    it('orders the animals of a hold one by one; the last one ends the hold', async () => {
      const store = await openOrderStore(engine);
      const holdId = await store.hold([1, 2]);
      const first = await store.place(2, { holdId });
      assert.equal(orderOf(first, placer).holdId, holdId);
      const after = await getHold(store.database, placer, holdId, store.now());
      assert.equal(after.status, 'active');
      await store.assertSound();
      await assert.rejects(store.place(1, { by: stranger }), { code: 'pet_reserved' });

      store.clock.advance(5);
      await store.place(1, { holdId });
      const used = await getHold(store.database, placer, holdId, store.now());
      assert.deepEqual([used.status, used.endedAt], ['used', START + 5]);
      assert.deepEqual([await store.petStatus(1), await store.petStatus(2)], ['pending', 'pending']);
      await store.assertSound();
      // The expiry of the hold does not end the orders.
      store.clock.advance(DAY);
      assert.equal(await store.petStatus(1), 'pending');
      const { data } = (await eventsOf<PetEventData>(store.database, 'pet', 1)).at(-1)!;
      assert.deepEqual([data.reason, data.orderId, data.holdId, data.was], ['order_placed', 2, holdId, {}]);
    });

    it('rejects a hold of another account, one that has ended and one without the animal', async () => {
      const store = await openOrderStore(engine);
      const theirs = await store.hold([1], stranger);
      await assert.rejects(store.place(1, { holdId: theirs }), { code: 'hold_not_found', status: 404 });
      // Even the owner of the animal or an admin cannot order from another account’s hold.
      for (const by of [owner, admin]) {
        await assert.rejects(store.place(1, { holdId: theirs, by }), { code: 'hold_not_found' });
      }
      await assert.rejects(store.place(1, { holdId: 99 }), { code: 'hold_not_found' });
      const released = await store.hold([2]);
      await store.database.write(tx => releaseHold(tx, placer, released));
      await assert.rejects(store.place(2, { holdId: released }), { code: 'hold_ended', status: 409 });
      const active = await store.hold([3]);
      await assert.rejects(store.place(4, { holdId: active }), {
        code: 'hold_ended',
        message: `Hold ${active} does not hold animal 4, or no longer does.`,
      });
      await store.place(3, { holdId: active });
      await assert.rejects(store.place(3, { holdId: active }), { code: 'hold_ended' });
      const short = await store.hold([4]);
      store.clock.advance(15 * 60 * 1000 - 1);
      await store.assertSound();
      store.clock.advance(1);
      await assert.rejects(store.place(4, { holdId: short }), { code: 'hold_ended' });
      assert.equal(await store.petStatus(4), 'available');
      await store.place(4);
      await store.assertSound();
    });

    it('accepts a new order from the millisecond of the expiry, before or after the job', async () => {
      const store = await openOrderStore(engine);
      await store.place(1);
      store.clock.advance(APPROVAL_PERIOD_MS - 1);
      await assert.rejects(store.place(1, { by: stranger }), { code: 'pet_reserved', headers: ['Retry-After', '1'] });
      assert.equal((await store.order(1)).status, 'placed');
      store.clock.advance(1);
      const expired = await store.order(1);
      assert.deepEqual(
        [expired.status, expired.version, expired.updatedAt, expired.expiresAt],
        ['expired', 2, START + APPROVAL_PERIOD_MS, START + APPROVAL_PERIOD_MS],
      );
      assert.equal(await store.petStatus(1), 'available');
      await store.assertSound();
      const next = await store.place(1, { by: stranger });
      assert.equal((await store.order(next.id)).status, 'placed');
      assert.equal((await store.order(1)).status, 'expired');
      await store.assertSound();
    });

    it('accepts one of 64 concurrent orders', async () => {
      const store = await openOrderStore(engine);
      for (const petId of [1, 2]) {
        const tries = Array.from({ length: 64 }, (_, index) =>
          store.place(petId, { by: { accountId: 100 + index, admin: false } }).then(
            ({ id }) => id,
            error => error.code,
          ),
        );
        const results = await Promise.all(tries);
        assert.equal(results.filter(result => typeof result === 'number').length, 1);
        assert.equal(results.filter(result => result === 'pet_reserved').length, 63);
      }
      await store.assertSound();
    });

    it('ends a hold whose animals are ordered concurrently', async () => {
      const store = await openOrderStore(engine, 12);
      for (let first = 1; first <= 12; first += 4) {
        const petIds = [first, first + 1, first + 2, first + 3];
        const holdId = await store.hold(petIds);
        await Promise.all(petIds.map(petId => store.place(petId, { holdId })));
        assert.equal((await getHold(store.database, placer, holdId, store.now())).status, 'used');
      }
      await store.assertSound();
    });

    it('runs one statement per change and one read', async () => {
      const store = await openOrderStore(engine);
      let statements = 0;
      const count = <T>(answer: T) => {
        statements++;
        return answer;
      };
      const counting = (tx: Transaction): Transaction => ({
        engine: tx.engine,
        now: tx.now,
        origin: tx.origin,
        refreshNow: after => tx.refreshNow(after),
        requireVisibleBefore: (end, late) => tx.requireVisibleBefore(end, late),
        all: (...asked) => count(tx.all(...asked)),
        first: (...asked) => count(tx.first(...asked)),
        run: (...asked) => count(tx.run(...asked)),
        queue: (...asked) => count(tx.queue(...asked)),
        newId: tx.newId,
        insert: (...asked) => count(tx.insert(...asked)),
        increment: (...counter) => tx.increment(...counter),
        incrementAndGet: (...counter) => tx.incrementAndGet(...counter),
        notify: topic => tx.notify(topic),
      });
      await store.database.write(tx => {
        statements = 0;
        return placeOrder(counting(tx), placer, { petId: 1 });
      });
      // Reads the pet; writes order, reservation, pet and two events. The counters are written before the commit; on
      // PostgreSQL, one more statement counts the open orders.
      assert.equal(statements, 6);
    });
  });

  describe('getOrder', () => {
    it('returns an order to its placer, the owner of the animal, admins and the operator only', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      for (const actor of [placer, owner, admin, operator]) assert.equal((await store.order(id, actor)).id, id);
      const refused = { code: 'order_not_found', status: 404, message: `There is no order ${id}.` };
      await assert.rejects(store.order(id, stranger), refused);
      await assert.rejects(store.order(id, { accountId: null, admin: false }), refused);
      await assert.rejects(store.order(id + 1, admin), { code: 'order_not_found' });
      await assert.rejects(getOrder(store.database, admin, Number.MAX_SAFE_INTEGER, 0), { code: 'order_not_found' });
    });

    it('shows the account of a step to the owner, to that account and to admins', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      await store.approve(id, admin);
      await store.cancel(id, placer);
      const order = await store.order(id);
      const seen = (actor: Parameters<typeof orderOf>[1]) => {
        const { accountId, approval, cancellation } = orderOf(order, actor);
        return [accountId, approval!.accountId, cancellation!.accountId];
      };
      for (const actor of [owner, admin, operator]) assert.deepEqual(seen(actor), [2, 4, 2]);
      assert.deepEqual(seen(placer), [2, undefined, 2]);
    });
  });
});
