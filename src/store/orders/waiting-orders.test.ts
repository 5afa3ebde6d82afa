import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { DAY, openOrderStore, owner, stranger } from '../../../test/support/order-store.ts';
import { countWaitingOrders } from './waiting-orders.ts';

describe('countWaitingOrders', () => {
  onEachEngine(engine => {
    it('counts the orders to approve and to hand over, up to a maximum', async () => {
      const store = await openOrderStore(engine, 5);
      const { database, now, clock } = store;
      for (const pet of [1, 2, 3, 4, 5]) await store.place(pet);
      for (const order of [1, 2]) await store.approve(order);
      await store.deliver(2);
      await store.cancel(3);
      const counted = (max: number, accountId = owner.accountId) => countWaitingOrders(database, accountId, now(), max);
      assert.deepEqual(await counted(10), { toApprove: 2, toHandOver: 1 });
      assert.deepEqual(await counted(1), { toApprove: 1, toHandOver: 1 });
      assert.deepEqual(await counted(10, stranger.accountId), { toApprove: 0, toHandOver: 0 });
      clock.advance(7 * DAY);
      assert.deepEqual(await counted(10), { toApprove: 0, toHandOver: 1 }, 'placed orders expire');
    });
  });
});
