import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { updateAccount } from '../../src/access/accounts/accounts.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { PlanName } from '../../src/model/plan.ts';
import { long } from '../support/selection.ts';
import { assertApiResponse, dial, type Reply, send, sendRaw, serve, type TestService } from '../support/serving.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');
const behind = (address: string) => ({ 'X-Forwarded-For': address });

describe('rate limits of a plan', () => {
  let serving: TestService;
  let clock: TestClock;
  const url = (path = '/pets') => serving.urls.production + path;

  before(async () => {
    clock = testClock(noon);
    serving = await serve({ clock, environment: { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => serving.stop());

  const count = (replies: readonly Reply[], status: number) => replies.filter(reply => reply.status === status).length;

  it('accept exactly 60 of 200 parallel requests on Free, and the next one at Reset', async () => {
    const key = await serving.newKey({ plan: 'free' });
    clock.advance(250);
    const replies = await Promise.all(Array.from({ length: 200 }, () => send(url(), { key })));
    assert.deepEqual([count(replies, 200), count(replies, 429)], [60, 140]);
    const left = replies
      .filter(({ status }) => status === 200)
      .map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    assert.deepEqual(
      left.toSorted((a, b) => b - a),
      Array.from({ length: 60 }, (_, index) => 59 - index),
    );

    const reset = Math.ceil(clock.now() / 1000) + 60;
    for (const reply of replies) {
      assertApiResponse(reply);
      assert.equal(reply.headers['x-ratelimit-limit'], '60');
      assert.equal(reply.headers['x-ratelimit-reset'], String(reset));
      if (reply.status === 429) {
        assert.equal(reply.body.code, 'rate_limit_exceeded');
        assert.equal(reply.headers['x-ratelimit-remaining'], '0');
        assert.equal(reply.headers['retry-after'], String(Math.ceil(reset - clock.now() / 1000)));
      }
    }
    clock.advance(reset * 1000 - clock.now() - 1);
    assert.equal((await send(url(), { key })).status, 429);
    clock.advance(1);
    assert.equal((await send(url(), { key })).status, 200);
  });

  it('change with the plan for the next request, and keep what was counted', async () => {
    const key = await serving.newKey({ plan: 'free' });
    const update = (plan: PlanName) =>
      serving.app.databases.production.write(tx => updateAccount(tx, key.accountId, { plan }));
    for (let index = 0; index < 60; index++) assert.equal((await send(url(), { key })).status, 200);
    assert.equal((await send(url(), { key })).status, 429);
    await update('pro');
    const { status, headers } = await send(url(), { key });
    assert.deepEqual([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], [200, '300', '239']);
    await update('free');
    const refused = await send(url(), { key });
    assert.deepEqual([refused.status, refused.headers['x-ratelimit-limit']], [429, '60']);
    clock.advance(Number(refused.headers['retry-after']) * 1000);
    assert.equal((await send(url(), { key })).status, 200);
  });

  it('are shared by the keys of an account, not by deployments', async () => {
    const one = await serving.newKey({ plan: 'free' });
    const other = await serving.newKey({ accountId: one.accountId });
    const staging = await serving.newKey({ accountId: one.accountId, deployment: 'staging' });
    for (let index = 0; index < 60; index++) {
      assert.equal((await send(url(), { key: index % 2 ? one : other })).status, 200);
    }
    for (const key of [one, other]) assert.equal((await send(url(), { key })).status, 429);
    const there = await send(`${serving.urls.staging}/pets`, { key: staging });
    assert.deepEqual([there.status, there.headers['x-ratelimit-remaining']], [200, '59']);
    // A message counts with the deployment of its key.
    const messages = serving.urls.messages;
    assert.equal((await send(`${messages}/messages`, { method: 'POST', key: one })).status, 429);
    const counted = await send(`${messages}/messages`, { method: 'POST', key: staging });
    assert.deepEqual([counted.status, counted.headers['x-ratelimit-remaining']], [400, '58']);
  });

  it('do not count requests that are rejected because the service is overloaded', async () => {
    const bounded = await serve({ environment: { PETSTORE_ACCOUNT_BODIES_MIB: '1' } });
    const address = `${bounded.urls.production}/pets`;
    const key = await bounded.newKey({ plan: 'free' });
    assert.equal((await send(address, { key })).headers['x-ratelimit-remaining'], '59');
    const large = dial(address);
    const headers = `Host: x\r\nAuthorization: Bearer ${key.token}\r\nContent-Type: application/json`;
    large.write(`POST /v1/pets HTTP/1.1\r\n${headers}\r\nContent-Length: 1048000\r\nExpect: 100-continue\r\n\r\n`);
    await once(large, 'data');

    for (const framing of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
      const request = `POST /v1/pets HTTP/1.1\r\n${headers}\r\n${framing}\r\n\r\n`;
      for (let index = 0; index < 70; index++) {
        const [reply] = (await sendRaw(address, request, { count: 1 })).replies;
        assertApiResponse(reply!);
        assert.deepEqual([reply!.status, reply!.body.code], [503, 'overloaded']);
        assert.equal(reply!.headers['retry-after'], '1');
        assert.equal(reply!.headers['x-ratelimit-remaining'], '58');
      }
    }
    assert.equal((await send(address, { key })).headers['x-ratelimit-remaining'], '57');
    large.destroy();
    await bounded.stop();
  });

  it('count every authenticated request once, whatever its response', async () => {
    const key = await serving.newKey({ plan: 'free' });
    const remaining = async (path: string, sending = {}) =>
      Number((await send(url(path), { key, ...sending })).headers['x-ratelimit-remaining']);
    assert.equal(await remaining('/pets'), 59);
    assert.equal(await remaining('/pets?limit=0'), 58);
    assert.equal(await remaining('/nothing'), 57);
    assert.equal(await remaining('/pets', { method: 'DELETE' }), 56);
    assert.equal(await remaining('/pets', { method: 'POST', body: '{' }), 55);
    assert.equal(await remaining('/pets/0', { method: 'HEAD' }), 54);
    assert.equal(await remaining('/pets', { method: 'POST', body: Buffer.alloc(1024 * 1024 + 1) }), 53);
    // Input that is no complete request is not counted.
    await sendRaw(url(), `GET /v1/pets/%ZZ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.token}\r\n\r\n`, {
      count: 1,
    });
    await sendRaw(
      url(),
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.token}\r\nExpect: x\r\n\r\n`,
      { count: 1 },
    );
    assert.equal(await remaining('/pets'), 52);
  });

  it('reset the day at midnight UTC', async () => {
    const key = await serving.newKey({ plan: 'free' });
    for (let minute = 0; minute < 17; minute++) {
      const due = minute < 16 ? 60 : 40;
      const replies = await Promise.all(Array.from({ length: 60 }, () => send(url(), { key })));
      assert.equal(count(replies, 200), due, `minute ${minute}`);
      if (minute < 16) clock.advance(61_000);
    }
    const refused = await send(url(), { key });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers['x-ratelimit-limit'], '1000');
    assert.equal(refused.headers['x-ratelimit-reset'], String(Date.parse('2026-11-21T00:00:00Z') / 1000));
    clock.advance(Date.parse('2026-11-21T00:00:00Z') - clock.now() - 1);
    assert.equal((await send(url(), { key })).status, 429);
    clock.advance(1);
    assert.equal((await send(url(), { key })).status, 200);
  });

  it('are neither visible to nor used by requests without a valid key', async () => {
    const key = await serving.newKey({ plan: 'free' });
    const headers = behind('198.51.100.1');
    for (const wrong of [key.token.slice(0, -1), `${key.token}x`, key.token.replace('live', 'test'), '', 'x']) {
      const reply = await send(url(), { key: wrong, headers });
      assert.equal(reply.headers['x-ratelimit-limit'], '60');
      assert.equal(reply.headers['ratelimit-policy'], '"minute";q=60;w=60');
    }
    assert.equal((await send(url(), { key })).headers['x-ratelimit-remaining'], '59');
  });

  it('of the address count requests with a key from a network that it is not for', async () => {
    const key = await serving.newKey({ networks: ['203.0.113.0/24', '2001:db8:7::/48'] });
    for (const address of ['203.0.113.99', '::ffff:203.0.113.7', '2001:db8:7::1', '8.8.8.8, 203.0.113.1']) {
      assert.equal((await send(url(), { key, headers: behind(address) })).status, 200, address);
    }
    const remaining = [];
    for (const address of ['198.51.100.77', '203.0.113.9, 198.51.100.77']) {
      const reply = await send(url(), { key, headers: behind(address) });
      assertApiResponse(reply);
      assert.deepEqual([reply.status, reply.body.code], [403, 'address_not_allowed'], address);
      remaining.push(reply.headers['x-ratelimit-remaining']);
    }
    assert.deepEqual(remaining, ['59', '58']);
    assert.equal((await send(url(), { key })).status, 403, 'the address of the proxy itself');
    const wrong = await send(url(), { key: key.token.slice(0, -1), headers: behind('198.51.100.78') });
    assert.equal(wrong.status, 401);
  });

  describe('rate limits of an address without a valid key', () => {
    it('return 401 for 60 requests a minute, over all addresses together, then 429', async () => {
      const headers = behind('198.51.100.2');
      const key = await serving.newKey();
      const bases = Object.values(serving.urls);
      const replies = await Promise.all(
        Array.from({ length: 90 }, (_, index) =>
          send(`${bases[index % 3]}/pets`, { headers, key: 'x'.repeat(index % 2) }),
        ),
      );
      assert.deepEqual([count(replies, 401), count(replies, 429)], [60, 30]);
      for (const reply of replies) assertApiResponse(reply);
      const refused = replies.find(({ status }) => status === 429)!;
      assert.equal(refused.body.code, 'rate_limit_exceeded');
      assert.equal(refused.headers['x-ratelimit-remaining'], '0');
      // Callers with a key are not limited by the address.
      assert.equal((await send(url(), { headers, key })).status, 200);
      clock.advance(Number(refused.headers['x-ratelimit-reset']) * 1000 - clock.now());
      assert.equal((await send(url(), { headers })).status, 401);
    });

    it('do not count preflight requests, and never reject them', async () => {
      const headers = { ...behind('198.51.100.3'), Origin: 'https://x', 'Access-Control-Request-Method': 'GET' };
      for (let index = 0; index < 70; index++) {
        const reply = await send(url(), { method: 'OPTIONS', headers });
        assert.deepEqual([reply.status, reply.headers['x-ratelimit-remaining']], [204, '60']);
      }
      for (let index = 0; index < 60; index++) await send(url(), { headers: behind('198.51.100.3') });
      const reply = await send(url(), { method: 'OPTIONS', headers });
      assert.deepEqual([reply.status, reply.headers['x-ratelimit-remaining']], [204, '0']);
    });

    it('use the address that a trusted proxy forwards, and the /64 of IPv6 addresses', async () => {
      const remaining = async (address: string) =>
        Number((await send(url(), { headers: behind(address) })).headers['x-ratelimit-remaining']);
      assert.equal(await remaining('203.0.113.5'), 59);
      assert.equal(await remaining('203.0.113.5'), 58);
      assert.equal(await remaining('203.0.113.6'), 59);
      assert.equal(await remaining('spoofed, 10.1.1.1, 203.0.113.5'), 57);
      assert.equal(await remaining('203.0.113.5:4711'), 56);
      assert.equal(await remaining('::ffff:203.0.113.5'), 55);
      assert.equal(await remaining('203.0.113.5, 127.0.0.1'), 54);
      assert.equal(await remaining('2001:db8:1:2::1'), 59);
      assert.equal(await remaining('2001:DB8:1:2:ffff::9'), 58);
      assert.equal(await remaining('[2001:db8:1:2::7]:80'), 57);
      assert.equal(await remaining('2001:db8:1:3::1'), 59);
      for (const nonsense of ['nonsense', '', ',', '999.1.1.1', 'fe80::1%eth0', '::1%lo, ::1%lo', '2001:db8::%', '-']) {
        assert.equal((await send(url(), { headers: behind(nonsense) })).status, 401, nonsense);
        clock.advance(2000);
      }
    });

    it('ignore addresses that an untrusted peer forwards', async () => {
      const open = await serve({ clock });
      try {
        const remaining: number[] = [];
        for (const address of ['203.0.113.5', '203.0.113.6', '127.0.0.1', '']) {
          const { headers } = await send(`${open.urls.production}/pets`, { headers: behind(address) });
          remaining.push(Number(headers['x-ratelimit-remaining']));
        }
        assert.deepEqual(remaining, [59, 58, 57, 56]);
      } finally {
        await open.stop();
      }
    });
  });
});

describe('X-RateLimit-Reset in real time', () => {
  it('is when the next request is accepted', { skip: !long && 'PETSTORE_TEST_LONG' }, async () => {
    const serving = await serve();
    try {
      const key = await serving.newKey({ plan: 'free' });
      const url = `${serving.urls.production}/pets`;
      await Promise.all(Array.from({ length: 60 }, () => send(url, { key })));
      const refused = await send(url, { key });
      assert.equal(refused.status, 429);
      await pause(Number(refused.headers['x-ratelimit-reset']) * 1000 - Date.now());
      assert.equal((await send(url, { key })).status, 200);
    } finally {
      await serving.stop();
    }
  });
});
