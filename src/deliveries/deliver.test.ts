import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { createAccount } from '../accounts/accounts.ts';
import { mergeCategory } from '../categories/merge/merge.ts';
import { operator } from '../events/event.ts';
import { lastPlace, putInOrder } from '../events/log.ts';
import { createHold } from '../holds/holds.ts';
import { testClock } from '../lib/clock.ts';
import { openOutgoingClient, TIMEOUT_MS } from '../lib/http/client/client.ts';
import { secretBox } from '../lib/secret-box.ts';
import { signed } from '../lib/signature.ts';
import { sendMessage } from '../messages/messages.ts';
import { placeOrder } from '../orders/orders.ts';
import { cancelOrder } from '../orders/steps.ts';
import { createPet, deletePet, updatePet } from '../pets/pets.ts';
import { type Params, query, type Soon, type Transaction } from '../schema.ts';
import { sealedFor } from '../webhooks/webhook-rows.ts';
import { delivering, type Job } from './deliver.ts';
import { dispatch } from './dispatch.ts';
import type { SwitchedOff } from './record-result.ts';
import { redeliverSince } from './redeliveries.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;
const owner = { accountId: 1, admin: false };
const buyer = { accountId: 2, admin: false };
const never = new AbortController().signal;
const box = secretBox(Buffer.alloc(32, 7));
const schedule = [5 * SECOND, 5 * MINUTE];

const deliveriesOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('deliveries').selectAll().where('webhook_id', '=', p.id).orderBy('id'),
);
const deliveriesMade = query(db =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('deliveries'))
    .groupBy('webhook_id'),
);
const bound = (of: Transaction, name: string | symbol) => {
  const value = Reflect.get(of, name, of);
  return typeof value === 'function' ? value.bind(of) : value;
};
const attemptsOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('delivery_attempts').selectAll().where('delivery_id', '=', p.id).orderBy('number'),
);
const webhookById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', p.id),
);
type NewHook = { accountId: number; url: string; types: string | null; categories: string | null; place: number };
const insertWebhook = query((db, p: Params<NewHook & { now: number }>) =>
  db
    .insertInto('webhooks')
    .values({
      account_id: p.accountId,
      url: p.url,
      types: p.types,
      category_ids: p.categories,
      status: 'active',
      behind_place: p.place,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);
const leadTo = query((db, p: Params<{ id: number; url: string }>) =>
  db.updateTable('webhooks').set({ url: p.url }).where('id', '=', p.id),
);
const insertSecret = query((db, p: Params<{ id: number; secret: string; now: number; until: number | null }>) =>
  db
    .insertInto('webhook_secrets')
    .values({ webhook_id: p.id, secret: p.secret, created_at: p.now, expires_at: p.until }),
);

const failSince = query((db, p: Params<{ id: number; at: number }>) =>
  db.updateTable('webhooks').set({ failing_since: p.at }).where('id', '=', p.id),
);
const spoilSecret = query((db, p: Params<{ id: number }>) =>
  db.updateTable('webhook_secrets').set({ secret: '1.AAAA.AAAA.AAAA' }).where('webhook_id', '=', p.id),
);

onEachEngine(engine => {
  /** A store with three accounts, a receiver, and what delivers, on a clock that stands. */
  async function open(work: (store: Awaited<ReturnType<typeof opened>>) => Promise<void>) {
    const store = await opened();
    try {
      await work(store);
    } finally {
      await store.outgoing.close();
      await store.receiver.close();
    }
  }

  async function opened() {
    const clock = testClock(START);
    const database = await engine.open({ clock });
    await database.write(async tx => {
      for (const email of ['ada', 'bob', 'eve']) await createAccount(tx, { email: `${email}@example.org`, name: 'x' });
      await createAccount(tx, { email: 'root@example.org', name: 'x', admin: true });
    });
    const receiver = await startReceiver();
    const wall = { aheadMs: 0 };
    const now = () => clock.now() + wall.aheadMs;
    const outgoing = openOutgoingClient({ networks: ['127.0.0.0/8'] }, { timeoutMs: 2000, now });
    const told: SwitchedOff[] = [];
    const means = {
      database,
      registry: database,
      outgoing,
      secrets: box,
      scheduleMs: schedule,
      async tellOwner(_: unknown, webhook: SwitchedOff) {
        told.push(webhook);
      },
      now: () => clock.now(),
    };
    const worker = delivering(means);

    /** A webhook that is active from now on. */
    async function webhook(
      more: { accountId?: number; types?: string[]; categoryIds?: number[]; to?: Receiver } = {},
    ): Promise<{ id: number; secret: Buffer }> {
      await putInOrder(database);
      const place = await lastPlace(database);
      const secret = randomBytes(32);
      const { id } = await database.write(async tx => {
        const row = (await tx.first(insertWebhook, {
          accountId: more.accountId ?? 1,
          url: (more.to ?? receiver).url,
          types: more.types ? JSON.stringify(more.types) : null,
          categories: more.categoryIds ? JSON.stringify(more.categoryIds) : null,
          place,
          now: tx.now,
        }))!;
        await tx.run(insertSecret, {
          id: row.id,
          secret: box.seal(secret, sealedFor(row.id)),
          now: tx.now,
          until: null,
        });
        return row;
      });
      return { id, secret };
    }

    /** Does all that is due now. */
    async function deliver(by = worker) {
      while ((await dispatch(database, database)) > 0);
      for (;;) {
        const { jobs } = await by.take(256);
        if (jobs.length === 0) return;
        await Promise.all(jobs.map(job => by.work(job, never)));
      }
    }

    const types = () => receiver.received.map(({ body }) => JSON.parse(body).type as string);
    const pet = (name = 'Minka', categoryId = 2) =>
      database.write(tx => createPet(tx, 1, { name, categoryId }, 'open')).then(({ id }) => id);
    const rename = (id: number, name: string) =>
      database.write(tx => updatePet(tx, owner, id, { name }, 'open')).then(() => undefined);
    const names = () => receiver.received.map(({ body }) => JSON.parse(body).data.name as string);
    return {
      clock,
      wall,
      database,
      receiver,
      outgoing,
      told,
      means,
      worker,
      webhook,
      deliver,
      types,
      pet,
      rename,
      names,
    };
  }

  const fails = (status: number, headers: Record<string, string> = {}) => {
    const answer: Receiver['answer'] = (_, response) => response.writeHead(status, headers).end('no');
    return answer;
  };
  const takes: Receiver['answer'] = (_, response) => response.writeHead(200).end('thanks');

  describe('dispatch', () => {
    it('gives each webhook what happens from its activation on, once', () =>
      open(async ({ webhook, deliver, pet, receiver, database, names }) => {
        await pet('before');
        const { id, secret } = await webhook();
        await pet('Minka');
        await deliver();
        await deliver();
        assert.deepEqual(names(), ['Minka']);
        const [{ headers, body }] = receiver.received as [Receiver['received'][0]];
        const event = JSON.parse(body);
        assert.equal(event.type, 'pet.created');
        assert.equal(event.timestamp, '2026-11-21T12:00:00.000Z');
        assert.equal(event.accountId, 1);
        const expected = signed(event.id, START, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
        const [delivery, ...others] = await database.all(deliveriesOf, { id });
        assert.deepEqual(others, []);
        assert.equal(delivery!.status, 'delivered');
        const [attempt] = await database.all(attemptsOf, { id: delivery!.id });
        assert.equal(attempt!.status, 204);
      }));

    it('is signed with the time that receivers have, where the clock of the process has been ahead', () =>
      open(async ({ webhook, deliver, pet, receiver, wall }) => {
        const { secret } = await webhook();
        await pet();
        wall.aheadMs = -24 * 60 * MINUTE;
        await deliver();
        const [{ headers, body }] = receiver.received as [Receiver['received'][0]];
        const expected = signed(JSON.parse(body).id, START - 24 * 60 * MINUTE, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
      }));

    it('gives each of many webhooks each event once, in transactions that stay small, also where one is lost', () =>
      open(async ({ webhook, pet, database }) => {
        const [first] = await Promise.all(Array.from({ length: 120 }, () => webhook()));
        for (let added = 0; added < 40; added++) await pet();
        await putInOrder(database);
        const statements: number[] = [];
        const counted = Object.assign(Object.create(database) as typeof database, {
          write: <T>(work: (tx: Transaction) => Soon<T>) => {
            if (statements.push(0) === 3) return Promise.reject(new Error('lost'));
            return database.write(tx => {
              const run: Transaction['run'] = (...args) => {
                statements[statements.length - 1]!++;
                return tx.run(...args);
              };
              return work(new Proxy(tx, { get: (of, name) => (name === 'run' ? run : bound(of, name)) }));
            });
          },
          all: database.all.bind(database),
          first: database.first.bind(database),
        });
        await assert.rejects(dispatch(counted, database), /lost/);
        while ((await dispatch(counted, database)) > 0);
        await Promise.all([dispatch(database, database), dispatch(database, database)]);
        assert.ok(Math.max(...statements) <= 200, String(statements));
        const made = await database.all(deliveriesMade, {});
        assert.equal(made.length, 120);
        assert.deepEqual([...new Set(made.map(({ deliveries }) => Number(deliveries)))], [made[0]!.deliveries]);
        const rows = await database.all(deliveriesOf, { id: first!.id });
        assert.equal(new Set(rows.map(({ place }) => place)).size, rows.length);
        assert.ok(rows.length >= 40);
      }));

    it('goes by the category that an animal had then, however late that is asked, and whenever again', () =>
      open(async ({ webhook, deliver, pet, database }) => {
        const receivers = await Promise.all(Array.from({ length: 2 }, startReceiver));
        const [before, after] = receivers as [Receiver, Receiver];
        try {
          const ids = [await webhook({ to: before, categoryIds: [2] }), await webhook({ to: after, categoryIds: [9] })];
          const minka = await pet('Minka', 2);
          await database.write(tx => sendMessage(tx, owner, { message: 'A note to myself', petId: minka }));
          const { id: holdId } = await database.write(tx => createHold(tx, buyer, { petIds: [minka] }, 100));
          const { id } = await database.write(tx => placeOrder(tx, buyer, { petId: minka, holdId }));
          await database.write(tx => updatePet(tx, owner, minka, { categoryId: 9 }, 'open'));
          await database.write(tx => cancelOrder(tx, buyer, id, {}));
          await database.write(tx => mergeCategory(tx, operator, { id: 9, intoId: 1 }));
          await database.write(tx => deletePet(tx, owner, minka));
          const typesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).type).sort();
          const expected = [
            [
              'hold.created',
              'hold.used',
              'message.queued',
              'order.placed',
              'pet.created',
              'pet.updated',
              'pet.updated',
              'pet.updated',
            ],
            ['category.created', 'category.merged', 'order.cancelled', 'pet.updated', 'pet.updated', 'pet.updated'],
          ];
          await deliver();
          assert.deepEqual(receivers.map(typesOf), expected);
          for (const one of ids) await database.write(tx => redeliverSince(tx, operator, one.id, START, 0));
          await deliver();
          const twice = expected.map(types => [...types, ...types].sort());
          assert.deepEqual(receivers.map(typesOf), twice);
        } finally {
          await Promise.all(receivers.map(one => one.close()));
        }
      }));

    it('gives what its owner may see, of the types and categories that it asked for', () =>
      open(async ({ webhook, deliver, pet, database }) => {
        const receivers = await Promise.all(Array.from({ length: 5 }, startReceiver));
        const [all, dogs, orders, stranger, admin] = receivers as [Receiver, Receiver, Receiver, Receiver, Receiver];
        try {
          await webhook({ to: all });
          await webhook({ to: dogs, categoryIds: [1] });
          await webhook({ to: orders, types: ['order.*', 'hold.created'] });
          await webhook({ to: stranger, accountId: 3, types: ['order.*', 'hold.*', 'category.created'] });
          await webhook({ to: admin, accountId: 4, types: ['order.placed'] });
          const cat = await pet('Minka', 2);
          const dog = await pet('Rex', 1);
          await database.write(tx => createHold(tx, buyer, { petIds: [cat] }, 100));
          await database.write(tx => placeOrder(tx, buyer, { petId: dog }));
          await deliver();
          const typesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).type).sort();
          const everything = [
            'hold.created',
            'order.placed',
            'pet.created',
            'pet.created',
            'pet.updated',
            'pet.updated',
          ];
          assert.deepEqual(typesOf(all), everything);
          assert.deepEqual(typesOf(dogs), ['order.placed', 'pet.created', 'pet.updated']);
          assert.deepEqual(typesOf(orders), ['hold.created', 'order.placed']);
          assert.deepEqual(typesOf(stranger), []);
          assert.deepEqual(typesOf(admin), ['order.placed']);
        } finally {
          await Promise.all(receivers.map(one => one.close()));
        }
      }));

    it('makes each delivery once, however many are at it', () =>
      open(async ({ webhook, pet, database }) => {
        const { id } = await webhook();
        for (let n = 0; n < 40; n++) await pet(`number ${n}`);
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            for (let n = 0; n < 5; n++) await dispatch(database, database);
          }),
        );
        while ((await dispatch(database, database)) > 0);
        const places = (await database.all(deliveriesOf, { id })).map(({ place }) => place);
        assert.equal(places.length, 40);
        assert.equal(new Set(places).size, 40);
      }));
  });

  describe('delivering', () => {
    it('keeps the order of each animal, and lets the others go on', () =>
      open(async ({ webhook, deliver, pet, rename, receiver, clock, names }) => {
        await webhook();
        const one = await pet('one');
        const other = await pet('other');
        await deliver();
        await rename(one, 'one again');
        await rename(other, 'other again');
        await rename(one, 'one at last');
        receiver.answer = ({ body }, response) =>
          response.writeHead(JSON.parse(body).data.name === 'one again' ? 500 : 200).end();
        await deliver();
        assert.deepEqual(names().slice(2).sort(), ['one again', 'other again']);
        receiver.answer = takes;
        await deliver();
        assert.equal(names().length, 4, 'nothing before the schedule says so');
        clock.advance(6 * SECOND);
        await deliver();
        assert.deepEqual(names().slice(4), ['one again', 'one at last']);
      }));

    it('tries again on schedule, then goes on with the next of the animal and lists the gap', () =>
      open(async ({ webhook, deliver, pet, rename, receiver, clock, names, database }) => {
        const { id } = await webhook();
        const one = await pet('one');
        await rename(one, 'two');
        receiver.answer = ({ body }, response) =>
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

    it('leaves a receiver alone for a while that has failed for long, however much is due to it, until it takes something', () =>
      open(async ({ webhook, deliver, pet, receiver, clock }) => {
        await webhook();
        for (let added = 0; added < 200; added++) await pet();
        receiver.answer = fails(500);
        await deliver();
        assert.equal(receiver.received.length, 200, 'all of it while it has only just failed');
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
        // What is new gets no turn before that either.
        const before: number = receiver.received.length;
        await pet();
        await deliver();
        assert.equal(receiver.received.length, before);
        clock.advance(2000);
        receiver.answer = takes;
        await deliver();
        assert.ok(receiver.received.length - before > 150, 'everything that is due, at once');
      }));

    it('waits as long as the receiver asks for', () =>
      open(async ({ webhook, deliver, pet, receiver, clock }) => {
        await webhook();
        await pet();
        receiver.answer = fails(429, { 'retry-after': '60' });
        await deliver();
        clock.advance(59 * SECOND);
        receiver.answer = takes;
        await deliver();
        assert.equal(receiver.received.length, 1);
        clock.advance(2 * SECOND);
        await deliver();
        assert.equal(receiver.received.length, 2);
      }));

    it('takes no redirect for an answer that it was taken', () =>
      open(async ({ webhook, deliver, pet, receiver, database }) => {
        const { id } = await webhook();
        await pet();
        receiver.answer = fails(302, { location: receiver.url });
        await deliver();
        assert.equal(receiver.received.length, 1);
        assert.equal((await database.all(deliveriesOf, { id }))[0]!.status, 'pending');
      }));

    it('ends the subscription of a receiver that is gone, and tells its owner once', () =>
      open(async ({ webhook, deliver, pet, receiver, told, database }) => {
        const { id } = await webhook();
        await pet('one');
        await pet('two');
        receiver.answer = fails(410);
        await deliver();
        const row = (await database.first(webhookById, { id }))!;
        assert.equal(row.status, 'disabled');
        assert.equal(row.disabled_reason, 'gone');
        assert.deepEqual(told, [{ id, accountId: 1, url: receiver.url, reason: 'gone' }]);
        await pet('three');
        await deliver();
        assert.ok(receiver.received.length <= 2);
      }));

    it('ends nothing for the word of a receiver to which it does not lead any more, and sends it to the new one', () =>
      open(async ({ webhook, deliver, pet, worker, clock, database, receiver, told }) => {
        const old = await startReceiver();
        try {
          old.answer = fails(410);
          const { id } = await webhook({ to: old });
          await pet('Minka');
          while ((await dispatch(database, database)) > 0);
          const { jobs } = await worker.take(256);
          assert.equal(jobs.length, 1);
          await database.write(tx => tx.run(leadTo, { id, url: receiver.url }));
          await worker.work(jobs[0]!, never);
          assert.equal(old.received.length, 1);
          const { status, failing_since } = (await database.first(webhookById, { id }))!;
          assert.deepEqual({ status, failing_since }, { status: 'active', failing_since: null });
          assert.deepEqual(told, []);
          clock.advance(6 * SECOND);
          await deliver();
          assert.equal(receiver.received.length, 1);
        } finally {
          await old.close();
        }
      }));

    it('switches a webhook off that has failed for five days, not before', () =>
      open(async ({ webhook, deliver, pet, receiver, told, database, clock }) => {
        const { id } = await webhook();
        receiver.answer = fails(500);
        for (let day = 0; day < 5; day++) {
          await pet();
          await deliver();
          assert.deepEqual(told, []);
          clock.advance(DAY);
        }
        await deliver();
        assert.deepEqual(told, [{ id, accountId: 1, url: receiver.url, reason: 'failing' }]);
        assert.equal((await database.first(webhookById, { id }))!.status, 'disabled');
      }));

    it('switches none off for what was no attempt, also after five days', () =>
      open(async ({ webhook, deliver, pet, receiver, told, database, clock, means }) => {
        const { id } = await webhook();
        receiver.answer = fails(500);
        await pet();
        await deliver();
        clock.advance(5 * DAY);
        const post = async () => ({ fault: 'aborted', durationMs: 0 }) as const;
        await deliver(delivering({ ...means, outgoing: { ...means.outgoing, post } }));
        assert.deepEqual(told, []);
        clock.advance(6 * SECOND);
        receiver.answer = takes;
        await deliver();
        assert.equal((await database.first(webhookById, { id }))!.failing_since, null);
      }));

    it('gives a receiver that failed its turn while others always have something', () =>
      open(async ({ webhook, pet, database, means, clock }) => {
        const hooks = await Promise.all(Array.from({ length: 10 }, () => webhook()));
        for (let added = 0; added < 10; added++) await pet();
        while ((await dispatch(database, database)) > 0);
        const { id } = hooks[0]!;
        await database.write(tx => tx.run(failSince, { id, at: clock.now() }));
        const post = async () => ({ status: 200, body: '', durationMs: 1 });
        const busy = delivering({ ...means, outgoing: { ...means.outgoing, post } });
        const sentTo: number[] = [];
        for (let round = 0; round < 3; round++) {
          const { jobs } = await busy.take(4);
          sentTo.push(...jobs.map(({ webhookId }) => webhookId));
          for (const job of jobs) await busy.work(job, never);
        }
        assert.ok(sentTo.includes(id), String(sentTo));
      }));

    it('forgets that it failed with the first success', () =>
      open(async ({ webhook, deliver, pet, receiver, told, database, clock }) => {
        const { id } = await webhook();
        receiver.answer = fails(500);
        await pet();
        await deliver();
        clock.advance(4 * DAY);
        receiver.answer = takes;
        await deliver();
        assert.equal((await database.first(webhookById, { id }))!.failing_since, null);
        clock.advance(4 * DAY);
        receiver.answer = fails(500);
        await pet();
        await deliver();
        assert.deepEqual(told, []);
      }));

    it('gives a receiver that failed one attempt at a time, and others theirs meanwhile', () =>
      open(async ({ webhook, deliver, pet, receiver, worker, clock, database }) => {
        const slow = await startReceiver();
        try {
          slow.answer = fails(500);
          const { id } = await webhook({ to: slow });
          await pet();
          await deliver();
          const good = await webhook();
          for (let n = 0; n < 40; n++) await pet(`number ${n}`);
          while ((await dispatch(database, database)) > 0);
          clock.advance(6 * SECOND);
          const { jobs } = await worker.take(256);
          const of = (webhookId: number) => jobs.filter((job: Job) => job.webhookId === webhookId).length;
          assert.equal(of(id), 1);
          assert.equal(of(good.id), 16);
          slow.answer = takes;
          await Promise.all(jobs.map(job => worker.work(job, never)));
          await deliver();
          assert.equal(receiver.received.length, 40);
          assert.equal(slow.received.length, 42);
        } finally {
          await slow.close();
        }
      }));

    it('goes on to others once those it sends to have let wait for a second, and sends these less at a time', () =>
      open(async ({ webhook, deliver, pet, receiver, means, database }) => {
        const { promise: room, resolve } = Promise.withResolvers<void>();
        let stood = 0;
        const moreRoom = () => {
          if (++stood === 256) resolve();
        };
        const worker = delivering({ ...means, moreRoom });
        const slow = await startReceiver();
        const waiting: ServerResponse[] = [];
        try {
          slow.answer = (_, response) => waiting.push(response);
          const slowIds: number[] = [];
          for (let n = 0; n < 16; n++) slowIds.push((await webhook({ to: slow })).id);
          for (let n = 0; n < 20; n++) await pet(`number ${n}`);
          while ((await dispatch(database, database)) > 0);
          const first = (await worker.take(1024)).jobs;
          assert.equal(first.length, 256);
          const ends = first.map(job => worker.work(job, never));

          const { id } = await webhook();
          await pet('Minka');
          while ((await dispatch(database, database)) > 0);
          assert.equal((await worker.take(1024)).jobs.length, 0);
          await room;
          const next = (await worker.take(1024)).jobs;
          assert.deepEqual(
            next.map(({ webhookId }) => webhookId),
            [id],
          );
          await Promise.all(next.map(job => worker.work(job, never)));
          assert.equal(receiver.received.length, 1);

          for (const response of waiting) response.writeHead(204).end();
          await Promise.all(ends);
          const rest = (await worker.take(1024)).jobs;
          for (const slowId of slowIds) assert.equal(rest.filter(({ webhookId }) => webhookId === slowId).length, 4);
          slow.answer = takes;
          await Promise.all(rest.map(job => worker.work(job, never)));
          await deliver(worker);
          assert.equal(slow.received.length, 16 * 21);
        } finally {
          await slow.close();
        }
      }));

    it('holds up nobody else where the secret of one cannot be opened', () =>
      open(async ({ webhook, pet, receiver, worker, database }) => {
        const { id } = await webhook();
        const good = await webhook();
        await database.write(tx => tx.run(spoilSecret, { id }));
        await pet();
        while ((await dispatch(database, database)) > 0);
        const { jobs } = await worker.take(256);
        const done = await Promise.allSettled(jobs.map(job => worker.work(job, never)));
        assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
        assert.equal(receiver.received.length, 1);
        assert.equal((await database.all(deliveriesOf, { id: good.id }))[0]!.status, 'delivered');
        assert.equal((await database.all(deliveriesOf, { id }))[0]!.status, 'pending');
      }));

    it('sends again what was in the hand of a process that is gone', () =>
      open(async ({ webhook, deliver, pet, receiver, worker, means, clock, database }) => {
        await webhook();
        await pet();
        while ((await dispatch(database, database)) > 0);
        assert.equal((await worker.take(256)).jobs.length, 1);
        const next = delivering(means);
        await deliver(next);
        assert.equal(receiver.received.length, 0);
        if (engine.name === 'sqlite') await next.begin!();
        else {
          // So long may an attempt be under way that waited for a connection.
          clock.advance(2 * TIMEOUT_MS);
          await deliver(next);
          assert.equal(receiver.received.length, 0);
          clock.advance(6 * SECOND);
        }
        await deliver(next);
        assert.equal(receiver.received.length, 1);
      }));
  });
});
