import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, mock } from 'node:test';
import pg from 'pg';
import type { Origin } from '../../src/lib/origin.ts';
import { PostgresDatabase } from '../../src/lib/storage/postgres/database.ts';
import { overPostgres } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

/** The round trips to PostgreSQL that each request takes, as docs/decisions/engines.md lists them. */
const roundTrips = {
  'get an animal': 1,
  'list animals': 1,
  'create an animal': 2,
  'create an animal with an Idempotency-Key': 4,
  'repeat that request': 2,
  'change an animal': 2,
  'delete an animal': 2,
  'place a hold': 5,
  'place an order': 4,
};

overPostgres(engine => {
  describe('a request takes few round trips to PostgreSQL', () => {
    let service: TestService;
    let key: { readonly token: string };
    /** The round trips of all reads outside transactions, and of all transactions of requests. */
    const sent = { reads: 0, writes: 0 };
    const scope = new AsyncLocalStorage<keyof typeof sent>();
    before(async () => {
      service = await serve({ environment: await engine.settings() });
      key = await service.newKey({ plan: 'pro' });
      const { query } = pg.Client.prototype;
      mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: Parameters<typeof query>) {
        const kind = scope.getStore();
        if (kind !== undefined) sent[kind]++;
        return query.apply(this, args);
      });
      const { all, write } = PostgresDatabase.prototype;
      mock.method(
        PostgresDatabase.prototype,
        'all',
        function (this: PostgresDatabase, ...args: Parameters<typeof all>) {
          return scope.run('reads', () => all.apply(this, args));
        },
      );
      // Only the transactions of requests have an origin.
      mock.method(
        PostgresDatabase.prototype,
        'write',
        function (this: PostgresDatabase, work: never, origin: Origin, group?: number) {
          return origin === undefined
            ? write.call(this, work)
            : scope.run('writes', () => write.call(this, work, origin, group));
        },
      );
    });
    after(async () => {
      mock.restoreAll();
      await service?.stop();
    });

    const request = (path: string, options: object = {}) =>
      send(service.urls.production + path, { key, ...options }) as Promise<Reply>;
    const post = (path: string, body: object, headers = {}) => request(path, { method: 'POST', body, headers });
    const newPet = async () => (await post('/pets', { name: 'Minka', categoryId: 2 })).body.id as number;
    const createWithKey = (idempotencyKey: string) =>
      post('/pets', { name: 'Minka', categoryId: 2 }, { 'Idempotency-Key': idempotencyKey });

    let petId: number;
    before(async () => {
      petId = await newPet();
    });

    /** Each function prepares a request, and returns the function that sends it. */
    const requests: Record<keyof typeof roundTrips, () => Promise<() => Promise<Reply>>> = {
      'get an animal': async () => () => request(`/pets/${petId}`),
      'list animals': async () => () => request('/pets'),
      'create an animal': async () => () => post('/pets', { name: 'Minka', categoryId: 2 }),
      'create an animal with an Idempotency-Key': async () => () => createWithKey(randomUUID()),
      'repeat that request': async () => {
        const idempotencyKey = randomUUID();
        await createWithKey(idempotencyKey);
        return () => createWithKey(idempotencyKey);
      },
      'change an animal': async () => {
        const id = await newPet();
        return () => request(`/pets/${id}`, { method: 'PATCH', body: { name: 'Mina' } });
      },
      'delete an animal': async () => {
        const id = await newPet();
        return () => request(`/pets/${id}`, { method: 'DELETE' });
      },
      'place a hold': async () => {
        const petId = await newPet();
        return () => post('/holds', { petId });
      },
      'place an order': async () => {
        const petId = await newPet();
        return () => post('/store/orders', { petId });
      },
    };

    for (const [name, expected] of Object.entries(roundTrips)) {
      it(`${name}: ${expected}`, async () => {
        const counts: number[] = [];
        // Jobs also read, most of them soon after a change, so single samples can be too high.
        for (let sample = 0; sample < 20 && !counts.includes(expected); sample++) {
          const perform = await requests[name as keyof typeof roundTrips]();
          Object.assign(sent, { reads: 0, writes: 0 });
          const { status, text } = await perform();
          counts.push(sent.writes || sent.reads);
          assert.ok(status < 300, text);
        }
        assert.equal(Math.min(...counts), expected);
      });
    }
  });
});
