import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { requestWithKey } from '../../../test/support/keyed-request.ts';
import { DAY, openOrderStore, owner, placer, stranger } from '../../../test/support/order-store.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { Transaction } from '../../model/schema.ts';
import { expireOrders } from './expiry.ts';
import { countOpen } from './open-orders.ts';
import { placeOrder } from './orders.ts';
import type { OrderWithSteps } from './rows.ts';
import { cancelOrder } from './steps.ts';

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

    it('is counted without deadlocks while the account places and cancels orders with Idempotency-Key', async () => {
      const { database, clock, place } = await openOrderStore(engine, 60);
      const ids = [];
      for (let petId = 1; petId <= 30; petId++) ids.push((await place(petId)).id);
      let runs = 0;
      /** A deadlock would roll back one of the transactions, and run its handler again. */
      const keyed = (key: string, work: (tx: Transaction) => Promise<OrderWithSteps>) =>
        withIdempotency(requestWithKey(key, { database, clock, accountId: placer.accountId }), async tx => {
          runs++;
          return { body: { id: (await work(tx)).id } };
        });
      await Promise.all(
        ids.flatMap((id, index) => [
          keyed(`cancel-${id}`, tx => cancelOrder(tx, placer, id, {})),
          keyed(`place-${id}`, tx => placeOrder(tx, placer, { petId: 31 + index })),
        ]),
      );
      if (engine.name === 'postgres') assert.equal(runs, 60);
      assert.equal(await countOpen(database, placer.accountId, clock.now()), 30);
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

    it('stops counting an order at its expiry, before and after that is recorded', async () => {
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
