import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptor, MINUTE, owner, START } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import {
  admin,
  openWebhookStore,
  rejection,
  rules,
  stranger,
  URL,
  type WebhookStore,
} from '../../../test/support/webhook-store.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { query } from '../../model/schema.ts';
import { type NewWebhook, webhookEtag, webhookOf } from '../../model/webhook.ts';
import { listDeliveries } from '../deliveries/deliveries.ts';
import { purgeDeletedWebhooks } from '../deliveries/retention.ts';
import { deleteExpiredSecrets, rotateSecret, signingSecrets } from './secrets.ts';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  getWebhook,
  listWebhooks,
  lockWebhook,
  updateWebhook,
} from './webhooks.ts';

onEachEngine(engine => {
  describe('createWebhook', () => {
    it('creates an inactive webhook, and stores its secret encrypted', async () => {
      const store = await openWebhookStore(engine);
      const newWebhook: NewWebhook = {
        url: URL,
        types: ['pet.*', 'order.placed'],
        categoryIds: [2, 1],
        description: 'Mine',
      };
      const { webhook, secret } = await store.make(owner, newWebhook);
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      assert.deepEqual(webhookOf(webhook), {
        id: 1,
        ...newWebhook,
        status: 'inactive',
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:00.000Z',
        accountId: 1,
        scopes: ['*'],
      });
      assert.deepEqual(await getWebhook(store.database, owner, 1), webhook);
      const [key] = await signingSecrets(store.database, encryptor, 1, START);
      assert.equal(`whsec_${key!.toString('base64')}`, secret);
      const rows = JSON.stringify(await store.database.all(everySecret, {}));
      for (const encoding of ['base64', 'base64url', 'hex', 'latin1'] as const) {
        assert.ok(!rows.includes(key!.toString(encoding)), encoding);
      }
    });

    it('rejects a forbidden URL, and explains what is allowed', async () => {
      const store = await openWebhookStore(engine);
      for (const [url, expected] of [
        ['ftp://receiver.example/', /begin with https/],
        ['https://10.0.0.1/', /public internet/],
        ['https://jo:secret@receiver.example/', /user name or a password/],
        ['nonsense', /must be a URL/i],
      ] as const) {
        const problem = await rejection(store.make(owner, { url }), 'invalid_body');
        assert.equal(problem.errors![0]!.path, '/url');
        assert.match(problem.errors![0]!.message, expected);
        assert.doesNotMatch(problem.message, /secret/);
      }
      assert.deepEqual((await listWebhooks(store.database, owner, { limit: 20 })).rows, []);
    });

    it('enforces the limit per account under concurrency; a deleted webhook does not count', async () => {
      const store = await openWebhookStore(engine);
      const tries = await Promise.all(
        Array.from({ length: 8 }, () =>
          store.database
            .write(tx => createWebhook(tx, owner, { url: URL }, { ...rules, max: 3 }, encryptor))
            .then(({ webhook }) => webhook.id)
            .catch(error => (error as Problem).code),
        ),
      );
      assert.deepEqual(
        tries.filter(one => typeof one === 'string'),
        Array(5).fill('webhook_limit_exceeded'),
      );
      const few = { ...rules, max: 3 };
      await store.database.write(tx => createWebhook(tx, stranger, { url: URL }, few, encryptor));
      const [first] = tries.filter(one => typeof one === 'number');
      await store.database.write(tx => deleteWebhook(tx, owner, first!));
      await store.database.write(tx => createWebhook(tx, owner, { url: URL }, few, encryptor));
      const again = store.database.write(tx => createWebhook(tx, owner, { url: URL }, few, encryptor));
      assert.match((await rejection(again, 'webhook_limit_exceeded')).message, /maximum of 3 webhooks/);
    });
  });

  describe('getWebhook and listWebhooks', () => {
    it('show a webhook only to its account and to admins', async () => {
      const store = await openWebhookStore(engine);
      for (const actor of [owner, stranger, owner]) await store.make(actor);
      for (const actor of [owner, admin, operator]) assert.equal((await getWebhook(store.database, actor, 1)).id, 1);
      await rejection(getWebhook(store.database, stranger, 1), 'webhook_not_found');
      await rejection(getWebhook(store.database, owner, 4), 'webhook_not_found');
      const ids = async (actor: Actor) =>
        (await listWebhooks(store.database, actor, { limit: 20 })).rows.map(({ id }) => id);
      assert.deepEqual([await ids(owner), await ids(stranger), await ids(admin)], [[1, 3], [2], [1, 2, 3]]);
      const first = await listWebhooks(store.database, admin, { limit: 2 });
      const second = await listWebhooks(store.database, admin, { limit: 2, cursor: first.next });
      assert.deepEqual(
        [first, second].map(({ rows }) => rows.map(({ id }) => id)),
        [[1, 2], [3]],
      );
      await rejection(listWebhooks(store.database, owner, { limit: 2, cursor: first.next }), 'invalid_parameter');
    });
  });

  describe('updateWebhook', () => {
    it('changes the given members, removes null members, and creates no version if nothing changes', async () => {
      const store = await openWebhookStore(engine);
      const { webhook } = await store.make(owner, {
        url: URL,
        types: ['pet.*'],
        categoryIds: [2],
        description: 'Mine',
      });
      store.clock.advance(1000);
      const change = (patch: object) => store.database.write(tx => updateWebhook(tx, owner, 1, patch, rules));
      assert.deepEqual(await change({ types: ['pet.*'], url: URL }), webhook);
      const changed = await change({ types: null, description: 'Ours' });
      assert.deepEqual(changed, {
        ...webhook,
        types: null,
        description: 'Ours',
        version: 2,
        updatedAt: START + 1000,
      });
      assert.deepEqual(await getWebhook(store.database, owner, 1), changed);
      await rejection(change({ url: 'https://10.0.0.1/' }), 'invalid_body');
      const strange = store.database.write(tx => updateWebhook(tx, stranger, 1, { description: 'Theirs' }, rules));
      await rejection(strange, 'webhook_not_found');
    });

    it('deactivates the webhook only if the URL changes, and keeps pending deliveries', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.activate();
      await store.addPending(1);
      const change = (patch: object) => store.database.write(tx => updateWebhook(tx, owner, 1, patch, rules));
      assert.equal((await change({ types: ['pet.*'] })).status, 'active');
      assert.equal((await change({ url: `${URL}/moved` })).status, 'inactive');
      const { rows } = await listDeliveries(store.database, operator, 1, { status: 'pending' }, { limit: 20 });
      assert.equal(rows.length, 1);
    });

    it('passes the entity tag to the precondition; the tag changes when the receiver begins to fail', async () => {
      const store = await openWebhookStore(engine);
      const { webhook } = await store.make();
      const failing = { ...webhook, failingSince: START };
      assert.notEqual(webhookEtag(webhook), webhookEtag(failing));
      const seen: string[] = [];
      await store.database.write(tx =>
        updateWebhook(tx, owner, 1, { description: 'x' }, rules, etag => void seen.push(etag)),
      );
      assert.deepEqual(seen, [webhookEtag(webhook)]);
    });
  });

  describe('deleteWebhook', () => {
    it('deletes the webhook and its secrets now, and its deliveries later', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.activate();
      await store.addPending(30);
      await rejection(
        store.database.write(tx => deleteWebhook(tx, stranger, 1)),
        'webhook_not_found',
      );
      await store.database.write(tx => deleteWebhook(tx, owner, 1));
      await rejection(getWebhook(store.database, admin, 1), 'webhook_not_found');
      await rejection(
        store.database.write(tx => deleteWebhook(tx, owner, 1)),
        'webhook_not_found',
      );
      assert.deepEqual(await store.database.all(everySecret, {}), []);
      assert.equal(
        await store.deleteRows(purgeDeletedWebhooks),
        0,
        'the result of a delivery in progress may still be recorded',
      );
      store.clock.advance(10 * MINUTE);
      let rows = 0;
      let rounds = 0;
      for (let some = 1; some > 0; rounds++) rows += some = await store.deleteRows(purgeDeletedWebhooks);
      // 30 pending deliveries, a test delivery with its attempt, and the webhook.
      assert.deepEqual([rows, rounds > 2], [33, true]);
      assert.deepEqual(await store.database.all(everyWebhook, {}), []);
    });
  });

  describe('rotateSecret', () => {
    const rotate = (store: WebhookStore, overlapSeconds: number, actor: Actor = owner) =>
      store.database.write(async tx => {
        const { id } = await lockWebhook(tx, actor, 1);
        return rotateSecret(tx, id, overlapSeconds, encryptor);
      });
    const secrets = async (store: WebhookStore) =>
      (await signingSecrets(store.database, encryptor, 1, store.clock.now())).map(
        key => `whsec_${key.toString('base64')}`,
      );

    it('keeps the previous secrets valid during the overlap, newest first, to the millisecond', async () => {
      const store = await openWebhookStore(engine);
      const { secret: first } = await store.make();
      const second = await rotate(store, 3600);
      assert.equal(second.previousExpiresAt, START + 60 * MINUTE);
      assert.deepEqual(await secrets(store), [second.secret, first]);
      store.clock.advance(60 * MINUTE - 1);
      assert.deepEqual(await secrets(store), [second.secret, first]);
      store.clock.advance(1);
      assert.deepEqual(await secrets(store), [second.secret]);
      assert.equal(await store.deleteRows(deleteExpiredSecrets), 1);
      assert.deepEqual(await secrets(store), [second.secret]);
      await rejection(rotate(store, 0, stranger), 'webhook_not_found');
    });

    it('extends no secret, and expires all previous ones if there is no overlap', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await rotate(store, 60);
      const third = await rotate(store, 86_400);
      store.clock.advance(MINUTE);
      assert.equal((await secrets(store)).length, 2);
      const fourth = await rotate(store, 0);
      assert.deepEqual(await secrets(store), [fourth.secret]);
      assert.notEqual(third.secret, fourth.secret);
    });

    it('allows five valid secrets, and reports when the first one expires', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      for (let round = 0; round < 4; round++) {
        await rotate(store, 600 + round);
        store.clock.advance(1000);
      }
      const before = await secrets(store);
      // The rejected rotation does not change when the first secret expires.
      assert.match(
        (await rejection(rotate(store, 1), 'webhook_secret_limit_exceeded')).message,
        /2026-11-21T12:10:00\.000Z/,
      );
      const problem = await rejection(rotate(store, 86_400), 'webhook_secret_limit_exceeded');
      assert.match(problem.message, /2026-11-21T12:10:00\.000Z/);
      assert.deepEqual(await secrets(store), before, 'no secret was expired');
      assert.equal((await secrets(store)).length, 5);
      const last = await rotate(store, 0);
      assert.deepEqual(await secrets(store), [last.secret]);
    });
  });

  describe('disableWebhook', () => {
    it('disables the webhook idempotently; activation enables it again', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.activate();
      const off = await store.database.write(tx => disableWebhook(tx, operator, 1));
      assert.deepEqual([off.status, off.disabledReason, off.version], ['disabled', 'operator', 3]);
      assert.deepEqual(await store.database.write(tx => disableWebhook(tx, operator, 1)), off);
      const back = await store.activate();
      assert.deepEqual([back.status, back.disabledReason], ['active', null]);
    });
  });
});

const everySecret = query(db => db.selectFrom('webhook_secrets').selectAll());
const everyWebhook = query(db => db.selectFrom('webhooks').selectAll());
