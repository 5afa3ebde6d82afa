import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptor } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { rules, URL } from '../../../test/support/webhook-store.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { createKey, getKey } from '../../access/keys/keys.ts';
import { type Key, keyState } from '../../model/key.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type DeploymentName, query } from '../../model/schema.ts';
import { scopeSet } from '../../model/scopes.ts';
import { webhookColumns } from '../../model/webhook.ts';
import { activateTested } from '../deliveries/activate-webhook.ts';
import { disableWebhooksOfAccount } from './disable.ts';
import { type KeyDatabases, revokeKeyAndDependents, rotateKeyAndDependents } from './key-changes.ts';
import { createWebhook } from './webhooks.ts';

const HOUR = 3_600_000;

onEachEngine(engine => {
  /**
   * Opens both databases of a deployment. An account has two keys and three webhooks; webhooks 1 and 2 depend on the
   * first key.
   */
  async function open(deployment: DeploymentName) {
    const accounts = await engine.open({});
    const own = deployment === 'production' ? accounts : await engine.open({});
    const { id: accountId } = await accounts.write(tx => createAccount(tx, { email: 'a@example.org', name: 'A' }));
    const newKey = () =>
      accounts.write(tx => createKey(tx, { accountId, deployment, scopes: ['pets:read', 'webhooks:write'] }));
    const [key, other] = [await newKey(), await newKey()];
    for (const maker of [key, key, other]) await addWebhook(own, maker);
    return { databases: { accounts, own } satisfies KeyDatabases, key, other, accountId };
  }

  async function addWebhook(database: Database, { id: keyId, accountId, scopes }: Key) {
    const actor = { accountId, admin: false, keyId, scopes: scopeSet(scopes.join(' ')) };
    const { webhook } = await database.write(tx => createWebhook(tx, actor, { url: `${URL}?t=1` }, rules, encryptor));
    await database.write(tx => activateTested(tx, actor, webhook));
  }

  const statesOf = async ({ own }: { own: Database }) =>
    (await own.all(allWebhooks, {})).map(({ status, disabledReason, keyId }) => [status, disabledReason, keyId]);
  const actionsOf = async ({ own }: { own: Database }, id: number) =>
    (await eventsOf<{ reason?: string }>(own, 'webhook', id)).map(({ action, data }) =>
      data.reason === undefined ? action : `${action}: ${data.reason}`,
    );

  for (const deployment of ['production', 'staging'] as const) {
    describe(`webhooks of a key of ${deployment}`, () => {
      it('are disabled and listed when the key is revoked; webhooks of other keys are not', async () => {
        const { databases, key, other } = await open(deployment);
        const revoked = await revokeKeyAndDependents(databases, key.id);
        assert.equal(keyState(revoked.key, Date.now()), 'revoked');
        assert.deepEqual(
          revoked.webhooks.map(({ id, status, disabledReason }) => [id, status, disabledReason]),
          [1, 2].map(id => [id, 'disabled', 'key_revoked']),
        );
        const disabled = ['disabled', 'key_revoked', key.id];
        assert.deepEqual(await statesOf(databases), [disabled, disabled, ['active', null, other.id]]);
        assert.deepEqual(await actionsOf(databases, 1), ['created', 'activated', 'disabled']);
        assert.deepEqual(await revokeKeyAndDependents(databases, key.id), revoked, 'a retry has the same answer');
      });

      it('stay active without a key on request, with its scopes', async () => {
        const { databases, key } = await open(deployment);
        const { webhooks } = await revokeKeyAndDependents(databases, key.id, { keepWebhooks: true });
        assert.deepEqual(
          webhooks.map(({ id, status, keyId, scopes }) => [id, status, keyId, scopes]),
          [1, 2].map(id => [id, 'active', null, 'pets:read webhooks:write']),
        );
        assert.equal(keyState(await getKey(databases.accounts, key.id), Date.now()), 'revoked');
        assert.deepEqual(await actionsOf(databases, 1), ['created', 'activated', 'updated: key_detached']);
      });

      it('depend on the new key after a rotation', async () => {
        const { databases, key, other } = await open(deployment);
        const { issued } = await rotateKeyAndDependents(databases, key.id, { overlapMs: HOUR });
        const handed = ['active', null, issued.id];
        assert.deepEqual(await statesOf(databases), [handed, handed, ['active', null, other.id]]);
        await revokeKeyAndDependents(databases, key.id);
        assert.deepEqual((await statesOf(databases))[0], handed, 'the old key is over, its webhooks are not');
        await revokeKeyAndDependents(databases, issued.id);
        assert.deepEqual((await statesOf(databases))[0], ['disabled', 'key_revoked', issued.id]);
      });
    });
  }

  describe('webhook events', () => {
    it('have the webhook without the query of its URL, and the change', async () => {
      const { databases, accountId } = await open('production');
      await databases.own.write(tx => disableWebhooksOfAccount(tx, accountId, 'account_suspended'));
      const events = await eventsOf<object>(databases.own, 'webhook', 3);
      const webhook = { url: URL, accountId, scopes: ['pets:read', 'webhooks:write'] };
      assert.deepEqual(events.at(-1)!.data, {
        webhook: { ...webhook, status: 'disabled', disabledReason: 'account_suspended' },
        ownerId: accountId,
        was: { status: 'active', disabledReason: null },
      });
    });
  });

  describe('disableWebhooksOfAccount', () => {
    it('disables all active webhooks of the accounts once', async () => {
      const { databases, accountId } = await open('staging');
      const disable = () => databases.own.write(tx => disableWebhooksOfAccount(tx, accountId, 'account_suspended'));
      assert.deepEqual(
        (await disable()).map(({ id }) => id),
        [1, 2, 3],
      );
      assert.deepEqual(await disable(), []);
    });
  });
});

const allWebhooks = query(db => db.selectFrom('webhooks').select(webhookColumns.full()).orderBy('id'));
