import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { createAccount } from '../accounts/accounts.ts';
import { mergeCategory } from '../categories/merge/merge.ts';
import { operator } from '../events/event.ts';
import { lastPlace, putInOrder } from '../events/ordering.ts';
import { createHold } from '../holds/holds.ts';
import { testClock } from '../lib/clock.ts';
import { createEncryptor } from '../lib/encryption.ts';
import { openOutgoingClient, TIMEOUT_MS } from '../lib/http/client/client.ts';
import { signatureHeaders } from '../lib/signature.ts';
import { sendMessage } from '../messages/messages.ts';
import { placeOrder } from '../orders/orders.ts';
import { cancelOrder } from '../orders/steps.ts';
import { createPet, deletePet, updatePet } from '../pets/pets.ts';
import { type MaybePromise, type Params, query, type Transaction } from '../schema.ts';
import { ownerOf } from '../webhooks/secrets.ts';
import type { ClaimedDelivery } from './claim.ts';
import { deliveryJob } from './deliver.ts';
import { dispatch } from './dispatch.ts';
import type { DisabledWebhook } from './record-result.ts';
import { redeliverSince } from './redeliveries.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;
const owner = { accountId: 1, admin: false };
const buyer = { accountId: 2, admin: false };
const never = new AbortController().signal;
const encryptor = createEncryptor(Buffer.alloc(32, 7));
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
type NewHook = { accountId: number; url: string; types: string | null; categories: string | null; position: number };
const insertWebhook = query((db, p: Params<NewHook & { now: number }>) =>
  db
    .insertInto('webhooks')
    .values({
      account_id: p.accountId,
      url: p.url,
      types: p.types,
      category_ids: p.categories,
      status: 'active',
      behind_place: p.position,
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
  /** Opens a database with accounts, a receiver and a delivery job, with a clock that stands still. */
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
    const disabled: DisabledWebhook[] = [];
    const deps = {
      database,
      accounts: database,
      outgoing,
      encryptor,
      scheduleMs: schedule,
      async onDisabled(_: unknown, webhook: DisabledWebhook) {
        disabled.push(webhook);
      },
      now: () => clock.now(),
    };
    const worker = deliveryJob(deps);

    /** Inserts an active webhook. */
    async function webhook(
      more: { accountId?: number; types?: string[]; categoryIds?: number[]; to?: Receiver } = {},
    ): Promise<{ id: number; secret: Buffer }> {
      await putInOrder(database);
      const position = await lastPlace(database);
      const secret = randomBytes(32);
      const { id } = await database.write(async tx => {
        const row = (await tx.first(insertWebhook, {
          accountId: more.accountId ?? 1,
          url: (more.to ?? receiver).url,
          types: more.types ? JSON.stringify(more.types) : null,
          categories: more.categoryIds ? JSON.stringify(more.categoryIds) : null,
          position,
          now: tx.now,
        }))!;
        await tx.run(insertSecret, {
          id: row.id,
          secret: encryptor.encrypt(secret, ownerOf(row.id)),
          now: tx.now,
          until: null,
        });
        return row;
      });
      return { id, secret };
    }

    /** Dispatches and delivers everything that is due. */
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
      disabled,
      deps,
      worker,
      webhook,
      deliver,
      types,
      pet,
      rename,
      names,
    };
  }

  const failWith = (status: number, headers: Record<string, string> = {}) => {
    const answer: Receiver['respond'] = (_, response) => response.writeHead(status, headers).end('no');
    return answer;
  };
  const succeed: Receiver['respond'] = (_, response) => response.writeHead(200).end('thanks');

  describe('dispatch', () => {
    it('delivers each event since the activation once', () =>
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
        const expected = signatureHeaders(event.id, START, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
        const [delivery, ...others] = await database.all(deliveriesOf, { id });
        assert.deepEqual(others, []);
        assert.equal(delivery!.status, 'delivered');
        const [attempt] = await database.all(attemptsOf, { id: delivery!.id });
        assert.equal(attempt!.status, 204);
      }));

    it('signs with the wall clock, even if the clock of the process is ahead', () =>
      open(async ({ webhook, deliver, pet, receiver, wall }) => {
        const { secret } = await webhook();
        await pet();
        wall.aheadMs = -24 * 60 * MINUTE;
        await deliver();
        const [{ headers, body }] = receiver.received as [Receiver['received'][0]];
        const expected = signatureHeaders(JSON.parse(body).id, START - 24 * 60 * MINUTE, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
      }));

    it('creates one delivery per event and webhook, in small transactions, even if one of them fails', () =>
      open(async ({ webhook, pet, database }) => {
        const [first] = await Promise.all(Array.from({ length: 120 }, () => webhook()));
        for (let added = 0; added < 40; added++) await pet();
        await putInOrder(database);
        const statements: number[] = [];
        const counted = Object.assign(Object.create(database) as typeof database, {
          write: <T>(work: (tx: Transaction) => MaybePromise<T>) => {
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

    it('uses the category that a pet had at the time of the event, also in redeliveries', () =>
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

    it('applies the visibility of the owner, the types and the categories', () =>
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

    it('creates each delivery once under concurrency', () =>
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
        // New events wait for the end of the backoff too.
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
          const { jobs } = await worker.take(256);
          assert.equal(jobs.length, 1);
          await database.write(tx => tx.run(leadTo, { id, url: receiver.url }));
          await worker.work(jobs[0]!, never);
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
          const { jobs } = await busy.take(4);
          sentTo.push(...jobs.map(({ webhookId }) => webhookId));
          for (const job of jobs) await busy.work(job, never);
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
          const { jobs } = await worker.take(256);
          const of = (webhookId: number) => jobs.filter((job: ClaimedDelivery) => job.webhookId === webhookId).length;
          assert.equal(of(id), 1);
          assert.equal(of(good.id), 16);
          slow.respond = succeed;
          await Promise.all(jobs.map(job => worker.work(job, never)));
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
          slow.respond = succeed;
          await Promise.all(rest.map(job => worker.work(job, never)));
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
        const { jobs } = await worker.take(256);
        const done = await Promise.allSettled(jobs.map(job => worker.work(job, never)));
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
        assert.equal((await worker.take(256)).jobs.length, 1);
        const next = deliveryJob(deps);
        await deliver(next);
        assert.equal(receiver.received.length, 0);
        if (engine.name === 'sqlite') await next.begin!();
        else {
          // The lease covers the wait for a connection and the attempt.
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
