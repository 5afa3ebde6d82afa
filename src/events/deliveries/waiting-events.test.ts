import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deliveriesOf,
  finish,
  owner,
  START,
  webhookById,
  withDeliveryStore,
} from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { recordEvents } from '../../model/log/log.ts';
import { assignPositions, lastPosition } from '../../model/log/ordering.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import type { Database } from '../../model/schema.ts';
import { type Params, query, sql } from '../../model/schema.ts';
import { deactivateWebhook } from '../webhooks/webhooks.ts';
import { activateTested } from './activate-webhook.ts';
import { dispatch, nextDispatch } from './dispatch-job.ts';
import { redeliverSince } from './redeliveries.ts';
import { FULL_ABOVE } from './waiting-events.ts';

const due = query((db, _: Params<Record<never, never>>, engine) =>
  db.selectNoFrom(nextDispatch(db, engine).as('dueAt')),
);
const countPending = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('webhook_id', '=', p.id)
    .where('status', '=', sql.lit('pending')),
);

async function recordMany(database: Database, count: number, firstId = 1) {
  const events = Array.from({ length: count }, (_, index) => {
    const data = { pet: { name: 'Minka', categoryId: 2 }, ownerId: 1 };
    return { kind: 'pet' as const, action: 'updated' as const, subjectId: firstId + index, accountId: 1, data };
  });
  await database.write(tx => recordEvents(tx, events));
  await assignPositions(database);
}

async function dispatchAll(database: Database) {
  while ((await dispatch(database, database)) > 0);
}

/** Returns the pending deliveries to a webhook, and asserts that its counter matches. */
async function pendingTo(database: Database, id: number) {
  const { count } = (await database.first(countPending, { id }))!;
  assert.equal((await database.first(webhookById, { id }))!.pending, Number(count));
  return Number(count);
}

async function isFull(database: Database, id: number) {
  const pending = await pendingTo(database, id);
  assert.ok(pending > FULL_ABOVE && pending <= PENDING_MAX, String(pending));
}

const placesOf = async (database: Database, id: number) =>
  (await database.all(deliveriesOf, { id })).map(({ place }) => place!);

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + 1 + index);

onEachEngine(engine => {
  const open = (work: Parameters<typeof withDeliveryStore>[1]) => withDeliveryStore(engine, work);

  describe('Waiting events', () => {
    it('wait in the log while too many deliveries are pending, then follow once each, in order', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const other = await webhook({ types: ['order.*'] });
        const before = await lastPosition(database);
        await recordMany(database, PENDING_MAX + 1700);
        await dispatchAll(database);
        await isFull(database, id);
        assert.equal((await database.first(due, {}))!.dueAt, null, 'nothing to do until deliveries finish');
        await recordMany(database, 100);
        await dispatchAll(database);
        await isFull(database, id);
        assert.equal(await pendingTo(database, other.id), 0);

        await finish(database, id, PENDING_MAX - FULL_ABOVE);
        assert.equal((await database.first(due, {}))!.dueAt, 0);
        await Promise.all([dispatch(database, database), dispatch(database, database)]);
        await dispatchAll(database);
        await isFull(database, id);
        await finish(database, id, PENDING_MAX);
        await dispatchAll(database);
        await recordMany(database, 10);
        await dispatchAll(database);
        const end = await lastPosition(database);
        assert.deepEqual(await placesOf(database, id), range(before, end));
        assert.equal((await database.first(webhookById, { id }))!.waits_up_to, null);
      }));

    it('continue as a redelivery after an activation, without the events in between', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const before = await lastPosition(database);
        await recordMany(database, PENDING_MAX + 700);
        await dispatchAll(database);
        const waitedUpTo = await lastPosition(database);
        const inactive = await database.write(tx => deactivateWebhook(tx, owner, id));
        await recordMany(database, 50);
        await assignPositions(database);
        await database.write(tx => activateTested(tx, owner, inactive));
        await assignPositions(database);
        const activated = await lastPosition(database);
        await recordMany(database, 30);
        await finish(database, id, PENDING_MAX);
        await dispatchAll(database);
        await finish(database, id, PENDING_MAX);
        await dispatchAll(database);
        const places = (await placesOf(database, id)).sort((one, other) => one - other);
        assert.deepEqual(places, [...range(before, waitedUpTo), ...range(activated, activated + 30)]);
      }));

    it('are not sent twice or lost if a transaction fails', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const before = await lastPosition(database);
        await recordMany(database, PENDING_MAX + 1200);
        for (let call = 0; call < 60; call++) {
          const failing = call % 3;
          let writes = 0;
          const flaky = Object.assign(Object.create(database) as Database, {
            all: database.all.bind(database),
            first: database.first.bind(database),
            write: (work: Parameters<Database['write']>[0]) =>
              database.write(async tx => {
                const result = await work(tx);
                if (writes++ === failing) throw new Error('killed');
                return result;
              }),
          });
          await dispatch(flaky, database).catch(error => assert.equal(error.message, 'killed'));
          await dispatch(database, database);
          await finish(database, id, 300);
          if (call % 4 === 0) await recordMany(database, 20);
        }
        const pending = await pendingTo(database, id);
        await finish(database, id, pending);
        await dispatchAll(database);
        assert.deepEqual(await placesOf(database, id), range(before, await lastPosition(database)));
      }));
  });

  describe('A redelivery', () => {
    it('has few pending deliveries at a time, runs until all have followed, and does not block others', () =>
      open(async ({ webhook, database }) => {
        await assignPositions(database);
        const before = await lastPosition(database);
        await recordMany(database, 2600);
        const { id } = await webhook({ types: ['pet.*'] });
        const { id: second } = await webhook({ types: ['pet.*'] });
        const since = (webhookId: number) => database.write(tx => redeliverSince(tx, owner, webhookId, START, 0));
        await since(id);
        await since(second);
        await dispatchAll(database);
        const pending = await pendingTo(database, id);
        assert.ok(pending > 500 && pending <= 1000, String(pending));
        assert.equal(await pendingTo(database, second), pending);
        assert.equal((await database.first(due, {}))!.dueAt, null);
        await assert.rejects(since(id), { code: 'redelivery_running' });
        await recordMany(database, 1);
        await dispatchAll(database);
        assert.equal(await pendingTo(database, id), pending + 1, 'new events do not wait for the redelivery');
        const end = await lastPosition(database);
        for (let turn = 0; turn < 3; turn++) {
          await finish(database, id, await pendingTo(database, id));
          await dispatchAll(database);
        }
        const places = (await placesOf(database, id)).sort((one, other) => one - other);
        // Between the events of pets are the events of the two redeliveries.
        assert.deepEqual(places, [...range(before, end - 3), end]);
        await since(id);
      }));
  });
});
