import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { assertApiResponse, type Reply, send, serve, type TestService } from '../support/serving.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

describe('orders over HTTP', () => {
  overEachEngine(engine => {
    let serving: TestService;
    let clock: TestClock;
    let owner: IssuedKey;
    let placer: IssuedKey;
    let stranger: IssuedKey;

    before(async () => {
      clock = testClock(noon);
      serving = await serve({ clock, environment: await engine.settings() });
      [owner, placer, stranger] = [await serving.newKey(), await serving.newKey(), await serving.newKey()];
    });
    after(() => serving.stop());

    type Asking = { key?: IssuedKey; body?: unknown; headers?: Record<string, string> };
    const call = async (method: string, path: string, { key = placer, ...more }: Asking = {}): Promise<Reply> => {
      const reply = await send(serving.urls.production + path, { method, key, ...more });
      assertApiResponse(reply, `${method} ${path}`);
      return reply;
    };
    const get = (path: string, asking?: Asking) => call('GET', path, asking);
    const post = (path: string, asking?: Asking) => call('POST', path, asking);
    const place = (body: object, asking?: Asking) => post('/store/orders', { body, ...asking });
    const step = (id: number, name: string, asking?: Asking) =>
      post(`/store/orders/${id}/${name}`, { key: owner, ...asking });
    const addPet = async (pet: object = {}): Promise<number> =>
      (await post('/pets', { key: owner, body: { name: 'Minka', categoryId: 2, ...pet } })).body.id;
    const petStatus = async (id: number) => (await get(`/pets?id=${id}`)).body[0]?.status;
    const inventory = async () => (await get('/store/inventory')).body;

    describe('placeOrder', () => {
      it('returns 201 with the order, its URL and its entity tag', async () => {
        const petId = await addPet({ price: { amount: 12_500, currency: 'EUR' } });
        const reply = await place({ petId });
        assert.equal(reply.status, 201);
        const { id } = reply.body;
        assert.deepEqual(reply.body, {
          id,
          petId,
          quantity: 1,
          status: 'placed',
          complete: false,
          price: { amount: 12_500, currency: 'EUR' },
          accountId: placer.accountId,
          createdAt: '2026-11-21T12:00:00.000Z',
          updatedAt: '2026-11-21T12:00:00.000Z',
          expiresAt: '2026-11-28T12:00:00.000Z',
        });
        assert.equal(reply.headers.location, `${serving.urls.production}/store/orders/${id}`);
        assert.equal(reply.headers.etag, `"${id}.1"`);
        const read = await send(reply.headers.location!, { key: placer });
        assert.deepEqual([read.status, read.text, read.headers.etag], [200, reply.text, reply.headers.etag]);
        const known = { 'If-None-Match': reply.headers.etag! };
        assert.equal((await get(`/store/orders/${id}`, { headers: known })).status, 304);
      });

      it('accepts the body of classic pet stores and ignores its status and complete', async () => {
        const petId = await addPet();
        const body = {
          id: 10,
          petId,
          quantity: 1,
          shipDate: '2026-11-24T09:00:00.5+01:00',
          status: 'approved',
          complete: true,
        };
        const reply = await place(body);
        assert.equal(reply.status, 201);
        assert.notEqual(reply.body.id, 10);
        assert.deepEqual(
          [reply.body.status, reply.body.complete, reply.body.shipDate],
          ['placed', false, '2026-11-24T08:00:00.500Z'],
        );
        const strict = await place({ ...body, petId }, { headers: { Prefer: 'handling=strict' } });
        assert.deepEqual(paths(strict), ['/id', '/status', '/complete']);
      });

      it('stores a note as sent, line breaks included', async () => {
        for (const note of ['a\nb', 'a\r\n\r\nb', '  x ', '🐈'.repeat(1000), "'; drop table orders; --", '\u202ertl']) {
          const reply = await place({ petId: await addPet(), note });
          assert.equal(reply.status, 201, JSON.stringify(note));
          assert.equal((await get(`/store/orders/${reply.body.id}`)).body.note, note);
        }
      });

      it('names every invalid field and coerces nothing', async () => {
        const petId = await addPet();
        for (const [body, path] of [
          [{}, '/petId'],
          [{ petId: '1' }, '/petId'],
          [{ petId: 0 }, '/petId'],
          [{ petId: 1.5 }, '/petId'],
          [{ petId: 2 ** 53 }, '/petId'],
          [{ petId: null }, '/petId'],
          [{ petId, quantity: 0 }, '/quantity'],
          [{ petId, quantity: 2 }, '/quantity'],
          [{ petId, quantity: '1' }, '/quantity'],
          [{ petId, holdId: 0 }, '/holdId'],
          [{ petId, holdId: null }, '/holdId'],
          [{ petId, shipDate: 'tomorrow' }, '/shipDate'],
          [{ petId, shipDate: '2026-11-24' }, '/shipDate'],
          [{ petId, shipDate: '2026-11-24T09:00:00' }, '/shipDate'],
          [{ petId, shipDate: '2026-02-30T09:00:00Z' }, '/shipDate'],
          [{ petId, shipDate: '9999-12-31T23:59:59-23:00' }, '/shipDate'],
          [{ petId, shipDate: 1_795_000_000 }, '/shipDate'],
          [{ petId, note: '' }, '/note'],
          [{ petId, note: ' \n' }, '/note'],
          [{ petId, note: 'a\tb' }, '/note'],
          [{ petId, note: 'a\0b' }, '/note'],
          [{ petId, note: 'a\u0085b' }, '/note'],
          [{ petId, note: '🐈'.repeat(1001) }, '/note'],
          [{ petId, note: ['x'] }, '/note'],
        ] as const) {
          const reply = await place(body);
          assert.equal(reply.status, 400, JSON.stringify(body));
          assert.equal(reply.body.code, 'invalid_body');
          assert.deepEqual(paths(reply), [path], reply.text);
        }
        const lone = await post('/store/orders', { body: `{"petId":${petId},"note":"\\ud800"}` });
        assert.deepEqual([lone.status, paths(lone)], [400, ['/note']]);
        for (const body of ['[]', 'null', '"x"', '1']) {
          assert.equal((await post('/store/orders', { body })).body.code, 'invalid_body', body);
        }
        assert.equal((await post('/store/orders', { headers: {} })).body.code, 'invalid_content_type');
        assert.equal(await petStatus(petId), 'available');
      });

      it('returns 404 for a missing animal and 409 for an unavailable one', async () => {
        const absent = await place({ petId: Number.MAX_SAFE_INTEGER });
        assert.deepEqual([absent.status, absent.body.code], [404, 'pet_not_found']);
        for (const status of ['sold', 'pending']) {
          const reply = await place({ petId: await addPet({ status }) });
          assert.deepEqual([reply.status, reply.body.code], [409, 'invalid_status_transition']);
        }
        const petId = await addPet();
        await place({ petId });
        const second = await place({ petId }, { key: stranger });
        assert.deepEqual([second.status, second.body.code], [409, 'pet_reserved']);
        assert.equal(second.headers['retry-after'], String(WEEK_MS / 1000));
        assert.match(second.body.message, /2026-11-28T12:00:00.000Z/);
      });

      it('orders from a hold, and explains how if the hold is not named', async () => {
        const petIds = [await addPet(), await addPet()];
        const hold = await post('/holds', { body: { petIds } });
        assert.equal(hold.status, 201);
        const holdId: number = hold.body.id;
        const without = await place({ petId: petIds[0] });
        assert.deepEqual([without.status, without.body.code], [409, 'pet_reserved']);
        assert.match(without.body.message, new RegExp(`"holdId": ${holdId} `));
        const theirs = await place({ petId: petIds[0], holdId }, { key: stranger });
        assert.deepEqual([theirs.status, theirs.body.code], [404, 'hold_not_found']);
        for (const petId of petIds) {
          const reply = await place({ petId, holdId });
          assert.equal(reply.status, 201);
          assert.equal(reply.body.holdId, holdId);
        }
        assert.equal((await get(`/holds/${holdId}`)).body.status, 'used');
        const ended = await place({ petId: petIds[0], holdId });
        assert.deepEqual([ended.status, ended.body.code], [409, 'hold_ended']);
      });

      it('accepts one of 64 concurrent orders; the others get pet_reserved', async () => {
        const petId = await addPet();
        const keys = await Promise.all(Array.from({ length: 8 }, () => serving.newKey()));
        const replies = await Promise.all(
          Array.from({ length: 64 }, (_, index) => place({ petId }, { key: keys[index % 8]! })),
        );
        const winners = replies.filter(({ status }) => status === 201);
        assert.equal(winners.length, 1);
        for (const reply of replies) {
          if (reply.status !== 201) assert.deepEqual([reply.status, reply.body.code], [409, 'pet_reserved']);
        }
      });

      it('runs once per Idempotency-Key, even if the order has changed since', async () => {
        const petId = await addPet();
        const headers = { 'Idempotency-Key': `order ${petId}`.replace(' ', '-') };
        const first = await place({ petId }, { headers });
        await step(first.body.id, 'cancellation');
        await place({ petId }, { key: stranger });
        const again = await place({ petId }, { headers });
        assert.deepEqual([again.status, again.text, again.headers.etag], [201, first.text, first.headers.etag]);
        assert.equal(again.headers.location, first.headers.location);
        assert.equal(again.headers['idempotency-replayed'], 'true');
        const other = await place({ petId: petId + 1 }, { headers });
        assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_reused']);
      });
    });

    describe('the steps', () => {
      it('lead from placed to returned, with notes, entity tags and changes of the animal', async () => {
        const petId = await addPet();
        const { id } = (await place({ petId })).body;
        const seen: unknown[] = [];
        for (const [name, body] of [
          ['approval', { note: 'Welcome' }],
          ['delivery', undefined],
          ['return', { ready: false }],
        ] as const) {
          clock.advance(1000);
          const reply = await step(id, name, body && { body });
          assert.equal(reply.status, 200, reply.text);
          seen.push([reply.body.status, reply.body.complete, reply.headers.etag, await petStatus(petId)]);
          assert.equal((await get(`/store/orders/${id}`, { key: owner })).text, reply.text);
          assert.deepEqual(
            Object.keys(reply.body[name]),
            'note' in (body ?? {}) ? ['at', 'accountId', 'note'] : ['at', 'accountId'],
          );
        }
        assert.deepEqual(seen, [
          ['approved', false, `"${id}.3"`, 'pending'],
          ['delivered', true, `"${id}.4"`, 'sold'],
          ['returned', true, `"${id}.5"`, 'pending'],
        ]);
        // The placer does not see the accounts that took the steps.
        const { approval, delivery } = (await get(`/store/orders/${id}`)).body;
        assert.deepEqual(
          [Object.keys(approval), approval.note, Object.keys(delivery)],
          [['at', 'note'], 'Welcome', ['at']],
        );
      });

      it('need no body, and validate the one that is sent', async () => {
        const { id } = (await place({ petId: await addPet() })).body;
        for (const [asking, code] of [
          [{ body: '{' }, 'invalid_json'],
          [{ body: { note: 1 } }, 'invalid_body'],
          [{ body: '[]' }, 'invalid_body'],
          [{ body: '{}', headers: { 'Content-Type': 'text/plain' } }, 'invalid_content_type'],
          [{ body: { other: 1 }, headers: { Prefer: 'handling=strict' } }, 'invalid_body'],
        ] as const) {
          assert.deepEqual([(await step(id, 'approval', asking)).body.code], [code]);
        }
        assert.equal((await step(id, 'approval', { body: { other: 1 } })).status, 200);
        assert.equal((await step(id, 'delivery')).status, 200);
        const wrong = await step(id, 'return', { body: { ready: 'yes' } });
        assert.deepEqual(paths(wrong), ['/ready']);
      });

      it('fail from another status, for the placer and for strangers', async () => {
        const { id } = (await place({ petId: await addPet() })).body;
        const early = await step(id, 'delivery');
        assert.deepEqual(
          [early.status, early.body.code, early.body.message],
          [409, 'invalid_order_transition', `Order ${id} is placed; it can be approved or cancelled now.`],
        );
        for (const name of ['approval', 'delivery', 'return']) {
          const reply = await step(id, name, { key: placer });
          assert.deepEqual([reply.status, reply.body.code], [403, 'not_owner']);
        }
        for (const name of ['approval', 'delivery', 'cancellation', 'return']) {
          const reply = await step(id, name, { key: stranger });
          assert.deepEqual([reply.status, reply.body.code], [404, 'order_not_found']);
          assert.equal((await step(999_999, name)).status, 404);
          assert.equal((await post(`/store/orders/0x1/${name}`)).body.code, 'order_not_found');
        }
        assert.equal((await get(`/store/orders/${id}`, { key: stranger })).body.code, 'order_not_found');
        assert.equal((await step(id, 'approval')).status, 200);
        assert.equal((await step(id, 'approval')).body.code, 'invalid_order_transition');
      });

      it('evaluate If-Match', async () => {
        const { id } = (await place({ petId: await addPet() })).body;
        const old = { 'If-Match': `"${id}.1"` };
        assert.equal((await step(id, 'approval', { headers: old })).status, 200);
        const late = await step(id, 'cancellation', { headers: old });
        assert.deepEqual([late.status, late.body.code], [412, 'precondition_failed']);
        assert.equal((await step(id, 'cancellation', { headers: { 'If-Match': `"${id}.3"` } })).status, 200);
      });

      it('run once per Idempotency-Key', async () => {
        const { id } = (await place({ petId: await addPet() })).body;
        const asking = { headers: { 'Idempotency-Key': `approve-${id}` } };
        const first = await step(id, 'approval', asking);
        clock.advance(5);
        const again = await step(id, 'approval', asking);
        assert.deepEqual([again.status, again.text], [200, first.text]);
        // The same key of another account is a different key.
        assert.equal((await step(id, 'cancellation', { ...asking, key: placer })).status, 200);
      });

      it('fail from the millisecond at which the order expires', async () => {
        const petId = await addPet();
        const before = await inventory();
        const { id, expiresAt } = (await place({ petId })).body;
        const first = await get(`/store/orders/${id}`);
        clock.advance(Date.parse(expiresAt) - 1 - clock.now());
        assert.equal((await get(`/store/orders/${id}`)).text, first.text);
        assert.equal(await petStatus(petId), 'pending');
        clock.advance(1);
        const expired = await get(`/store/orders/${id}`);
        assert.deepEqual(
          [expired.body.status, expired.body.updatedAt, expired.headers.etag],
          ['expired', expiresAt, `"${id}.2"`],
        );
        assert.equal(await petStatus(petId), 'available');
        const { available, pending, sold } = await inventory();
        assert.equal(available + pending + sold, before.available + before.pending + before.sold);
        for (const name of ['approval', 'cancellation']) {
          assert.equal((await step(id, name)).body.code, 'invalid_order_transition');
        }
        const listed = await get(`/store/orders?petId=${petId}&status=expired`);
        assert.deepEqual(listed.body, [expired.body]);
        assert.equal((await place({ petId }, { key: stranger })).status, 201);
      });
    });

    describe('listOrders', () => {
      it('pages through the visible orders by links', async () => {
        const [shelter, one, other] = [await serving.newKey(), await serving.newKey(), await serving.newKey()];
        const ids: number[] = [];
        for (let index = 0; index < 7; index++) {
          const body = { name: 'Rex', categoryId: 1 };
          const petId = (await post('/pets', { key: shelter, body })).body.id;
          ids.push((await place({ petId }, { key: index % 2 ? one : other })).body.id);
        }
        const read = async (url: string, key: IssuedKey) => {
          const found: number[] = [];
          for (let next: string | undefined = serving.urls.production + url; next !== undefined; ) {
            const page: Reply = await send(next, { key });
            assert.equal(page.status, 200);
            assert.ok(page.body.length <= 3);
            found.push(...page.body.map((order: { id: number }) => order.id));
            next = page.headers['x-next'] as string | undefined;
          }
          return found;
        };
        assert.deepEqual(await read('/store/orders?limit=3', shelter), ids);
        assert.deepEqual(await read('/store/orders?limit=3', one), [ids[1], ids[3], ids[5]]);
        assert.deepEqual(await read('/store/orders?limit=2&status=placed,approved', other), [
          ids[0],
          ids[2],
          ids[4],
          ids[6],
        ]);
        assert.deepEqual(await read('/store/orders?limit=3&status=delivered', shelter), []);
        assert.deepEqual(await read('/store/orders?limit=3', await serving.newKey()), []);
        const first = await get('/store/orders?limit=3', { key: shelter });
        assert.match(`${first.headers.link}`, /rel="first".*rel="next"/);
        assert.equal(
          (await get('/store/orders?limit=3', { key: shelter, headers: { 'If-None-Match': first.headers.etag! } }))
            .status,
          304,
        );
      });

      it('rejects invalid parameters', async () => {
        for (const [query, path] of [
          ['limit=0', 'limit'],
          ['limit=101', 'limit'],
          ['status=sold', 'status'],
          ['status=', 'status'],
          ['petId=0', 'petId'],
          ['petId=1&petId=2', 'petId'],
          ['cursor=abc', 'cursor'],
        ] as const) {
          const reply = await get(`/store/orders?${query}`);
          assert.deepEqual([reply.status, reply.body.code, paths(reply)], [400, 'invalid_parameter', [path]], query);
        }
      });
    });

    describe('getInventory', () => {
      it('counts the animals by status through every change', async () => {
        const start = await inventory();
        const petId = await addPet();
        const moves: number[][] = [];
        const note = async () => {
          const { available, pending, sold } = await inventory();
          moves.push([available - start.available, pending - start.pending, sold - start.sold]);
        };
        await note();
        const { id } = (await place({ petId })).body;
        await note();
        await step(id, 'approval');
        await step(id, 'delivery');
        await note();
        await step(id, 'return');
        await note();
        await call('DELETE', `/pets/${petId}`, { key: owner });
        await note();
        assert.deepEqual(moves, [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
          [1, 0, 0],
          [0, 0, 0],
        ]);
      });

      it('agrees with the list of animals', async () => {
        const counted = await inventory();
        for (const status of ['available', 'pending', 'sold']) {
          const reply = await get(`/pets?status=${status}&limit=1`, { headers: { Prefer: 'count=exact' } });
          assert.equal(Number(reply.headers['x-total-count']), counted[status]);
        }
      });
    });

    it('require the scopes of orders, and the inventory that of animals', async () => {
      const readsOrders = await serving.newKey({ scopes: ['orders:read'] });
      const readsPets = await serving.newKey({ scopes: ['pets:read'] });
      const status = async (path: string, key: IssuedKey) => (await get(path, { key })).status;
      assert.deepEqual(
        [await status('/store/orders', readsOrders), await status('/store/orders', readsPets)],
        [200, 403],
      );
      assert.deepEqual(
        [await status('/store/inventory', readsOrders), await status('/store/inventory', readsPets)],
        [403, 200],
      );
      assert.equal((await place({ petId: 1 }, { key: readsOrders })).body.code, 'insufficient_scope');
      assert.equal((await step(1, 'approval', { key: readsOrders })).body.code, 'insufficient_scope');
    });

    it('outlive a deleted animal', async () => {
      const petId = await addPet();
      const { id } = (await place({ petId })).body;
      assert.equal((await call('DELETE', `/pets/${petId}`, { key: owner })).body.code, 'pet_reserved');
      await step(id, 'approval');
      await step(id, 'delivery');
      assert.equal((await call('DELETE', `/pets/${petId}`, { key: owner })).status, 204);
      assert.equal((await get(`/store/orders/${id}`)).body.status, 'delivered');
      assert.equal((await step(id, 'return')).body.status, 'returned');
      assert.equal((await get(`/store/orders?petId=${petId}`)).body.length, 1);
    });
  });
});

function paths(reply: Reply): string[] {
  return (reply.body.errors ?? []).map(({ path }: { path: string }) => path);
}
