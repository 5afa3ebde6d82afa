import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { type Params, query, sql } from '../../src/model/schema.ts';
import { deleteExpiredSandboxes } from '../../src/store/classic/retention.ts';
import { classicBounds, deleteSandboxOf } from '../../src/store/classic/sandboxes.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, type SendOptions, send, serve, type TestService } from '../support/serving.ts';

overEachEngine(engine =>
  describe('a sandbox of the classic Petstore', () => {
    const clock = testClock(Date.UTC(2026, 10, 24, 10));
    let service: TestService;
    let origin: string;
    before(async () => {
      const environment = {
        ...(await engine.settings()),
        ...{ PETSTORE_TRUSTED_PROXIES: '127.0.0.1', PETSTORE_ACCESS_LOG: 'true' },
        ...{ PETSTORE_CLASSIC_PER_MINUTE: '100000', PETSTORE_CLASSIC_PER_DAY: '1000000' },
      };
      service = await serve({ clock, environment });
      origin = new URL(service.urls.staging).origin;
    });
    after(() => service.stop());

    /** Sends a request from a network. */
    const from =
      (network: string, defaults: Readonly<Record<string, string>> = {}) =>
      (method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Reply> => {
        const headers = { 'X-Forwarded-For': network, ...defaults, ...options.headers };
        return send(origin + path, { method, body, ...options, headers });
      };
    const staging = () => service.app.databases.staging!;
    const statusOf = async (reply: Promise<Reply>) => (await reply).status;

    it('is that of the network, and of both versions', async () => {
      const [one, other] = [from('192.0.2.1'), from('192.0.2.2')];
      await one('POST', '/v2/pet', { id: 1, name: 'one' });
      assert.equal((await one('GET', '/api/v3/pet/1')).body.name, 'one');
      assert.equal(await statusOf(other('GET', '/v2/pet/1')), 404);
      await other('POST', '/v2/pet', { id: 1, name: 'other' });
      assert.equal((await one('GET', '/v2/pet/1')).body.name, 'one');
      // An IPv6 network is a /64.
      await from('2001:db8::1')('POST', '/v2/pet', { id: 1, name: 'six' });
      assert.equal((await from('2001:db8::2')('GET', '/v2/pet/1')).body.name, 'six');
      assert.equal(await statusOf(from('2001:db8:0:1::1')('GET', '/v2/pet/1')), 404);
    });

    it('is shared by its name', async () => {
      const shared = { 'X-Sandbox': 'class of 2026' };
      await from('192.0.2.3', shared)('POST', '/v2/pet', { id: 1, name: 'shared' });
      assert.equal((await from('192.0.2.4', shared)('GET', '/v2/pet/1')).body.name, 'shared');
      for (const name of ['x'.repeat(65), 'é']) {
        const { status, body } = await from('192.0.2.3', { 'X-Sandbox': name })('GET', '/v2/pet/1');
        const message = 'X-Sandbox must have 1 to 64 characters of ASCII.';
        assert.deepEqual([status, body], [400, { code: 400, type: 'error', message }]);
      }
    });

    it('is that of the account of a key, sent in either header', async () => {
      const key = await service.newKey({ deployment: 'staging' });
      const network = from('192.0.2.5');
      const stored = await network('POST', '/v2/pet', { id: 1, name: 'key' }, { key });
      assert.equal(stored.headers['x-ratelimit-limit'], '1000000000');
      const headers = { api_key: key.token, 'X-Sandbox': 'ignored' };
      assert.equal((await from('192.0.2.6')('GET', '/v2/pet/1', undefined, { headers })).body.name, 'key');
      assert.equal(await statusOf(network('GET', '/v2/pet/1')), 404);
    });

    it('needs a valid key if a key is sent, and ignores other credentials', async () => {
      const network = from('192.0.2.7');
      await network('POST', '/v2/pet', { id: 1 });
      for (const headers of [
        { api_key: 'special-key' },
        { Authorization: 'Bearer special-key' },
        { Authorization: 'Basic YTpi' },
        { Authorization: 'x' },
      ]) {
        assert.equal(await statusOf(network('GET', '/v2/pet/1', undefined, { headers: headers as never })), 200);
      }
      const { token } = await service.newKey({ deployment: 'staging' });
      const changed = token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a');
      for (const sent of ['petstore_', changed]) {
        for (const headers of [{ api_key: sent }, { Authorization: `Bearer ${sent}` }, { Authorization: sent }]) {
          for (const path of ['/v2/pet/1', '/api/v3/pet/1', '/v2/none']) {
            const { status, body } = await network('GET', path, undefined, { headers: headers as never });
            assert.deepEqual([status, body.code, body.type], [401, 401, 'error']);
          }
        }
      }
      const live = await service.newKey();
      assert.equal(await statusOf(network('GET', '/v2/pet/1', undefined, { key: live })), 401);
    });

    it('stores each of concurrent changes once', async () => {
      const call = from('192.0.2.8');
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, i) => call('POST', '/v2/pet', { id: i % 4, name: `${i}`, status: 'available' })),
      );
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
      // Ids below 1 are new ones.
      assert.deepEqual((await call('GET', '/v2/store/inventory')).body, { available: 3 + 10 });
    });

    it('has a bounded number of documents', async () => {
      const call = from('192.0.2.9');
      const users = (start: number, length: number) =>
        Array.from({ length }, (_, i) => ({ id: start + i + 1, username: `u${start + i}` }));
      const { documents } = classicBounds;
      for (let start = 0; start < documents; start += 500) {
        assert.equal(await statusOf(call('POST', '/v2/user/createWithList', users(start, 500))), 200);
      }
      // Two requests cannot both get the last place.
      await call('DELETE', '/v2/user/u0');
      const last = await Promise.all([1, 2].map(id => statusOf(call('POST', '/v2/pet', { id }))));
      assert.deepEqual(last.sort(), [200, 409]);
      const { status, body } = await call('POST', '/api/v3/pet', { id: 3 });
      assert.equal(status, 409);
      const message = 'A sandbox has at most 1,000 documents and 1 MiB. Delete some.';
      assert.deepEqual(body, { code: 409, type: 'error', message });
      assert.equal(await statusOf(call('POST', '/v2/user', { id: 9, username: 'u1' })), 200);
      assert.equal(await statusOf(call('DELETE', '/v2/user/u2')), 200);
      assert.equal(await statusOf(call('POST', '/v2/pet', { id: 3 })), 200);
    });

    it('has a bounded size', async () => {
      const call = from('192.0.2.10');
      const name = 'x'.repeat(60_000);
      const statuses: number[] = [];
      for (let id = 1; id <= 18; id++) statuses.push(await statusOf(call('POST', '/v2/pet', { id, name })));
      assert.deepEqual(statuses, [...new Array(17).fill(200), 409]);
      assert.equal((await call('GET', '/v2/pet/findByStatus?status=x')).text, '[]');
    });

    it('is one of a bounded number of its network', async () => {
      const store = (name: string) => from('192.0.2.11', { 'X-Sandbox': name })('POST', '/v2/pet', { id: 1, name });
      const { perNetwork } = classicBounds;
      const created = await Promise.all(Array.from({ length: perNetwork + 1 }, (_, i) => statusOf(store(`own ${i}`))));
      assert.deepEqual(created.sort(), [...new Array(perNetwork).fill(200), 503]);
      const { status, headers, body } = await store('another');
      assert.deepEqual([status, headers['retry-after'], body.code, body.type], [503, '3600', 503, 'error']);
      assert.equal(await statusOf(from('192.0.2.11', { 'X-Sandbox': 'another' })('GET', '/v2/store/inventory')), 200);
      assert.equal(await statusOf(from('192.0.2.12', { 'X-Sandbox': 'another' })('POST', '/v2/pet', { id: 1 })), 200);
    });

    it('is created only while others leave space, except for an account', async t => {
      await from('192.0.2.13')('POST', '/v2/pet', { id: 1 });
      for (const { count, bytes } of [
        { count: classicBounds.sandboxes, bytes: 0 },
        { count: 1, bytes: classicBounds.totalBytes },
      ]) {
        await staging().write(async tx => {
          for (let i = 0; i < count; i++) {
            await tx.queue(insertSandbox, { name: `filling ${i}`, bytes, expiresAt: tx.now + DAY_MS });
          }
        });
        t.after(() => staging().write(tx => tx.run(deleteFilling, {})));
        const { status, body } = await from('192.0.2.14')('POST', '/v2/pet', { id: 1 });
        assert.deepEqual([status, body.code, body.type], [503, 503, 'error']);
        assert.equal(await statusOf(from('192.0.2.13')('POST', '/v2/pet', { id: 2 })), 200);
        const key = await service.newKey({ deployment: 'staging' });
        assert.equal(await statusOf(from('192.0.2.14')('POST', '/v2/pet', { id: 1 }, { key })), 200);
        await staging().write(tx => tx.run(deleteFilling, {}));
      }
    });

    it('is deleted with its account', async () => {
      const key = await service.newKey({ deployment: 'staging' });
      const call = from('192.0.2.15');
      for (const id of [1, 2, 3]) await call('POST', '/v2/pet', { id }, { key });
      const { id } = (await call('GET', '/v1/account', undefined, { key })).body;
      const deleted: number[] = [];
      for (let rows = -1; rows !== 0; deleted.push(rows))
        rows = await staging().write(tx => deleteSandboxOf(tx, id, 2));
      assert.deepEqual(deleted, [2, 1, 1, 0]);
      assert.equal(await statusOf(call('GET', '/v2/pet/1', undefined, { key })), 404);
    });

    it('forgets a document a day after it was last written', async () => {
      const call = from('192.0.2.16');
      await call('POST', '/v2/pet', { id: 1, status: 'sold' });
      clock.advance(DAY_MS / 2);
      await call('POST', '/v2/pet', { id: 2, status: 'sold' });
      clock.advance(DAY_MS / 2 - 1);
      assert.deepEqual((await call('GET', '/v2/store/inventory')).body, { sold: 2 });
      clock.advance(1);
      assert.deepEqual((await call('GET', '/v2/store/inventory')).body, { sold: 1 });
      for (const [method, path] of [
        ['GET', '/v2/pet/1'],
        ['DELETE', '/v2/pet/1'],
        ['POST', '/v2/pet/1'],
      ] as const) {
        assert.equal(await statusOf(call(method, path)), 404, method);
      }
      clock.advance(DAY_MS);
      assert.deepEqual((await call('GET', '/v2/store/inventory')).body, {});
      while ((await staging().write(tx => deleteExpiredSandboxes(tx, 1000))) > 0);
      assert.deepEqual(await staging().first(countRows, {}), { sandboxes: 0, documents: 0 });
    });

    it('leaves no query in the access log', async () => {
      const key = await service.newKey({ deployment: 'staging' });
      await from('192.0.2.17')('GET', '/v2/user/login?username=anna&password=hunter2', undefined, { key });
      await from('192.0.2.17')('GET', '/api/v3/user/login?username=anna&password=hunter2');
      const lines = service.lines.filter(line => line.includes('classic.v') && line.includes('login'));
      assert.equal(lines.length, 2);
      assert.ok(!/anna|hunter2/.test(service.lines.join('')));
      const { body } = await send(`${service.urls.staging}/account/requests`, { key });
      assert.ok(!/anna|hunter2/.test(JSON.stringify(body)));
    });
  }),
);

