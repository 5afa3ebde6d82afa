import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../test/support/engines.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { activateTested } from '../deliveries/activate-webhook.ts';
import { deliveryOf, getDelivery, listDeliveries } from '../deliveries/deliveries.ts';
import { insertDeliveries } from '../deliveries/insert-deliveries.ts';
import { redeliverEvent, redeliverSince } from '../deliveries/redeliveries.ts';
import { deleteOldDeliveries, purgeDeletedWebhooks } from '../deliveries/retention.ts';
import { sendTest, storeTest } from '../deliveries/test-delivery.ts';
import { type Actor, operator } from '../events/event.ts';
import { assignPositions, lastPosition } from '../events/ordering.ts';
import { eventIdAt } from '../events/public/public-event.ts';
import { createHold } from '../holds/holds.ts';
import { testClock } from '../lib/clock.ts';
import { createEncryptor } from '../lib/encryption.ts';
import { openOutgoingClient } from '../lib/http/client/client.ts';
import { Problem } from '../lib/http/problem.ts';
import { createPet, updatePet } from '../pets/pets.ts';
import { type Params, query } from '../schema.ts';
import { deleteExpiredSecrets, signingSecrets } from './secrets.ts';
import type { NewWebhook } from './webhook.ts';
import { webhookEtag, webhookOf } from './webhook.ts';
import {
  createWebhook,
  deactivateWebhook,
  deleteWebhook,
  disableWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from './webhooks.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;
const DAY = 86_400_000;
const owner = { accountId: 1, admin: false };
const stranger = { accountId: 2, admin: false };
const admin = { accountId: 3, admin: true };
const URL = 'https://receiver.example/petstore';
const encryptor = createEncryptor(Buffer.alloc(32, 7));
const rules = { max: 10, networks: ['127.0.0.0/8'] };

onEachEngine(engine => {
  describe('createWebhook', () => {
    it('creates an inactive webhook, and stores its secret encrypted', async () => {
      const store = await open(engine);
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
      const store = await open(engine);
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
      const store = await open(engine);
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
      const store = await open(engine);
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
      const store = await open(engine);
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
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.addPending(1);
      const change = (patch: object) => store.database.write(tx => updateWebhook(tx, owner, 1, patch, rules));
      assert.equal((await change({ types: ['pet.*'] })).status, 'active');
      assert.equal((await change({ url: `${URL}/moved` })).status, 'inactive');
      const { rows } = await listDeliveries(store.database, 1, { status: 'pending' }, { limit: 20 });
      assert.equal(rows.length, 1);
    });

    it('passes the entity tag to the precondition; the tag changes when the receiver begins to fail', async () => {
      const store = await open(engine);
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
      const store = await open(engine);
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
      // 30 pending deliveries, a test with its attempt, the webhook.
      assert.deepEqual([rows, rounds > 2], [33, true]);
      assert.deepEqual(await store.database.all(everyWebhook, {}), []);
    });
  });

  describe('rotateWebhookSecret', () => {
    const rotate = (store: Store, overlapSeconds: number, actor: Actor = owner) =>
      store.database.write(tx => rotateWebhookSecret(tx, actor, 1, overlapSeconds, encryptor));
    const secrets = async (store: Store) =>
      (await signingSecrets(store.database, encryptor, 1, store.clock.now())).map(
        key => `whsec_${key.toString('base64')}`,
      );

    it('keeps the previous secrets valid during the overlap, newest first, to the millisecond', async () => {
      const store = await open(engine);
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
      const store = await open(engine);
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
      const store = await open(engine);
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

  describe('activateTested', () => {
    it('starts after the events committed before it, and continues pending deliveries', async () => {
      const store = await open(engine);
      await store.make();
      const pet = await store.pet();
      const active = await store.activate();
      assert.deepEqual([active.status, active.version, active.failingSince], ['active', 2, null]);
      const position = await lastPosition(store.database);
      const { behind_place, due_at } = (await store.webhook())!;
      assert.deepEqual([behind_place, due_at], [position, null]);
      await store.addPending(1);
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await store.database.write(tx => updatePet(tx, owner, pet, { name: 'Moritz' }, 'open'));
      await store.activate();
      const later = (await store.webhook())!;
      assert.equal(later.behind_place, await lastPosition(store.database));
      assert.ok(later.behind_place > position);
      assert.equal(later.due_at, START);
    });

    it('skips earlier events in the dispatch only if no other webhook is active', async () => {
      const store = await open(engine);
      await store.make();
      await store.make(stranger);
      await store.pet();
      await store.activate(1);
      const first = await store.dispatched();
      assert.equal(first, await lastPosition(store.database));
      assert.ok(first > 0);
      await store.pet();
      await store.activate(2, stranger);
      assert.equal(await store.dispatched(), first, 'the first webhook still receives the events in between');
      assert.ok((await lastPosition(store.database)) > first);
    });

    it('rejects a webhook that changed during the test, and accepts a concurrent activation', async () => {
      const store = await open(engine);
      const changes: ((tested: number) => Promise<unknown>)[] = [
        id => store.database.write(tx => updateWebhook(tx, owner, id, { url: `${URL}/elsewhere` }, rules)),
        id => store.database.write(tx => deactivateWebhook(tx, owner, id)),
        id => store.database.write(tx => disableWebhook(tx, operator, id)),
      ];
      for (const change of changes) {
        const { webhook } = await store.make();
        await change(webhook.id);
        const late = store.database.write(tx => activateTested(tx, owner, webhook));
        assert.match((await rejection(late, 'webhook_test_failed')).message, /was changed during the test/);
        assert.notEqual((await getWebhook(store.database, owner, webhook.id)).status, 'active');
      }
      const { webhook: gone } = await store.make();
      await store.database.write(tx => deleteWebhook(tx, owner, gone.id));
      await rejection(
        store.database.write(tx => activateTested(tx, owner, gone)),
        'webhook_not_found',
      );
      const { webhook } = await store.make();
      const both = await Promise.all([1, 2].map(() => store.database.write(tx => activateTested(tx, owner, webhook))));
      assert.deepEqual(
        both.map(({ status, version }) => [status, version]),
        [
          ['active', 2],
          ['active', 2],
        ],
      );
    });

    it('rejects a webhook that was active before the test and was deactivated since', async () => {
      const store = await open(engine);
      await store.make();
      const active = await store.activate();
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await rejection(
        store.database.write(tx => activateTested(tx, owner, active)),
        'webhook_test_failed',
      );
    });
  });

  describe('disableWebhook', () => {
    it('disables the webhook idempotently; activation enables it again', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      const off = await store.database.write(tx => disableWebhook(tx, operator, 1));
      assert.deepEqual([off.status, off.disabledReason, off.version], ['disabled', 'operator', 3]);
      assert.deepEqual(await store.database.write(tx => disableWebhook(tx, operator, 1)), off);
      const back = await store.activate();
      assert.deepEqual([back.status, back.disabledReason], ['active', null]);
    });
  });

  describe('Deliveries', () => {
    it('are listed newest first, in both directions, and filtered by status and event', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.addPending(5);
      await store.make(stranger);
      const page = (cursor?: string, filter = {}) => listDeliveries(store.database, 1, filter, { limit: 2, cursor });
      const first = await page();
      const second = await page(first.next);
      const third = await page(second.next);
      const idsOf = ({ rows }: { rows: readonly { id: number }[] }) => rows.map(({ id }) => id);
      assert.deepEqual([first, second, third].map(idsOf), [
        [6, 5],
        [4, 3],
        [2, 1],
      ]);
      assert.equal(third.next, undefined);
      assert.deepEqual(idsOf(await page(third.previous)), [4, 3]);
      assert.deepEqual(idsOf(await page(undefined, { status: 'delivered' })), [1], 'the test delivery');
      assert.deepEqual(idsOf(await page(undefined, { status: 'failed' })), []);
      const position = (await page()).rows[0]!.position!;
      assert.deepEqual(idsOf(await page(undefined, { eventId: eventIdAt(position) })), [6]);
      assert.deepEqual(idsOf(await page(undefined, { eventId: eventIdAt(position), status: 'failed' })), []);
      assert.deepEqual((await listDeliveries(store.database, 2, {}, { limit: 20 })).rows, []);
      await rejection(page(first.next, { status: 'pending' }), 'invalid_parameter');
    });

    it('are shown with every attempt; only a single delivery includes response bodies', async () => {
      const store = await open(engine);
      const { webhook } = await store.make();
      const body = 'Not today.';
      const test = { at: START, outcome: { status: 503, body, durationMs: 12.4 } };
      await store.database.write(tx => storeTest(tx, webhook.id, test));
      const fault = { at: START, outcome: { fault: 'timeout' as const, durationMs: 15_000 } };
      await store.database.write(tx => storeTest(tx, webhook.id, fault));
      const at = '2026-11-21T12:00:00.000Z';
      const common = { type: 'webhook.test', status: 'failed', createdAt: at, updatedAt: at };
      const answered = { number: 1, at, durationMs: 12, status: 503 };
      const unanswered = { id: 2, ...common, attempts: [{ number: 1, at, durationMs: 15_000, fault: 'timeout' }] };
      const { rows } = await listDeliveries(store.database, 1, {}, { limit: 20 });
      assert.deepEqual(rows.map(deliveryOf), [unanswered, { id: 1, ...common, attempts: [answered] }]);
      const one = deliveryOf(await getDelivery(store.database, 1, 1));
      assert.deepEqual(one, { id: 1, ...common, attempts: [{ ...answered, answer: body }] });
      await store.make();
      await rejection(getDelivery(store.database, 2, 1), 'delivery_not_found');
      await rejection(getDelivery(store.database, 1, 3), 'delivery_not_found');
    });

    it('are deleted once events have expired, except pending ones', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.addPending(2);
      store.clock.advance(30 * DAY);
      const deleteOld = () => store.database.write(tx => deleteOldDeliveries(tx, 30 * DAY, 100));
      assert.equal(await deleteOld(), 0);
      store.clock.advance(1);
      assert.equal(await deleteOld(), 2, 'the test and its attempt');
      assert.equal(await deleteOld(), 0);
      const { rows } = await listDeliveries(store.database, 1, {}, { limit: 20 });
      assert.deepEqual(
        rows.map(({ status }) => status),
        ['pending', 'pending'],
      );
    });
  });

  describe('Redelivery', () => {
    it('delivers an event again, even if the webhook does not subscribe to it', async () => {
      const store = await open(engine);
      await store.make(owner, { url: URL, types: ['order.*'] });
      await store.pet();
      await store.activate();
      const again = (eventId: string, actor: Actor = owner, visibleTo: Actor = owner, retainedFrom = 0) =>
        store.database.write(tx => redeliverEvent(tx, actor, 1, eventId, visibleTo, retainedFrom));
      await again('evt_1');
      const { rows } = await listDeliveries(store.database, 1, { eventId: 'evt_1' }, { limit: 20 });
      assert.deepEqual(
        rows.map(({ type, status, dueAt }) => [type, status, dueAt]),
        [['pet.created', 'pending', START]],
      );
      assert.equal((await store.webhook())!.due_at, START);
      await rejection(again('evt_1', stranger), 'webhook_not_found');
      await rejection(again('evt_999'), 'event_not_found');
      await rejection(again('evt_0'), 'event_not_found');
      await rejection(again('evt_1', owner, owner, START + 1), 'event_not_found');
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await rejection(again('evt_1'), 'webhook_not_active');
    });

    it('rejects events that the owner of the webhook cannot see, even for admins', async () => {
      const store = await open(engine);
      await store.make(stranger);
      const petId = await store.pet();
      const third = { accountId: 4, admin: false };
      await store.database.write(tx => createHold(tx, third, { petIds: [petId] }, 10));
      await store.activate(1, stranger);
      const holdEvent = eventIdAt(await lastPosition(store.database));
      const again = (eventId: string, visibleTo: Actor) =>
        store.database.write(tx => redeliverEvent(tx, admin, 1, eventId, visibleTo, 0));
      const events = Array.from({ length: await lastPosition(store.database) }, (_, index) => eventIdAt(index + 1));
      const outcomes = await Promise.all(
        events.map(id =>
          again(id, stranger).then(
            () => 'done',
            (error: Problem) => error.code,
          ),
        ),
      );
      assert.deepEqual(new Set(outcomes), new Set(['done', 'event_not_found']));
      assert.ok(events.includes(holdEvent));
      await Promise.all(events.map(id => again(id, admin)));
    });

    it('since a time requires an active webhook and retained events, and runs once at a time', async () => {
      const store = await open(engine);
      await store.make();
      const since = (time: number, actor: Actor = owner) =>
        store.database.write(tx => redeliverSince(tx, actor, 1, time, START - DAY));
      await rejection(since(START), 'webhook_not_active');
      await store.pet();
      await store.activate();
      await rejection(since(START, stranger), 'webhook_not_found');
      assert.match((await rejection(since(START - DAY - 1), 'events_expired')).message, /2026-11-20T12:00:00/);
      const { id } = await since(START - DAY);
      const [row] = await store.database.all(everyRedelivery, {});
      const upTo = await lastPosition(store.database);
      assert.deepEqual(row, { id, webhook_id: 1, place: 0, up_to: upTo, since: START - DAY, created_at: START });
      assert.match((await rejection(since(START), 'redelivery_running')).message, /2026-11-20T12:00:00/);
    });
  });
});

/** Receivers and clients to close after the tests. */
const opened: { close(): Promise<void> }[] = [];
after(() => Promise.all(opened.splice(0).map(one => one.close())));

type Store = Awaited<ReturnType<typeof open>>;

/** Opens a database, a receiver that accepts everything, and a clock that stands still. */
async function open(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  const receiver = await startReceiver();
  const outgoing = openOutgoingClient(rules);
  opened.push(outgoing, receiver);
  const deps = { database, outgoing, encryptor, now: () => clock.now() };
  const make = (actor: Actor & { accountId: number } = owner, newWebhook: NewWebhook = { url: receiver.url }) =>
    database.write(tx => createWebhook(tx, actor, newWebhook, rules, encryptor));
  return {
    clock,
    database,
    make,
    /** Activates a webhook after a test delivery to the receiver, whatever the URL of the webhook. */
    async activate(id = 1, actor: Actor = owner) {
      const webhook = await getWebhook(database, actor, id);
      const result = await sendTest(deps, { id, url: receiver.url });
      await database.write(tx => storeTest(tx, id, result));
      assert.equal('status' in result.outcome && result.outcome.status, 204);
      await assignPositions(database);
      return database.write(tx => activateTested(tx, actor, webhook));
    },
    /** Creates a pet; returns its id. */
    async pet(): Promise<number> {
      const { id } = await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      await assignPositions(database);
      return id;
    },
    /** Inserts pending deliveries. */
    async addPending(count: number) {
      const events = Array.from({ length: count }, (_, index) => ({
        position: index + 1,
        type: 'pet.created',
        orderingKey: `pet ${index}`,
      }));
      assert.ok(await database.write(tx => insertDeliveries(tx, 1, events)));
    },
    /** Deletes up to 40 rows; returns how many. */
    deleteRows: (deleteRows: typeof purgeDeletedWebhooks) => database.write(tx => deleteRows(tx, 40)),
    webhook: () => database.first(webhookRow, {}),
    dispatched: async () => Number((await database.first(dispatchedPlace, {}))!.value),
  };
}

/** Returns the problem that rejects the promise, and asserts its code. */
async function rejection(work: Promise<unknown>, code: string): Promise<Problem> {
  const error = await work.then(
    () => assert.fail(`not rejected with ${code}`),
    thrown => thrown as Problem,
  );
  assert.ok(error instanceof Problem, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

const everySecret = query(db => db.selectFrom('webhook_secrets').selectAll());
const everyWebhook = query(db => db.selectFrom('webhooks').selectAll());
const everyRedelivery = query(db => db.selectFrom('redeliveries').selectAll());
const webhookRow = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('webhooks').select(['behind_place', 'due_at']).where('id', '=', 1),
);
const dispatchedPlace = query(db => db.selectFrom('facts').select('value').where('name', '=', 'dispatched'));
