import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { DAY, openOrderStore, owner, placer, stranger } from '../../test/support/order-store.ts';
import { Problem } from '../lib/http/problem.ts';
import { expireOrders } from './expiry.ts';
import { countOpen } from './open-orders.ts';
import { placeOrder } from './orders.ts';

onEachEngine(engine => {
  describe('the bound of open orders', () => {
    it('is exact for many concurrent orders', async () => {
      const { database, now } = await openOrderStore(engine, 50);
      const codes = await Promise.all(Array.from({ length: 50 }, (_, index) => place(index + 1, 20)));
      assert.equal(codes.filter(code => code === 'placed').length, 20);
      assert.equal(codes.filter(code => code === 'order_limit_exceeded').length, 30);
      assert.equal(await countOpen(database, placer.accountId, now()), 20);

      function place(petId: number, max: number) {
        return database.write(tx => placeOrder(tx, placer, { petId }, max)).then(() => 'placed', codeOf);
      }
    });

    it('counts each account for itself, until an order is delivered or cancelled', async () => {
      const store = await openOrderStore(engine);
      const first = await store.place(1);
      const second = await store.place(2);
      await store.place(3, { by: stranger });
      const open = () => countOpen(store.database, placer.accountId, store.now());
      await store.approve(first.id, owner);
      assert.equal(await open(), 2);
      await store.deliver(first.id, owner);
      assert.equal(await open(), 1);
      await store.takeBack(first.id);
      await store.cancel(second.id);
      assert.equal(await open(), 0);
      assert.equal(await countOpen(store.database, stranger.accountId, store.now()), 1);
    });

    it('frees the place of an order at its expiry, before and after that is recorded', async () => {
      const { database, clock, now, place } = await openOrderStore(engine);
      await place(1);
      const again = (petId: number) => database.write(tx => placeOrder(tx, placer, { petId }, 1));
      await assert.rejects(again(2), { code: 'order_limit_exceeded' });
      clock.advance(7 * DAY);
      assert.equal(await countOpen(database, placer.accountId, now()), 0);
      await again(2);
      assert.equal(await expireOrders(database, now()), 1);
      assert.equal(await countOpen(database, placer.accountId, now()), 1);
      await assert.rejects(again(3), { code: 'order_limit_exceeded' });
    });
  });
});

function codeOf(error: unknown): string {
  return error instanceof Problem ? error.code : String(error);
}
