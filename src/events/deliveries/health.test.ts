import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { START } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { openWebhookStore } from '../../../test/support/webhook-store.ts';
import type { Database } from '../../model/schema.ts';
import { deliveryHealthOf, RECENT_DELIVERIES } from './health.ts';
import { storeTest } from './test-delivery.ts';

onEachEngine(engine => {
  describe('deliveryHealthOf', () => {
    const store = (database: Database, webhookId: number, statuses: readonly number[]) =>
      database.write(async tx => {
        for (const status of statuses) {
          const outcome = { status, body: '', durationMs: 1, retryAfterMs: 0 };
          await storeTest(tx, webhookId, { at: START, outcome });
        }
      });

    it('counts the newest deliveries of each webhook', async () => {
      const { database, clock, make, activate, addPending } = await openWebhookStore(engine);
      for (let count = 0; count < 3; count++) await make();
      await activate(1);
      await store(database, 1, [500, ...Array.from({ length: RECENT_DELIVERIES - 1 }, () => 204)]);
      await store(database, 2, [204]);
      clock.advance(1000);
      await store(database, 2, [404, 503]);
      const counts = async () => {
        const health = await deliveryHealthOf(database, [1, 2, 3, 9]);
        return Array.from(health.values(), ({ webhookId, delivered, failed, lastDeliveredAt, pending }) => {
          return [webhookId, delivered, failed, lastDeliveredAt, pending];
        }).sort(([a], [b]) => a! - b!);
      };
      const others = [
        [2, 1, 2, START, 0],
        [3, 0, 0, null, 0],
      ];
      assert.deepEqual(await counts(), [[1, RECENT_DELIVERIES - 1, 1, START, 0], ...others]);
      await addPending(3);
      assert.deepEqual(await counts(), [[1, RECENT_DELIVERIES - 3, 0, START, 3], ...others]);
      await store(database, 1, [204]);
      assert.deepEqual(await counts(), [[1, RECENT_DELIVERIES - 3, 0, START + 1000, 3], ...others]);
    });
  });
});
