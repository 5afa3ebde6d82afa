import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptor } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { rules, URL } from '../../../test/support/webhook-store.ts';
import { createAccount, getAccount, requestDeletion, suspendAccount } from '../../access/accounts/accounts.ts';
import { listAuditEntries } from '../../access/audit/list.ts';
import { createKey, listKeys } from '../../access/keys/keys.ts';
import { operator } from '../../model/log/event.ts';
import type { Database } from '../../model/schema.ts';
import { activateTested } from '../deliveries/activate-webhook.ts';
import { revokeKeysAndDependents, suspendWithDependents } from './account-changes.ts';
import { createWebhook, getWebhook } from './webhooks.ts';

onEachEngine(engine => {
  /** Opens both databases. One account has a key and an active webhook on each; there is another account. */
  async function open() {
    const databases = { accounts: await engine.open(), staging: await engine.open() };
    for (const email of ['a@example.org', 'b@example.org']) {
      const account = await databases.accounts.write(tx => createAccount(tx, { email, name: 'A' }));
      for (const deployment of ['production', 'staging'] as const) {
        const database = deployment === 'production' ? databases.accounts : databases.staging;
        const key = await databases.accounts.write(tx => createKey(tx, { accountId: account.id, deployment }));
        const actor = { accountId: account.id, admin: false, keyId: key.id };
        const { webhook } = await database.write(tx => createWebhook(tx, actor, { url: URL }, rules, encryptor));
        await database.write(tx => activateTested(tx, actor, webhook));
      }
    }
    return databases;
  }

  const reasonsOf = async (database: Database) =>
    Promise.all([1, 2].map(async id => (await getWebhook(database, operator, id)).disabledReason));

  describe('suspendWithDependents', () => {
    for (const [name, suspend] of [
      ['a suspension', suspendAccount],
      ['the request of a deletion', (tx, id) => requestDeletion(tx, id, 1000)],
    ] as [string, typeof suspendAccount][]) {
      it(`disables the webhooks of the account on both deployments with ${name}`, async () => {
        const databases = await open();
        const account = await suspendWithDependents(databases, 1, suspend);
        assert.deepEqual(await getAccount(databases.accounts, 1), account);
        assert.ok(account.suspendedAt);
        for (const database of [databases.accounts, databases.staging]) {
          assert.deepEqual(await reasonsOf(database), ['account_suspended', null]);
        }
      });
    }
  });

  it('records the origin of a suspension on both deployments', async () => {
    const databases = await open();
    const origin = { accountId: 2, sessionId: 3, requestId: 'r', address: '192.0.2.1' };
    await suspendWithDependents(databases, 1, suspendAccount, origin);
    const typesOn = async (database: Database) =>
      (await listAuditEntries(database, operator, { sessionId: 3 }, { limit: 9 })).rows.map(
        ({ kind, action }) => `${kind}.${action}`,
      );
    assert.deepEqual(await typesOn(databases.accounts), ['webhook.disabled', 'account.suspended']);
    assert.deepEqual(await typesOn(databases.staging), ['webhook.disabled']);
  });

  describe('revokeKeysAndDependents', () => {
    it('revokes all keys of the account, and returns them with the webhooks that it disabled', async () => {
      const databases = await open();
      const revoked = await revokeKeysAndDependents(databases, 1);
      assert.deepEqual(revoked.map(({ key, webhooks }) => [key.deployment, webhooks.map(({ id }) => id)]).sort(), [
        ['production', [1]],
        ['staging', [1]],
      ]);
      for (const { accountId, revokedAt } of await listKeys(databases.accounts)) {
        assert.equal(revokedAt !== null, accountId === 1);
      }
      for (const database of [databases.accounts, databases.staging]) {
        assert.deepEqual(await reasonsOf(database), ['key_revoked', null]);
      }
      assert.deepEqual(await revokeKeysAndDependents(databases, 1), []);
    });
  });
});
