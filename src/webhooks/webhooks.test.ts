import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../test/support/engines.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { deliveryOf, getDelivery, listDeliveries } from '../deliveries/deliveries.ts';
import { insertDeliveries } from '../deliveries/dispatch.ts';
import { redeliverEvent, redeliverSince } from '../deliveries/redeliveries.ts';
import { keepTest, sendTest } from '../deliveries/test-delivery.ts';
import { type Actor, operator } from '../events/event.ts';
import { lastPlace, putInOrder } from '../events/log.ts';
import { idAt } from '../events/public/public-event.ts';
import { createHold } from '../holds/holds.ts';
import { testClock } from '../lib/clock.ts';
import { openOutgoingClient } from '../lib/http/client/client.ts';
import { Problem } from '../lib/http/problem.ts';
import { secretBox } from '../lib/secret-box.ts';
import { createPet, updatePet } from '../pets/pets.ts';
import { type Params, query } from '../schema.ts';
import { activateTested } from './activation.ts';
import { getWebhook } from './get-webhook.ts';
import { listWebhooks } from './list-webhooks.ts';
import { forgetDeletedWebhooks, forgetEndedSecrets, forgetOldDeliveries } from './retention.ts';
import { rotateWebhookSecret, secretsOf } from './secrets.ts';
import type { NewWebhook } from './webhook.ts';
import { webhookEtag, webhookOf } from './webhook-rows.ts';
import { createWebhook, deactivateWebhook, deleteWebhook, disableWebhook, updateWebhook } from './webhooks.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;
const DAY = 86_400_000;
const owner = { accountId: 1, admin: false };
const stranger = { accountId: 2, admin: false };
const admin = { accountId: 3, admin: true };
const URL = 'https://receiver.example/petstore';
const box = secretBox(Buffer.alloc(32, 7));
const rules = { max: 10, networks: ['127.0.0.0/8'] };

