import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptor } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { rules, URL } from '../../../test/support/webhook-store.ts';
import { type Params, query } from '../../model/schema.ts';
import { activateTested } from '../deliveries/activate-webhook.ts';
import { disableWebhooksOfAccount } from './disable.ts';
import { type HealthFilter, listWebhookHealth } from './health.ts';
import { createWebhook, deleteWebhook } from './webhooks.ts';

onEachEngine(engine => {
  describe('listWebhookHealth', () => {
    it('lists the webhooks of all accounts, or of one, by their state', async () => {
      const database = await engine.open();
      for (const accountId of [1, 2, 1, 1]) {
        const actor = { accountId, admin: false };
        const { webhook } = await database.write(tx => createWebhook(tx, actor, { url: URL }, rules, encryptor));
        if (webhook.id < 4) await database.write(tx => activateTested(tx, actor, webhook));
      }
      await database.write(tx => tx.run(fail, { id: 3 }));
      await database.write(tx => disableWebhooksOfAccount(tx, 2, 'account_suspended'));
      const idsOf = async (filter: HealthFilter) =>
        (await listWebhookHealth(database, filter, { limit: 9 })).rows.map(({ id }) => id);
      assert.deepEqual(await idsOf({}), [4, 3, 2, 1]);
      assert.deepEqual(await idsOf({ accountId: 1 }), [4, 3, 1]);
      assert.deepEqual(await idsOf({ state: 'active' }), [3, 1]);
      assert.deepEqual(await idsOf({ state: 'failing' }), [3]);
      assert.deepEqual(await idsOf({ state: 'disabled' }), [2]);
      assert.deepEqual(await idsOf({ state: 'inactive', accountId: 1 }), [4]);
      await database.write(tx => deleteWebhook(tx, { accountId: 1, admin: false }, 4));
      assert.deepEqual(await idsOf({ state: 'inactive' }), []);
      const [disabled] = (await listWebhookHealth(database, { state: 'disabled' }, { limit: 1 })).rows;
      assert.deepEqual([disabled?.disabledReason, disabled?.pending, disabled?.waits], ['account_suspended', 0, 0]);
    });
  });
});

const fail = query((db, p: Params<{ id: number }>) =>
  db.updateTable('webhooks').set({ failing_since: 1 }).where('id', '=', p.id),
);
