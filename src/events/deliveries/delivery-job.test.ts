import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import {
  attemptsOf,
  DAY,
  deliveriesOf,
  failSince,
  failWith,
  leadTo,
  never,
  SECOND,
  schedule,
  spoilSecret,
  succeed,
  webhookById,
  withDeliveryStore,
} from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { startReceiver } from '../../../test/support/receiver.ts';
import { DELIVERY_TIMEOUT_MS } from '../../model/rules.ts';
import type { ClaimedDelivery } from './claim.ts';
import { deliveryJob } from './delivery-job.ts';
import { dispatch } from './dispatch-job.ts';

onEachEngine(engine => {
  const open = (work: Parameters<typeof withDeliveryStore>[1]) => withDeliveryStore(engine, work);

  describe('deliveryJob', () => {
    it('keeps the order of events with the same ordering key, and delays no others', () =>
      open(async ({ webhook, deliver, pet, rename, receiver, clock, names }) => {
        await webhook();
        const one = await pet('one');
        const other = await pet('other');
        await deliver();
        await rename(one, 'one again');
        await rename(other, 'other again');
        await rename(one, 'one at last');
        receiver.respond = ({ body }, response) =>
          response.writeHead(JSON.parse(body).data.name === 'one again' ? 500 : 200).end();
        await deliver();
        assert.deepEqual(names().slice(2).sort(), ['one again', 'other again']);
        receiver.respond = succeed;
        await deliver();
        assert.equal(names().length, 4, 'no attempt before the schedule');
        clock.advance(6 * SECOND);
        await deliver();
        assert.deepEqual(names().slice(4), ['one again', 'one at last']);
      }));

    it('follows the retry schedule, then marks the delivery failed and continues with the next one', () =>
      open(async ({ webhook, deliver, pet, rename, receiver, clock, names, database }) => {
        const { id } = await webhook();
        const one = await pet('one');
        await rename(one, 'two');
        receiver.respond = ({ body }, response) =>
          response.writeHead(JSON.parse(body).data.name === 'one' ? 503 : 200).end('broken');
        await deliver();
        for (const waitMs of schedule) {
          clock.advance(waitMs * 0.89);
          await deliver();
          const before = receiver.received.length;
          clock.advance(waitMs * 0.22);
          await deliver();
          assert.ok(receiver.received.length > before);
        }
        clock.advance(2 * SECOND);
        await deliver();
        assert.deepEqual(names(), ['one', 'one', 'one', 'two']);
        const [failed, delivered] = await database.all(deliveriesOf, { id });
        assert.equal(failed!.status, 'failed');
        assert.equal(delivered!.status, 'delivered');
        const attempts = await database.all(attemptsOf, { id: failed!.id });
        assert.deepEqual(
          attempts.map(({ number, status, answer }) => [number, status, answer]),
          [1, 2, 3].map(number => [number, 503, 'broken']),
        );
        const ids = receiver.received.slice(0, 3).map(({ headers }) => headers['webhook-id']);
        assert.equal(new Set(ids).size, 1);
      }));

    it('backs off from a receiver that has failed for long, until a delivery succeeds', () =>
      open(async ({ webhook, deliver, pet, receiver, clock }) => {
        await webhook();
        for (let added = 0; added < 200; added++) await pet();
        receiver.respond = failWith(500);
        await deliver();
        assert.equal(receiver.received.length, 200, 'no backoff right after the first failure');
        clock.advance(40 * SECOND);
        for (const [ms, attempts] of [
          [0, 1],
          [790, 0],
          [20, 1],
          [100_000, 1],
          [1990, 0],
          [20, 1],
        ] as const) {
          const had: number = receiver.received.length;
          clock.advance(ms);
          await deliver();
          assert.equal(receiver.received.length - had, attempts, `after ${ms} ms`);
        }
        // New events also wait until the backoff ends.
        const before: number = receiver.received.length;
        await pet();
        await deliver();
        assert.equal(receiver.received.length, before);
        clock.advance(2000);
        receiver.respond = succeed;
        await deliver();
        assert.ok(receiver.received.length - before > 150, 'everything that is due');
      }));

    it('respects Retry-After', () =>
      open(async ({ webhook, deliver, pet, receiver, clock }) => {
        await webhook();
        await pet();
        receiver.respond = failWith(429, { 'retry-after': '60' });
        await deliver();
        clock.advance(59 * SECOND);
        receiver.respond = succeed;
        await deliver();
        assert.equal(receiver.received.length, 1);
        clock.advance(2 * SECOND);
        await deliver();
        assert.equal(receiver.received.length, 2);
      }));

    it('treats a redirect as a failure', () =>
      open(async ({ webhook, deliver, pet, receiver, database }) => {
        const { id } = await webhook();
        await pet();
        receiver.respond = failWith(302, { location: receiver.url });
        await deliver();
        assert.equal(receiver.received.length, 1);
        assert.equal((await database.all(deliveriesOf, { id }))[0]!.status, 'pending');
      }));

    it('disables the webhook of a receiver that responds 410, and reports it once', () =>
      open(async ({ webhook, deliver, pet, receiver, disabled, database }) => {
        const { id } = await webhook();
        await pet('one');
        await pet('two');
        receiver.respond = failWith(410);
        await deliver();
        const row = (await database.first(webhookById, { id }))!;
        assert.equal(row.status, 'disabled');
        assert.equal(row.disabled_reason, 'gone');
        assert.deepEqual(disabled, [{ id, accountId: 1, url: receiver.url, reason: 'gone' }]);
        await pet('three');
        await deliver();
        assert.ok(receiver.received.length <= 2);
      }));

    it('ignores results for a replaced URL, and sends the delivery to the new one', () =>
      open(async ({ webhook, deliver, pet, worker, clock, database, receiver, disabled }) => {
        const old = await startReceiver();
        try {
          old.respond = failWith(410);
          const { id } = await webhook({ to: old });
          await pet('Minka');
          while ((await dispatch(database, database)) > 0);
          const { jobs } = await worker.claim(256);
          assert.equal(jobs.length, 1);
          await database.write(tx => tx.run(leadTo, { id, url: receiver.url }));
          await worker.run(jobs[0]!, never);
          assert.equal(old.received.length, 1);
          const { status, failing_since } = (await database.first(webhookById, { id }))!;
          assert.deepEqual({ status, failing_since }, { status: 'active', failing_since: null });
          assert.deepEqual(disabled, []);
          clock.advance(6 * SECOND);
          await deliver();
          assert.equal(receiver.received.length, 1);
        } finally {
          await old.close();
        }
      }));

    it('disables a webhook that has failed for five days, not before', () =>
      open(async ({ webhook, deliver, pet, receiver, disabled, database, clock }) => {
        const { id } = await webhook();
        receiver.respond = failWith(500);
        for (let day = 0; day < 5; day++) {
          await pet();
          await deliver();
          assert.deepEqual(disabled, []);
          clock.advance(DAY);
        }
        await deliver();
        assert.deepEqual(disabled, [{ id, accountId: 1, url: receiver.url, reason: 'failing' }]);
        assert.equal((await database.first(webhookById, { id }))!.status, 'disabled');
      }));

    it('disables no webhook for failures of the service itself', () =>
      open(async ({ webhook, deliver, pet, receiver, disabled, database, clock, deps }) => {
        const { id } = await webhook();
        receiver.respond = failWith(500);
        await pet();
        await deliver();
        clock.advance(5 * DAY);
        const post = async () => ({ fault: 'aborted', durationMs: 0 }) as const;
        await deliver(deliveryJob({ ...deps, outgoing: { ...deps.outgoing, post } }));
        assert.deepEqual(disabled, []);
        clock.advance(6 * SECOND);
        receiver.respond = succeed;
        await deliver();
        assert.equal((await database.first(webhookById, { id }))!.failing_since, null);
      }));

    it('attempts failing webhooks while healthy ones always have due deliveries', () =>
      open(async ({ webhook, pet, database, deps, clock }) => {
        const hooks = await Promise.all(Array.from({ length: 10 }, () => webhook()));
        for (let added = 0; added < 10; added++) await pet();
        while ((await dispatch(database, database)) > 0);
        const { id } = hooks[0]!;
        await database.write(tx => tx.run(failSince, { id, at: clock.now() }));
        const post = async () => ({ status: 200, body: '', durationMs: 1 });
        const busy = deliveryJob({ ...deps, outgoing: { ...deps.outgoing, post } });
        const sentTo: number[] = [];
        for (let round = 0; round < 3; round++) {
          const { jobs } = await busy.claim(4);
          sentTo.push(...jobs.map(({ webhookId }) => webhookId));
          for (const job of jobs) await busy.run(job, never);
        }
        assert.ok(sentTo.includes(id), String(sentTo));
      }));

    it('resets failingSince with the first success', () =>
      open(async ({ webhook, deliver, pet, receiver, disabled, database, clock }) => {
        const { id } = await webhook();
        receiver.respond = failWith(500);
        await pet();
        await deliver();
        clock.advance(4 * DAY);
        receiver.respond = succeed;
        await deliver();
        assert.equal((await database.first(webhookById, { id }))!.failing_since, null);
        clock.advance(4 * DAY);
        receiver.respond = failWith(500);
        await pet();
        await deliver();
        assert.deepEqual(disabled, []);
      }));

    it('attempts one delivery at a time to a failing receiver, without delaying others', () =>
      open(async ({ webhook, deliver, pet, receiver, worker, clock, database }) => {
        const slow = await startReceiver();
        try {
          slow.respond = failWith(500);
          const { id } = await webhook({ to: slow });
          await pet();
          await deliver();
          const good = await webhook();
          for (let n = 0; n < 40; n++) await pet(`number ${n}`);
          while ((await dispatch(database, database)) > 0);
          clock.advance(6 * SECOND);
          const { jobs } = await worker.claim(256);
          const of = (webhookId: number) => jobs.filter((job: ClaimedDelivery) => job.webhookId === webhookId).length;
          assert.equal(of(id), 1);
          assert.equal(of(good.id), 16);
          slow.respond = succeed;
          await Promise.all(jobs.map(job => worker.run(job, never)));
          await deliver();
          assert.equal(receiver.received.length, 40);
          assert.equal(slow.received.length, 42);
        } finally {
          await slow.close();
        }
      }));

    it('frees the slots of slow deliveries after a second, and then claims fewer for their webhooks', () =>
      open(async ({ webhook, deliver, pet, receiver, deps, database }) => {
        const { promise: room, resolve } = Promise.withResolvers<void>();
        let stood = 0;
        const onFreeSlot = () => {
          if (++stood === 256) resolve();
        };
        const worker = deliveryJob({ ...deps, onFreeSlot });
        const slow = await startReceiver();
        const waiting: ServerResponse[] = [];
        try {
          slow.respond = (_, response) => waiting.push(response);
          const slowIds: number[] = [];
          for (let n = 0; n < 16; n++) slowIds.push((await webhook({ to: slow })).id);
          for (let n = 0; n < 20; n++) await pet(`number ${n}`);
          while ((await dispatch(database, database)) > 0);
          // A busy process claims fewer deliveries at a time.
          const claimAll = async () => {
            const jobs: Awaited<ReturnType<typeof worker.claim>>['jobs'][number][] = [];
            for (let claimed = await worker.claim(1024); claimed.jobs.length > 0; claimed = await worker.claim(1024))
              jobs.push(...claimed.jobs);
            return jobs;
          };
          const first = await claimAll();
          assert.equal(first.length, 256);
          const { id } = await webhook();
          await pet('Minka');
          while ((await dispatch(database, database)) > 0);

          const ends = first.map(job => worker.run(job, never));
          assert.equal((await worker.claim(1024)).jobs.length, 0);
          await room;
          const next = (await worker.claim(1024)).jobs;
          assert.deepEqual(
            next.map(({ webhookId }) => webhookId),
            [id],
          );
          await Promise.all(next.map(job => worker.run(job, never)));
          assert.equal(receiver.received.length, 1);

          // On a busy machine, some deliveries arrive only now.
          slow.respond = succeed;
          for (const response of waiting) response.writeHead(204).end();
          await Promise.all(ends);
          const rest = await claimAll();
          for (const slowId of slowIds) assert.equal(rest.filter(({ webhookId }) => webhookId === slowId).length, 4);
          await Promise.all(rest.map(job => worker.run(job, never)));
          await deliver(worker);
          assert.equal(slow.received.length, 16 * 21);
        } finally {
          await slow.close();
        }
      }));

    it('delays no other webhook if one secret cannot be decrypted', () =>
      open(async ({ webhook, pet, receiver, worker, database }) => {
        const { id } = await webhook();
        const good = await webhook();
        await database.write(tx => tx.run(spoilSecret, { id }));
        await pet();
        while ((await dispatch(database, database)) > 0);
        const { jobs } = await worker.claim(256);
        const done = await Promise.allSettled(jobs.map(job => worker.run(job, never)));
        assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
        assert.equal(receiver.received.length, 1);
        assert.equal((await database.all(deliveriesOf, { id: good.id }))[0]!.status, 'delivered');
        assert.equal((await database.all(deliveriesOf, { id }))[0]!.status, 'pending');
      }));

    it('sends the claimed deliveries of an ended process again', () =>
      open(async ({ webhook, deliver, pet, receiver, worker, deps, clock, database }) => {
        await webhook();
        await pet();
        while ((await dispatch(database, database)) > 0);
        assert.equal((await worker.claim(256)).jobs.length, 1);
        const next = deliveryJob(deps);
        await deliver(next);
        assert.equal(receiver.received.length, 0);
        if (engine.name === 'sqlite') await next.init!();
        else {
          // The lease covers the wait for a connection and the attempt.
          clock.advance(2 * DELIVERY_TIMEOUT_MS);
          await deliver(next);
          assert.equal(receiver.received.length, 0);
          clock.advance(6 * SECOND);
        }
        await deliver(next);
        assert.equal(receiver.received.length, 1);
      }));
  });
});