onEachEngine(engine => {
  describe('createWebhook', () => {
    it('makes an inactive webhook, whose secret alone is told and rests sealed', async () => {
      const store = await open(engine);
      const wish: NewWebhook = { url: URL, types: ['pet.*', 'order.placed'], categoryIds: [2, 1], description: 'Mine' };
      const { webhook, secret } = await store.make(owner, wish);
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      assert.deepEqual(webhookOf(webhook), {
        id: 1,
        ...wish,
        status: 'inactive',
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:00.000Z',
        accountId: 1,
      });
      assert.deepEqual(await getWebhook(store.database, owner, 1), webhook);
      const [key] = await secretsOf(store.database, box, 1, START);
      assert.equal(`whsec_${key!.toString('base64')}`, secret);
      const rows = JSON.stringify(await store.database.all(everySecret, {}));
      for (const encoding of ['base64', 'base64url', 'hex', 'latin1'] as const) {
        assert.ok(!rows.includes(key!.toString(encoding)), encoding);
      }
    });

    it('refuses a URL to which nothing may be sent, and says what would be right', async () => {
      const store = await open(engine);
      for (const [url, said] of [
        ['ftp://receiver.example/', /begin with https/],
        ['https://10.0.0.1/', /public internet/],
        ['https://jo:secret@receiver.example/', /user name or a password/],
        ['nonsense', /must be a URL/i],
      ] as const) {
        const refused = await refusal(store.make(owner, { url }), 'invalid_body');
        assert.equal(refused.errors![0]!.path, '/url');
        assert.match(refused.errors![0]!.message, said);
        assert.doesNotMatch(refused.message, /secret/);
      }
      assert.deepEqual((await listWebhooks(store.database, owner, 20, undefined)).rows, []);
    });

    it('makes as many as an account may have, also of those who come at once; a deleted one makes room', async () => {
      const store = await open(engine);
      const tries = await Promise.all(
        Array.from({ length: 8 }, () =>
          store.database
            .write(tx => createWebhook(tx, owner, { url: URL }, { ...rules, max: 3 }, box))
            .then(({ webhook }) => webhook.id)
            .catch(error => (error as Problem).code),
        ),
      );
      assert.deepEqual(
        tries.filter(one => typeof one === 'string'),
        Array(5).fill('webhook_limit_exceeded'),
      );
      const few = { ...rules, max: 3 };
      await store.database.write(tx => createWebhook(tx, stranger, { url: URL }, few, box));
      const [first] = tries.filter(one => typeof one === 'number');
      await store.database.write(tx => deleteWebhook(tx, owner, first!));
      await store.database.write(tx => createWebhook(tx, owner, { url: URL }, few, box));
      const again = store.database.write(tx => createWebhook(tx, owner, { url: URL }, few, box));
      assert.match((await refusal(again, 'webhook_limit_exceeded')).message, /the 3 webhooks/);
    });
  });

  describe('getWebhook and listWebhooks', () => {
    it('show a webhook to its account and to admins, and to nobody else', async () => {
      const store = await open(engine);
      for (const actor of [owner, stranger, owner]) await store.make(actor);
      for (const actor of [owner, admin, operator]) assert.equal((await getWebhook(store.database, actor, 1)).id, 1);
      await refusal(getWebhook(store.database, stranger, 1), 'webhook_not_found');
      await refusal(getWebhook(store.database, owner, 4), 'webhook_not_found');
      const ids = async (actor: Actor) =>
        (await listWebhooks(store.database, actor, 20, undefined)).rows.map(({ id }) => id);
      assert.deepEqual([await ids(owner), await ids(stranger), await ids(admin)], [[1, 3], [2], [1, 2, 3]]);
      const first = await listWebhooks(store.database, admin, 2, undefined);
      const second = await listWebhooks(store.database, admin, 2, first.next);
      assert.deepEqual(
        [first, second].map(({ rows }) => rows.map(({ id }) => id)),
        [[1, 2], [3]],
      );
      await refusal(listWebhooks(store.database, owner, 2, first.next), 'invalid_parameter');
    });
  });

  describe('updateWebhook', () => {
    it('changes what is sent, takes away what is null, and leaves the rest and what changes nothing', async () => {
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
      await refusal(change({ url: 'https://10.0.0.1/' }), 'invalid_body');
      const strange = store.database.write(tx => updateWebhook(tx, stranger, 1, { description: 'Theirs' }, rules));
      await refusal(strange, 'webhook_not_found');
    });

    it('makes it inactive with another URL alone, and keeps what waits', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.wait(1);
      const change = (patch: object) => store.database.write(tx => updateWebhook(tx, owner, 1, patch, rules));
      assert.equal((await change({ types: ['pet.*'] })).status, 'active');
      assert.equal((await change({ url: `${URL}/moved` })).status, 'inactive');
      const { rows } = await listDeliveries(store.database, 1, { status: 'pending' }, 20, undefined);
      assert.equal(rows.length, 1);
    });

    it('judges the version that the caller has seen; a receiver that begins to fail is another one', async () => {
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
    it('takes it away with its secrets at once, and the rest a while later', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.wait(30);
      await refusal(
        store.database.write(tx => deleteWebhook(tx, stranger, 1)),
        'webhook_not_found',
      );
      await store.database.write(tx => deleteWebhook(tx, owner, 1));
      await refusal(getWebhook(store.database, admin, 1), 'webhook_not_found');
      await refusal(
        store.database.write(tx => deleteWebhook(tx, owner, 1)),
        'webhook_not_found',
      );
      assert.deepEqual(await store.database.all(everySecret, {}), []);
      assert.equal(await store.forget(forgetDeletedWebhooks), 0, 'what is under way may still be noted');
      store.clock.advance(10 * MINUTE);
      let rows = 0;
      let rounds = 0;
      for (let some = 1; some > 0; rounds++) rows += some = await store.forget(forgetDeletedWebhooks);
      // 30 deliveries that wait, a test with its attempt, the webhook.
      assert.deepEqual([rows, rounds > 2], [33, true]);
      assert.deepEqual(await store.database.all(everyWebhook, {}), []);
    });
  });

  describe('rotateWebhookSecret', () => {
    const rotate = (store: Store, overlapSeconds: number, actor: Actor = owner) =>
      store.database.write(tx => rotateWebhookSecret(tx, actor, 1, overlapSeconds, box));
    const secrets = async (store: Store) =>
      (await secretsOf(store.database, box, 1, store.clock.now())).map(key => `whsec_${key.toString('base64')}`);

    it('lets the secrets before it overlap, newest first, to the millisecond', async () => {
      const store = await open(engine);
      const { secret: first } = await store.make();
      const second = await rotate(store, 3600);
      assert.equal(second.previousExpiresAt, START + 60 * MINUTE);
      assert.deepEqual(await secrets(store), [second.secret, first]);
      store.clock.advance(60 * MINUTE - 1);
      assert.deepEqual(await secrets(store), [second.secret, first]);
      store.clock.advance(1);
      assert.deepEqual(await secrets(store), [second.secret]);
      assert.equal(await store.forget(forgetEndedSecrets), 1);
      assert.deepEqual(await secrets(store), [second.secret]);
      await refusal(rotate(store, 0, stranger), 'webhook_not_found');
    });

    it('lets no secret last longer than it would have, and ends all at once with no overlap', async () => {
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

    it('has five at most, and says when the first of them ends', async () => {
      const store = await open(engine);
      await store.make();
      for (let round = 0; round < 4; round++) {
        await rotate(store, 600 + round);
        store.clock.advance(1000);
      }
      const before = await secrets(store);
      // What a refused rotation would have ended is not what ends first.
      assert.match(
        (await refusal(rotate(store, 1), 'webhook_secret_limit_exceeded')).message,
        /2026-11-21T12:10:00\.000Z/,
      );
      const refused = await refusal(rotate(store, 86_400), 'webhook_secret_limit_exceeded');
      assert.match(refused.message, /2026-11-21T12:10:00\.000Z/);
      assert.deepEqual(await secrets(store), before, 'nothing was ended');
      assert.equal((await secrets(store)).length, 5);
      const last = await rotate(store, 0);
      assert.deepEqual(await secrets(store), [last.secret]);
    });
  });

  describe('activateTested', () => {
    it('begins behind what was committed before it, and lets what waits go on', async () => {
      const store = await open(engine);
      await store.make();
      const pet = await store.pet();
      const active = await store.activate();
      assert.deepEqual([active.status, active.version, active.failingSince], ['active', 2, null]);
      const place = await lastPlace(store.database);
      const { behind_place, due_at } = (await store.webhook())!;
      assert.deepEqual([behind_place, due_at], [place, null]);
      await store.wait(1);
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await store.database.write(tx => updatePet(tx, owner, pet, { name: 'Moritz' }, 'open'));
      await store.activate();
      const later = (await store.webhook())!;
      assert.equal(later.behind_place, await lastPlace(store.database));
      assert.ok(later.behind_place > place);
      assert.equal(later.due_at, START);
    });

    it('moves on how far deliveries were made where no other webhook is active, and else leaves it', async () => {
      const store = await open(engine);
      await store.make();
      await store.make(stranger);
      await store.pet();
      await store.activate(1);
      const first = await store.dispatched();
      assert.equal(first, await lastPlace(store.database));
      assert.ok(first > 0);
      await store.pet();
      await store.activate(2, stranger);
      assert.equal(await store.dispatched(), first, 'the first one still gets what came between');
      assert.ok((await lastPlace(store.database)) > first);
    });

    it('refuses what was changed while it was tested, and stays as it is where somebody else was quicker', async () => {
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
        assert.match((await refusal(late, 'webhook_test_failed')).message, /was changed while it was tested/);
        assert.notEqual((await getWebhook(store.database, owner, webhook.id)).status, 'active');
      }
      const { webhook: gone } = await store.make();
      await store.database.write(tx => deleteWebhook(tx, owner, gone.id));
      await refusal(
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

    it('never activates a URL that was not tested where an active one was seen before its deactivation', async () => {
      const store = await open(engine);
      await store.make();
      const active = await store.activate();
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await refusal(
        store.database.write(tx => activateTested(tx, owner, active)),
        'webhook_test_failed',
      );
    });
  });

  describe('disableWebhook', () => {
    it('switches it off in the name of the operator, once; its activation takes it back', async () => {
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

  describe('deliveries', () => {
    it('are listed newest first, page by page both ways, by status and by event', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.wait(5);
      await store.make(stranger);
      const page = (cursor?: string, filter = {}) => listDeliveries(store.database, 1, filter, 2, cursor);
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
      assert.deepEqual(idsOf(await page(undefined, { status: 'delivered' })), [1], 'the test of the activation');
      assert.deepEqual(idsOf(await page(undefined, { status: 'failed' })), []);
      const place = (await page()).rows[0]!.place!;
      assert.deepEqual(idsOf(await page(undefined, { eventId: idAt(place) })), [6]);
      assert.deepEqual(idsOf(await page(undefined, { eventId: idAt(place), status: 'failed' })), []);
      assert.deepEqual((await listDeliveries(store.database, 2, {}, 20, undefined)).rows, []);
      await refusal(page(first.next, { status: 'pending' }), 'invalid_parameter');
    });

    it('are shown with every attempt; what was answered stands with one alone', async () => {
      const store = await open(engine);
      const { webhook } = await store.make();
      const answer = 'Not today.';
      const test = { at: START, outcome: { status: 503, body: answer, durationMs: 12.4 } };
      await store.database.write(tx => keepTest(tx, webhook.id, test));
      const fault = { at: START, outcome: { fault: 'timeout' as const, durationMs: 15_000 } };
      await store.database.write(tx => keepTest(tx, webhook.id, fault));
      const at = '2026-11-21T12:00:00.000Z';
      const common = { type: 'webhook.test', status: 'failed', createdAt: at, updatedAt: at };
      const answered = { number: 1, at, durationMs: 12, status: 503 };
      const unanswered = { id: 2, ...common, attempts: [{ number: 1, at, durationMs: 15_000, fault: 'timeout' }] };
      const { rows } = await listDeliveries(store.database, 1, {}, 20, undefined);
      assert.deepEqual(rows.map(deliveryOf), [unanswered, { id: 1, ...common, attempts: [answered] }]);
      const one = deliveryOf(await getDelivery(store.database, 1, 1));
      assert.deepEqual(one, { id: 1, ...common, attempts: [{ ...answered, answer }] });
      await store.make();
      await refusal(getDelivery(store.database, 2, 1), 'delivery_not_found');
      await refusal(getDelivery(store.database, 1, 3), 'delivery_not_found');
    });

    it('are forgotten as long after they were done with as events are told; those that wait stay', async () => {
      const store = await open(engine);
      await store.make();
      await store.activate();
      await store.wait(2);
      store.clock.advance(30 * DAY);
      const forget = () => store.database.write(tx => forgetOldDeliveries(tx, 30 * DAY, 100));
      assert.equal(await forget(), 0);
      store.clock.advance(1);
      assert.equal(await forget(), 2, 'the test and its attempt');
      assert.equal(await forget(), 0);
      const { rows } = await listDeliveries(store.database, 1, {}, 20, undefined);
      assert.deepEqual(
        rows.map(({ status }) => status),
        ['pending', 'pending'],
      );
    });
  });

  describe('redelivery', () => {
    it('makes one more delivery of an event, also of one that the webhook does not ask for', async () => {
      const store = await open(engine);
      await store.make(owner, { url: URL, types: ['order.*'] });
      await store.pet();
      await store.activate();
      const again = (eventId: string, actor: Actor = owner, seenBy: Actor = owner, keptFrom = 0) =>
        store.database.write(tx => redeliverEvent(tx, actor, 1, eventId, seenBy, keptFrom));
      await again('evt_1');
      const { rows } = await listDeliveries(store.database, 1, { eventId: 'evt_1' }, 20, undefined);
      assert.deepEqual(
        rows.map(({ type, status, dueAt }) => [type, status, dueAt]),
        [['pet.created', 'pending', START]],
      );
      assert.equal((await store.webhook())!.due_at, START);
      await refusal(again('evt_1', stranger), 'webhook_not_found');
      await refusal(again('evt_999'), 'event_not_found');
      await refusal(again('evt_0'), 'event_not_found');
      await refusal(again('evt_1', owner, owner, START + 1), 'event_not_found');
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await refusal(again('evt_1'), 'webhook_not_active');
    });

    it('has no event that the owner of the webhook may not see, whoever asks', async () => {
      const store = await open(engine);
      await store.make(stranger);
      const petId = await store.pet();
      const third = { accountId: 4, admin: false };
      await store.database.write(tx => createHold(tx, third, { petIds: [petId] }, 10));
      await store.activate(1, stranger);
      const held = idAt(await lastPlace(store.database));
      const again = (eventId: string, seenBy: Actor) =>
        store.database.write(tx => redeliverEvent(tx, admin, 1, eventId, seenBy, 0));
      const events = Array.from({ length: await lastPlace(store.database) }, (_, index) => idAt(index + 1));
      const outcomes = await Promise.all(
        events.map(id =>
          again(id, stranger).then(
            () => 'done',
            (error: Problem) => error.code,
          ),
        ),
      );
      assert.deepEqual(new Set(outcomes), new Set(['done', 'event_not_found']));
      assert.ok(events.includes(held));
      await Promise.all(events.map(id => again(id, admin)));
    });

    it('of everything since a time is one at once, of an active webhook, and of what is still told', async () => {
      const store = await open(engine);
      await store.make();
      const since = (time: number, actor: Actor = owner) =>
        store.database.write(tx => redeliverSince(tx, actor, 1, time, START - DAY));
      await refusal(since(START), 'webhook_not_active');
      await store.pet();
      await store.activate();
      await refusal(since(START, stranger), 'webhook_not_found');
      assert.match((await refusal(since(START - DAY - 1), 'events_expired')).message, /2026-11-20T12:00:00/);
      const { id } = await since(START - DAY);
      const [row] = await store.database.all(everyRedelivery, {});
      const upTo = await lastPlace(store.database);
      assert.deepEqual(row, { id, webhook_id: 1, place: 0, up_to: upTo, since: START - DAY, created_at: START });
      assert.match((await refusal(since(START), 'redelivery_running')).message, /2026-11-20T12:00:00/);
    });
  });
});

/** What was opened for a test and is not a database. */
const opened: { close(): Promise<void> }[] = [];
after(() => Promise.all(opened.splice(0).map(one => one.close())));

type Store = Awaited<ReturnType<typeof open>>;

/** A store whose webhooks' receiver takes everything, on a clock that stands. */
async function open(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  const receiver = await startReceiver();
  const outgoing = openOutgoingClient(rules);
  opened.push(outgoing, receiver);
  const means = { database, outgoing, secrets: box, now: () => clock.now() };
  const make = (actor: Actor & { accountId: number } = owner, wish: NewWebhook = { url: receiver.url }) =>
    database.write(tx => createWebhook(tx, actor, wish, rules, box));
  return {
    clock,
    database,
    make,
    /** Activates a webhook after a test that its receiver takes, wherever it goes. */
    async activate(id = 1, actor: Actor = owner) {
      const webhook = await getWebhook(database, actor, id);
      const result = await sendTest(means, { id, url: receiver.url });
      await database.write(tx => keepTest(tx, id, result));
      assert.equal('status' in result.outcome && result.outcome.status, 204);
      await putInOrder(database);
      return database.write(tx => activateTested(tx, actor, webhook));
    },
    /** Adds an animal; its id. */
    async pet(): Promise<number> {
      const { id } = await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      await putInOrder(database);
      return id;
    },
    /** Adds so many deliveries of animals that wait. */
    async wait(count: number) {
      const events = Array.from({ length: count }, (_, index) => ({
        place: index + 1,
        type: 'pet.created',
        lane: `pet ${index}`,
      }));
      assert.ok(await database.write(tx => insertDeliveries(tx, 1, events)));
    },
    /** Forgets a few rows; how many. */
    forget: (forget: typeof forgetDeletedWebhooks) => database.write(tx => forget(tx, 40)),
    webhook: () => database.first(webhookRow, {}),
    dispatched: async () => Number((await database.first(dispatchedPlace, {}))!.value),
  };
}

/** The refusal that work ends with, which has to have this code. */
async function refusal(work: Promise<unknown>, code: string): Promise<Problem> {
  const error = await work.then(
    () => assert.fail(`not refused with ${code}`),
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
