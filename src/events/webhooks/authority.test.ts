import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertBan } from '../../../test/support/bans.ts';
import { attemptsOf, deliveriesOf, MINUTE, START, withDeliveryStore } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { suspendAccount } from '../../access/accounts/accounts.ts';
import { createKey, revokeKey, rotateKey } from '../../access/keys/keys.ts';
import { liftBan, newBan } from '../../access/limits/bans.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import { type Params, query } from '../../model/schema.ts';
import { webhookColumns } from '../../model/webhook.ts';
import { deliveryJob } from '../deliveries/delivery-job.ts';
import { authorityJob, enforceAuthority } from './authority-job.ts';
import { revokeKeyAndDependents } from './key-changes.ts';

type Store = Parameters<Parameters<typeof withDeliveryStore>[1]>[0];

onEachEngine(engine => {
  for (const deployment of ['production', 'staging'] as const) {
    describe(`the authority of webhooks of ${deployment}`, () => {
      const open = (work: (store: Store, keyId: string, hook: { id: number }) => Promise<void>, expiresAt?: number) =>
        withDeliveryStore(
          engine,
          async store => {
            const key = await newKey(store.accounts, deployment, expiresAt);
            await work(store, key.id, await store.webhook({ keyId: key.id, types: ['pet.*'] }));
          },
          deployment,
        );

      it('ends when the key is revoked: a delivery that waits for a connection is not sent', () =>
        open(async (store, keyId, hook) => {
          const waiting = Promise.withResolvers<void>();
          const go = Promise.withResolvers<void>();
          const outgoing: OutgoingClient = {
            ...store.outgoing,
            async post(request) {
              waiting.resolve();
              await go.promise;
              return store.outgoing.post(request);
            },
          };
          const worker = deliveryJob({ ...store.deps, outgoing });
          await store.pet();
          const delivered = store.deliver(worker);
          await waiting.promise;
          await revokeKeyAndDependents({ accounts: store.accounts, own: store.database }, keyId);
          go.resolve();
          await delivered;
          assert.deepEqual(store.receiver.received, []);
          const [delivery] = await store.database.all(deliveriesOf, { id: hook.id });
          assert.equal(delivery!.status, 'pending');
          assert.deepEqual(await store.database.all(attemptsOf, { id: delivery!.id }), [], 'it was no attempt');
        }));

      it('ends when the key is revoked by any transaction: nothing is sent, and the webhook is disabled', () =>
        open(async (store, keyId, hook) => {
          await store.pet();
          await store.accounts.write(tx => revokeKey(tx, keyId));
          await store.deliver();
          assert.deepEqual(store.receiver.received, []);
          assert.deepEqual(await stateOf(store.database, hook.id), ['disabled', 'key_revoked']);
        }));

      it('ends when the key expires', () =>
        open(async (store, _, hook) => {
          const id = await store.pet();
          await store.deliver();
          assert.equal(store.receiver.received.length, 1);
          store.clock.advance(MINUTE - 1);
          await store.rename(id, 'Moritz');
          await store.deliver();
          assert.equal(store.receiver.received.length, 2);
          store.clock.advance(1);
          await store.rename(id, 'Minka');
          await store.deliver();
          assert.equal(store.receiver.received.length, 2);
          assert.deepEqual(await stateOf(store.database, hook.id), ['disabled', 'key_expired']);
        }, START + MINUTE));

      it('ends when the account is suspended, also without a key', () =>
        open(async (store, _, hook) => {
          const other = await store.webhook();
          await store.pet();
          await store.accounts.write(tx => suspendAccount(tx, 1));
          await store.deliver();
          assert.deepEqual(store.receiver.received, []);
          for (const { id } of [hook, other]) {
            assert.deepEqual(await stateOf(store.database, id), ['disabled', 'account_suspended']);
          }
        }));

      it('pauses while the key is banned, and continues after the ban with the same attempt', () =>
        open(async (store, keyId, hook) => {
          const id = await store.pet();
          const ban = newBan(keyId, undefined, store.clock.now());
          await store.accounts.write(tx => tx.run(insertBan, ban));
          for (let time = START; time < ban.until; time += 7000) {
            await store.deliver();
            store.clock.advance(Math.min(7000, ban.until - time));
          }
          assert.deepEqual(await stateOf(store.database, hook.id), ['active', null]);
          assert.deepEqual(store.receiver.received, []);
          await store.deliver();
          assert.deepEqual(store.types(), ['pet.created']);
          const [delivery] = await store.database.all(deliveriesOf, { id: hook.id });
          assert.deepEqual(
            (await store.database.all(attemptsOf, { id: delivery!.id })).map(({ number }) => number),
            [1],
          );
          assert.ok(id > 0);
        }));

      it('continues within seconds when the ban is lifted', () =>
        open(async (store, keyId) => {
          await store.accounts.write(tx => tx.run(insertBan, newBan(keyId, undefined, store.clock.now())));
          await store.pet();
          await store.deliver();
          await store.accounts.write(tx => liftBan(tx, keyId));
          store.clock.advance(5000);
          await store.deliver();
          assert.deepEqual(store.types(), ['pet.created']);
        }));

      it('passes to the new key when the key is rotated, even before the webhook is handed over', () =>
        open(async (store, keyId, hook) => {
          const { issued } = await store.accounts.write(tx => rotateKey(tx, keyId, 0));
          await store.pet();
          await store.deliver();
          assert.deepEqual(store.types(), ['pet.created'], 'the old key has expired, the new one has not');
          await enforceAuthority(store.database, store.accounts, store.clock.now());
          assert.equal((await store.database.first(webhookRow, hook))!.keyId, issued.id);
          await store.accounts.write(tx => revokeKey(tx, issued.id));
          await store.pet();
          await store.deliver();
          assert.equal(store.receiver.received.length, 1);
        }));

      it('limits the events to the scopes of the webhook, also when they are narrowed before the delivery', () =>
        open(async (store, keyId) => {
          const narrow = await store.webhook({ keyId, scopes: 'webhooks:read webhooks:write' });
          const hook = await store.webhook({ keyId, scopes: 'pets:read webhooks:write' });
          await store.pet();
          await store.deliver();
          assert.deepEqual(await store.database.all(deliveriesOf, narrow), []);
          assert.equal(store.receiver.received.length, 2);
          store.receiver.respond = (_, response) => response.writeHead(500).end();
          await store.pet();
          await store.deliver();
          assert.equal(store.receiver.received.length, 4);
          await store.database.write(tx => tx.run(setScopes, { ...hook, scopes: 'orders:read' }));
          store.clock.advance(5 * MINUTE);
          await store.deliver();
          assert.equal(store.receiver.received.length, 5);
        }));
    });
  }

  describe('webhook events', () => {
    it('are delivered to the other webhooks of the account, and not to the webhook itself', () =>
      withDeliveryStore(engine, async store => {
        const key = await newKey(store.accounts, 'production');
        const [own, other] = [await store.webhook({ keyId: key.id }), await store.webhook({ types: ['webhook.*'] })];
        const stranger = await store.webhook({ accountId: 2 });
        await store.webhook({ scopes: 'pets:read' });
        await revokeKeyAndDependents({ accounts: store.accounts, own: store.database }, key.id);
        await store.deliver();
        assert.deepEqual(store.types(), ['webhook.disabled']);
        assert.equal(JSON.parse(store.receiver.received[0]!.body).data.id, own.id);
        assert.deepEqual(
          (await store.database.all(deliveriesOf, other)).map(({ type }) => type),
          ['webhook.disabled'],
        );
        assert.deepEqual(await store.database.all(deliveriesOf, stranger), []);
      }));
  });

  describe('authorityJob', () => {
    it('runs after changes of keys and when a key of a webhook expires, and disables webhooks without deliveries', () =>
      withDeliveryStore(
        engine,
        async ({ database, accounts, clock, webhook }) => {
          const [revoked, expiring] = [
            await newKey(accounts, 'staging'),
            await newKey(accounts, 'staging', START + 30_000),
          ];
          const hooks = [await webhook({ keyId: revoked.id }), await webhook({ keyId: expiring.id })];
          const { type, dueAt } = authorityJob({ database, accounts, now: () => clock.now() });
          assert.equal(dueAt(), 0);
          // PostgreSQL may still notify of the new keys.
          do assert.equal((await type.claim(1)).rows, 0);
          while (dueAt() === 0);
          assert.equal(dueAt(), START + 30_000);
          await accounts.write(tx => revokeKey(tx, revoked.id));
          if (engine.name === 'sqlite') assert.equal(dueAt(), 0);
          assert.equal((await type.claim(1)).rows, 1);
          assert.deepEqual(await stateOf(database, hooks[0]!.id), ['disabled', 'key_revoked']);
          clock.advance(30_000);
          assert.equal((await type.claim(1)).rows, 1);
          assert.deepEqual(await stateOf(database, hooks[1]!.id), ['disabled', 'key_expired']);
          assert.equal((await type.claim(1)).rows, 0);
        },
        'staging',
      ));

    it('is due again after a failure', () =>
      withDeliveryStore(engine, async ({ database, accounts, clock, webhook }) => {
        const key = await newKey(accounts, 'production');
        await webhook({ keyId: key.id });
        let fails = false;
        const failing = new Proxy(accounts, {
          get(target, name) {
            if (fails && name === 'all') throw new Error('no connection');
            const value = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
        const { type, dueAt } = authorityJob({ database, accounts: failing, now: () => clock.now() });
        // PostgreSQL may still notify of the new key.
        do await type.claim(1);
        while (dueAt() === 0);
        assert.ok(dueAt() > clock.now());
        fails = true;
        await assert.rejects(async () => type.claim(1), /no connection/);
        assert.equal(dueAt(), 0);
        fails = false;
        await type.claim(1);
        assert.ok(dueAt() > clock.now());
      }));
  });

  describe('the check before a send', () => {
    it('costs a read for each send on the embedded engine, and one for all that start together on PostgreSQL', () =>
      withDeliveryStore(engine, async store => {
        const counted = { reads: 0 };
        const accounts = new Proxy(store.accounts, {
          get(target, name) {
            const value = Reflect.get(target, name, target);
            if (typeof value !== 'function') return value;
            return (...values: unknown[]) => {
              if (name === 'all' || name === 'first') counted.reads++;
              return value.apply(target, values);
            };
          },
        });
        const key = await newKey(store.accounts, 'production');
        await store.webhook({ keyId: key.id });
        for (let pet = 0; pet < 16; pet++) await store.pet();
        await store.deliver(deliveryJob({ ...store.deps, accounts }));
        assert.equal(store.receiver.received.length, 16);
        // One read for the claim that gets the deliveries, and one for each claim that finds none.
        if (engine.name === 'sqlite') assert.ok(counted.reads <= 16 + 2, String(counted.reads));
        else assert.ok(counted.reads < 16, String(counted.reads));
      }));
  });

  async function newKey(accounts: Database, deployment: DeploymentName, expiresAt?: number) {
    const more = expiresAt === undefined ? {} : { expiresAt };
    return accounts.write(tx => createKey(tx, { accountId: 1, deployment, ...more }));
  }

  async function stateOf(database: Database, id: number) {
    const { status, disabledReason } = (await database.first(webhookRow, { id }))!;
    return [status, disabledReason];
  }
});

const webhookRow = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select(webhookColumns.full()).where('id', '=', p.id),
);
const setScopes = query((db, p: Params<{ id: number; scopes: string }>) =>
  db.updateTable('webhooks').set({ scopes: p.scopes }).where('id', '=', p.id),
);
