import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY, owner, START } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { admin, openWebhookStore, rejection, rules, stranger, URL } from '../../../test/support/webhook-store.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { deliveryOf } from '../../model/delivery.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { assignPositions, lastPosition } from '../../model/log/ordering.ts';
import { eventIdAt } from '../../model/public-event.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import { query } from '../../model/schema.ts';
import { createHold } from '../../store/holds/holds.ts';
import { updatePet } from '../../store/pets/pets.ts';
import { deactivateWebhook, deleteWebhook, disableWebhook, getWebhook, updateWebhook } from '../webhooks/webhooks.ts';
import { activateTested } from './activate-webhook.ts';
import { getDelivery, listDeliveries } from './deliveries.ts';
import { redeliverEvent, redeliverSince } from './redeliveries.ts';
import { deleteOldDeliveries, deleteUnusedDeliveries } from './retention.ts';
import { storeTest } from './test-delivery.ts';

onEachEngine(engine => {
  describe('activateTested', () => {
    it('starts after the events committed before it, and continues pending deliveries', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      const pet = await store.pet();
      const position = await lastPosition(store.database);
      const active = await store.activate();
      assert.deepEqual([active.status, active.version, active.failingSince], ['active', 2, null]);
      const { behind_place, due_at } = (await store.webhook())!;
      assert.deepEqual([behind_place, due_at], [position, null]);
      await store.addPending(1);
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await store.database.write(tx => updatePet(tx, owner, pet, { name: 'Moritz' }, 'open'));
      await assignPositions(store.database);
      const end = await lastPosition(store.database);
      await store.activate();
      const later = (await store.webhook())!;
      assert.equal(later.behind_place, end);
      assert.ok(later.behind_place > position);
      assert.equal(later.due_at, START);
    });

    it('skips earlier events in the dispatch only if no other webhook is active', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.make(stranger);
      await store.pet();
      const end = await lastPosition(store.database);
      await store.activate(1);
      const first = await store.dispatched();
      assert.equal(first, end);
      assert.ok(first > 0);
      await store.pet();
      await store.activate(2, stranger);
      assert.equal(await store.dispatched(), first, 'the first webhook still receives the events in between');
      assert.ok((await lastPosition(store.database)) > first);
    });

    it('rejects a webhook that changed during the test, and accepts a concurrent activation', async () => {
      const store = await openWebhookStore(engine);
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
      const store = await openWebhookStore(engine);
      await store.make();
      const active = await store.activate();
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await rejection(
        store.database.write(tx => activateTested(tx, owner, active)),
        'webhook_test_failed',
      );
    });
  });

  describe('Deliveries', () => {
    it('are listed newest first, in both directions, and filtered by status and event', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.activate();
      await store.addPending(5);
      await store.make(stranger);
      const page = (cursor?: string, filter = {}) =>
        listDeliveries(store.database, operator, 1, filter, { limit: 2, cursor });
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
      assert.deepEqual((await listDeliveries(store.database, operator, 2, {}, { limit: 20 })).rows, []);
      await rejection(page(first.next, { status: 'pending' }), 'invalid_parameter');
    });

    it('are shown with every attempt; only a single delivery includes response bodies', async () => {
      const store = await openWebhookStore(engine);
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
      const { rows } = await listDeliveries(store.database, operator, 1, {}, { limit: 20 });
      assert.deepEqual(rows.map(deliveryOf), [unanswered, { id: 1, ...common, attempts: [answered] }]);
      const one = deliveryOf(await getDelivery(store.database, operator, 1, 1));
      assert.deepEqual(one, { id: 1, ...common, attempts: [{ ...answered, answer: body }] });
      await store.make();
      await rejection(getDelivery(store.database, operator, 2, 1), 'delivery_not_found');
      await rejection(getDelivery(store.database, operator, 1, 3), 'delivery_not_found');
    });

    it('are deleted once events have expired, except pending ones', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.activate();
      await store.addPending(2);
      store.clock.advance(30 * DAY);
      const deleteOld = () => store.database.write(tx => deleteOldDeliveries(tx, 30 * DAY, 100));
      assert.equal(await deleteOld(), 0);
      store.clock.advance(1);
      assert.equal(await deleteOld(), 2, 'the test and its attempt');
      assert.equal(await deleteOld(), 0);
      const { rows } = await listDeliveries(store.database, operator, 1, {}, { limit: 20 });
      assert.deepEqual(
        rows.map(({ status }) => status),
        ['pending', 'pending'],
      );
    });
  });

  describe('deleteUnusedDeliveries', () => {
    it('deletes what is pending to a webhook that was not active for as long as events are retained', async () => {
      const store = await openWebhookStore(engine);
      await store.make();
      await store.pet();
      await store.activate();
      await store.addPending(25);
      await store.database.write(tx => redeliverSince(tx, owner, 1, START, 0));
      const deleteUnused = () => store.database.write(tx => deleteUnusedDeliveries(tx, 30 * DAY, 80));
      store.clock.advance(31 * DAY);
      assert.equal(await deleteUnused(), 0, 'active');
      await store.database.write(tx => disableWebhook(tx, operator, 1));
      store.clock.advance(30 * DAY);
      assert.equal(await deleteUnused(), 0, 'not long enough');
      store.clock.advance(1);
      assert.equal(await deleteUnused(), 20);
      assert.equal((await store.webhook())!.pending, 5);
      assert.equal(await deleteUnused(), 7, 'the other deliveries, the redelivery, and the webhook has none');
      assert.equal(await deleteUnused(), 0);
      assert.equal((await store.webhook())!.pending, 0);
      const { rows } = await listDeliveries(store.database, operator, 1, {}, { limit: 20 });
      assert.deepEqual(
        rows.map(({ type }) => type),
        ['webhook.test'],
      );
      assert.deepEqual(await store.database.all(everyRedelivery, {}), []);
    });
  });

  describe('Redelivery', () => {
    it('delivers an event again, even if the webhook does not subscribe to it', async () => {
      const store = await openWebhookStore(engine);
      await store.pet();
      await store.make(owner, { url: URL, types: ['order.*'] });
      await store.activate();
      const again = (eventId: string, actor: Actor = owner, visibleTo: Actor = owner, retainedFrom = 0) =>
        store.database.write(tx => redeliverEvent(tx, actor, 1, eventId, visibleTo, retainedFrom));
      await again('evt_1');
      const { rows } = await listDeliveries(store.database, operator, 1, { eventId: 'evt_1' }, { limit: 20 });
      assert.deepEqual(
        rows.map(({ type, status, dueAt }) => [type, status, dueAt]),
        [['pet.created', 'pending', START]],
      );
      assert.equal((await store.webhook())!.due_at, START);
      await rejection(again('evt_1', stranger), 'webhook_not_found');
      await rejection(again('evt_999'), 'event_not_found');
      await rejection(again('evt_0'), 'event_not_found');
      await rejection(again('evt_1', owner, owner, START + 1), 'event_not_found');
      await store.addPending(PENDING_MAX - 1);
      const full = await rejection(again('evt_1'), 'delivery_limit_exceeded');
      assert.match(full.message, /10,000 pending deliveries/);
      await store.database.write(tx => deactivateWebhook(tx, owner, 1));
      await rejection(again('evt_1'), 'webhook_not_active');
    });

    it('rejects events that the owner of the webhook cannot see, even for admins', async () => {
      const store = await openWebhookStore(engine);
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
      const store = await openWebhookStore(engine);
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

const everyRedelivery = query(db => db.selectFrom('redeliveries').selectAll());
