import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sweeps } from '../../../test/model/sweeps.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { openOrderStore, placer, START, stranger } from '../../../test/support/order-store.ts';
import { eventsOf } from '../../model/log/log.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import { type Params, query } from '../../model/schema.ts';
import { expireReservations } from '../pets/expiry.ts';
import type { OrderEventData } from './events.ts';

onEachEngine(engine => {
  describe('expireOrders', () => {
    it('ends expired orders as of their expiry, without a change for readers', async () => {
      const store = await openOrderStore(engine, 3);
      await store.place(1);
      store.clock.advance(1);
      await store.place(2);
      await store.place(3);
      await store.approve(3);
      store.clock.advance(APPROVAL_PERIOD_MS);
      const before = [await store.order(1), await store.order(2), await store.order(3)];
      assert.deepEqual(
        before.map(({ status, updatedAt }) => [status, updatedAt - START]),
        [
          ['expired', APPROVAL_PERIOD_MS],
          ['expired', APPROVAL_PERIOD_MS + 1],
          ['approved', 1],
        ],
      );
      store.clock.advance(5000);
      await sweeps.orders(store.database, store.now());
      assert.deepEqual([await store.order(1), await store.order(2), await store.order(3)], before);
      assert.deepEqual(await store.database.all(stored, {}), [
        { status: 'expired', version: 2 },
        { status: 'expired', version: 2 },
        { status: 'approved', version: 3 },
      ]);
      await store.assertSound();
      const [, expired, ...rest] = await eventsOf<OrderEventData>(store.database, 'order', 1);
      assert.deepEqual(rest, []);
      assert.deepEqual([expired!.action, expired!.accountId, expired!.at], ['expired', null, store.now()]);
      const { order, was, at } = expired!.data;
      assert.deepEqual([order.status, was, at], ['expired', { status: 'placed' }, START + APPROVAL_PERIOD_MS]);
    });

    it('leaves orders alone until their expiry, to the millisecond', async () => {
      const store = await openOrderStore(engine, 1);
      await store.place(1);
      store.clock.advance(APPROVAL_PERIOD_MS - 1);
      await sweeps.orders(store.database, store.now());
      assert.deepEqual(await store.database.all(stored, {}), [{ status: 'placed', version: 1 }]);
      store.clock.advance(1);
      await sweeps.orders(store.database, store.now());
      assert.deepEqual(await store.database.all(stored, {}), [{ status: 'expired', version: 2 }]);
    });

    it('ends several batches, each order once, even in concurrent runs', async () => {
      const store = await openOrderStore(engine, 0);
      const pets = await Promise.all(Array.from({ length: 120 }, () => store.add()));
      const ids = (await Promise.all(pets.map(petId => store.place(petId)))).map(({ id }) => id);
      store.clock.advance(APPROVAL_PERIOD_MS);
      const again = pets.slice(0, 20);
      await Promise.all([
        sweeps.orders(store.database, store.now()),
        expireReservations(store.database, store.now()),
        ...again.map(petId => store.place(petId, { by: stranger })),
        sweeps.orders(store.database, store.now()),
        sweeps.orders(store.database, store.now()),
      ]);
      await sweeps.orders(store.database, store.now());
      await store.assertSound();
      for (const id of ids) {
        const said = (await eventsOf(store.database, 'order', id)).map(({ action }) => action);
        assert.deepEqual(said, ['placed', 'expired'], `order ${id}`);
      }
      const statuses = (await store.database.all(stored, {})).map(({ status }) => status);
      assert.equal(statuses.filter(status => status === 'placed').length, again.length);
      for (const petId of again) assert.equal(await store.petStatus(petId), 'pending');
    });

    it('ends orders whose animals have been deleted', async () => {
      const store = await openOrderStore(engine, 2);
      await store.place(1, { by: placer });
      store.clock.advance(APPROVAL_PERIOD_MS);
      await expireReservations(store.database, store.now());
      await store.database.write(tx => tx.run(removeAll, {}));
      await sweeps.orders(store.database, store.now());
      assert.deepEqual(await store.database.all(stored, {}), [{ status: 'expired', version: 2 }]);
    });
  });
});

const stored = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('orders').select(['status', 'version']).orderBy('id'),
);

const removeAll = query((db, _: Params<Record<never, never>>) => db.deleteFrom('pets'));