const insertSandbox = query((db, p: Params<{ name: string; bytes: number; expiresAt: number }>) =>
  db
    .insertInto('classic_sandboxes')
    .values({ name: p.name, network: sql.lit('198.51.100.1'), bytes: p.bytes, expires_at: p.expiresAt }),
);

const deleteFilling = query(db => db.deleteFrom('classic_sandboxes').where('name', 'like', sql.lit('filling %')));

const countRows = query(db =>
  db.selectNoFrom(({ selectFrom, fn }) => [
    selectFrom('classic_sandboxes').select(fn.countAll<number>().as('n')).as('sandboxes'),
    selectFrom('classic_documents').select(fn.countAll<number>().as('n')).as('documents'),
  ]),
);

describe('a network without a key', () => {
  const clock = testClock(Date.UTC(2026, 10, 24, 10));
  let service: TestService;
  let origin: string;
  before(async () => {
    const limits = { PETSTORE_CLASSIC_PER_MINUTE: '3', PETSTORE_CLASSIC_PER_DAY: '5' };
    service = await serve({ clock, environment: { PETSTORE_TRUSTED_PROXIES: '127.0.0.1', ...limits } });
    origin = new URL(service.urls.staging).origin;
  });
  after(() => service.stop());

  const get = (path: string, network: string) => send(origin + path, { headers: { 'X-Forwarded-For': network } });

  it('has limits of a minute and a day for both versions, apart from the limit of the API', async () => {
    const network = '192.0.2.1';
    for (const [path, left] of [
      ['/v2/pet/1', '2'],
      ['/api/v3/pet/1', '1'],
      ['/v2/none', '0'],
    ] as const) {
      const { headers } = await get(path, network);
      assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], ['3', left]);
    }
    for (const path of ['/v2/pet/1', '/api/v3/pet/1', '/v2/swagger.json']) {
      const { status, headers, body } = await get(path, network);
      const message = 'Too many requests from this network without an API key. Wait for the time in Retry-After.';
      assert.deepEqual([status, body], [429, { code: 429, type: 'error', message }]);
      assert.deepEqual([headers['retry-after'], headers['x-ratelimit-remaining']], ['60', '0']);
    }
    assert.equal((await get('/v2/pet/1', '192.0.2.2')).status, 404);
    assert.equal((await get('/v1/pets', network)).status, 401);
    clock.advance(60_000);
    for (const _ of [4, 5]) assert.equal((await get('/v2/pet/1', network)).status, 404);
    const day = await get('/v2/pet/1', network);
    assert.deepEqual([day.status, day.headers['x-ratelimit-limit']], [429, '5']);
  });

  it('is never banned', async () => {
    const network = '192.0.2.3';
    for (let i = 0; i < 3; i++) await get('/v2/pet/1', network);
    for (let second = 0; second < 59; second++) {
      assert.equal((await get('/v2/pet/1', network)).status, 429);
      clock.advance(1000);
    }
    clock.advance(1000);
    assert.equal((await get('/v2/pet/1', network)).status, 404);
  });
});
