import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertApiResponse, send } from '../support/serving.ts';
import { service } from './service.ts';

describe('CORS', () => {
  const { use, get } = service();

  it('allows preflight requests without a key, free of charge', async () => {
    const { urls } = use();
    const remaining = async () => (await send(`${urls.production}/pets`)).headers['x-ratelimit-remaining'];
    const before = Number(await remaining());
    for (const url of ['/pets', '/pets/1', '/nothing']
      .map(path => urls.production + path)
      .concat(`${urls.messages}/messages`)) {
      const reply = await send(url, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization, content-type, prefer, x-request-id',
        },
      });
      assert.equal(reply.status, 204);
      assertApiResponse(reply);
      assert.equal(reply.text, '');
      assert.equal(reply.headers['x-ratelimit-remaining'], String(before));
      assert.equal(reply.headers['access-control-allow-origin'], '*');
      assert.equal(reply.headers['access-control-allow-credentials'], undefined);
      for (const method of ['GET', 'HEAD', 'POST'])
        assert.match(String(reply.headers['access-control-allow-methods']), new RegExp(method));
      for (const name of ['authorization', 'content-type', 'prefer']) {
        assert.match(String(reply.headers['access-control-allow-headers']).toLowerCase(), new RegExp(name));
      }
    }
    assert.equal(Number(await remaining()), before - 1);
  });

  it('exposes every header that a client needs to every origin, in every response', async () => {
    for (const reply of [
      await get('/pets', { Origin: 'https://app.example' }),
      await get('/pets/0', { Origin: 'null' }),
      await send(`${use().urls.production}/pets`, { headers: { Origin: 'https://app.example' } }),
      await send(`${use().urls.production}/pets/%ZZ`, { headers: { Origin: 'https://app.example' } }),
    ]) {
      assert.equal(reply.headers['access-control-allow-origin'], '*');
      assert.equal(reply.headers['set-cookie'], undefined);
      const exposed = String(reply.headers['access-control-expose-headers']).toLowerCase().split(', ');
      for (const name of [
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'ratelimit',
        'ratelimit-policy',
        'retry-after',
        'link',
        'x-next',
        'etag',
        'location',
        'x-request-id',
        'deprecation',
        'sunset',
        'x-total-count',
        'preference-applied',
      ]) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });

  it('grants scripts of other sites nothing on pages', async () => {
    const headers = { Origin: 'https://other.example', 'Access-Control-Request-Method': 'POST' };
    const { origin } = new URL(use().urls.production);
    for (const [path, methods] of [
      ['/animals', 'GET, HEAD, OPTIONS'],
      ['/try/key', 'POST, OPTIONS'],
      ['/sign-in', 'GET, HEAD, POST, OPTIONS'],
    ] as const) {
      const reply = await send(origin + path, { method: 'OPTIONS', headers });
      assert.deepEqual([reply.status, reply.headers['allow']], [204, methods], path);
      const granted = Object.keys(reply.headers).filter(name => name.startsWith('access-control-'));
      assert.deepEqual(granted, [], path);
      assert.ok(reply.headers['x-ratelimit-limit'], path);
    }
  });

  it('requires a key for OPTIONS requests that are no preflight', async () => {
    const { urls, key } = use();
    assert.equal((await send(`${urls.production}/pets`, { method: 'OPTIONS' })).status, 401);
    assertApiResponse(await send(`${urls.production}/pets`, { method: 'OPTIONS', key }));
  });
});
