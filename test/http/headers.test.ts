import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { impliedHeadersOf } from '../../src/lib/http/route.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { routes } from '../../src/views/api.ts';
import {
  assertApiResponse,
  assertError,
  dial,
  type RawReply,
  send,
  sendRaw,
  serve,
  type TestService,
} from '../support/serving.ts';

describe('response headers', () => {
  let serving: TestService;
  let key: IssuedKey;
  let base: string;
  let origin: string;

  before(async () => {
    serving = await serve();
    key = await serving.newKey();
    base = serving.urls.production;
    origin = new URL(base).origin;
  });
  after(() => serving.stop());

  /** The one answer to bytes on a connection of their own. */
  async function only(bytes: string | Buffer | readonly (string | Buffer)[]): Promise<RawReply> {
    const { replies, rest } = await sendRaw(base, bytes, { count: 1 });
    assert.equal(replies.length, 1, `one answer to ${JSON.stringify(String(bytes)).slice(0, 200)}, then ${rest}`);
    return replies[0]!;
  }

  const authorized = () => `Authorization: Bearer ${key.token}\r\n`;

  describe('responses to malformed requests have rate limit headers, a request id and an Error', () => {
    const broken: Record<string, string> = {
      'a garbage line': 'GARBAGE\r\n\r\n',
      'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'a method that is no token': 'GE T /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n',
      'an unknown method': 'FROB /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n',
      'a version that there is not': 'GET /v1/pets HTTP/3.7\r\nHost: x\r\n\r\n',
      'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'a header without a colon': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n',
      'a header with a space in its name': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX Y: z\r\n\r\n',
      'a space before the colon': 'GET /v1/pets HTTP/1.1\r\nHost : x\r\n\r\n',
      'NUL in a header': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Y: a\0b\r\n\r\n',
      'a bare LF after the request line': 'GET /v1/pets HTTP/1.1\nHost: x\n\n',
      'a bare CR in a header': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Y: a\rb\r\n\r\n',
      'a folded header': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Y: a\r\n b\r\n\r\n',
      'two lengths': 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      'a length that is no number': 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 0x2\r\n\r\n{}',
      'a negative length': 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'a length and chunks':
        'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'an encoding that does not end with chunks':
        'POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}',
      'a misspelt encoding': 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
      'chunks in HTTP/1.0': 'POST /v1/pets HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'no Host': 'GET /v1/pets HTTP/1.1\r\n\r\n',
      'no Host for a page': 'GET /livez HTTP/1.1\r\n\r\n',
      'two Hosts': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n',
      'two Hosts in two spellings': 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nhOST: x\r\n\r\n',
      'two Authorizations':
        'GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n',
      'two Authorizations in two spellings':
        'GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nauthorizatioN: Bearer b\r\n\r\n',
      'HTTP/2.0 in the request line': 'GET /v1/pets HTTP/2.0\r\nHost: x\r\n\r\n',
      'HTTP/0.9 in the request line': 'GET /v1/pets HTTP/0.9\r\nHost: x\r\n\r\n',
      'HTTP/1.2 in the request line': 'GET /v1/pets HTTP/1.2\r\nHost: x\r\n\r\n',
      'a malformed path': 'GET /v1/pets/%ZZ HTTP/1.1\r\nHost: x\r\n\r\n',
      'a path that is no UTF-8': 'GET /v1/pets/%FF HTTP/1.1\r\nHost: x\r\n\r\n',
      'a malformed query': 'GET /v1/pets?limit=%ZZ HTTP/1.1\r\nHost: x\r\n\r\n',
      'a cut escape': 'GET /v1/pets?limit=%2 HTTP/1.1\r\nHost: x\r\n\r\n',
    };
    for (const [what, bytes] of Object.entries(broken)) {
      it(`400: ${what}`, async () => {
        const reply = await only(bytes);
        assertApiResponse(reply);
        assert.equal(reply.status, 400, reply.text);
        assert.equal(reply.body.code, 'malformed_request');
        assert.equal(reply.headers['x-ratelimit-limit'], '60');
      });
    }

    it('400: an invalid chunk size, with a valid key', async () => {
      const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}Content-Type: application/json\r\n`;
      for (const chunk of ['zz\r\n', '-1\r\n', '2\r\n{}x\r\n', '2\n{}\r\n', '99999999999999999999\r\n']) {
        const reply = await only(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
        assertApiResponse(reply);
        assert.equal(reply.body.code, 'malformed_request', chunk);
      }
    });

    it('400: a malformed request with a valid key', async () => {
      for (const line of ['GET /v1/pets/%ZZ HTTP/1.1', 'GET /v1/pets?limit=%ZZ HTTP/1.1']) {
        const reply = await only(`${line}\r\nHost: x\r\n${authorized()}\r\n`);
        assertApiResponse(reply);
        assert.equal(reply.body.code, 'malformed_request');
      }
    });

    it('431: more than 16 KiB of headers, in one, in many, or in the URL', async () => {
      for (const head of [
        `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Y: ${'a'.repeat(17_000)}\r\n\r\n`,
        `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${'X-Y: aaaaaaaaaaaaaaaaaaaa\r\n'.repeat(900)}\r\n`,
        `GET /v1/pets?q=${'a'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET /v1/${'a'.repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      ]) {
        const reply = await only(head);
        assertApiResponse(reply);
        assert.equal(reply.status, 431);
        assert.equal(reply.body.code, 'headers_too_large');
      }
    });

    it('accepts a URL and headers just under 16 KiB', async () => {
      const reply = await only(`GET /v1/${'a'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\n${authorized()}\r\n`);
      assert.equal(reply.status, 404);
      const query = `GET /v1/pets?unknown=${'a'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\n${authorized()}\r\n`;
      assert.equal((await only(query)).status, 200);
    });

    it('417: an unknown expectation', async () => {
      const reply = await only(`GET /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}Expect: the-moon\r\n\r\n`);
      assertApiResponse(reply);
      assert.equal(reply.status, 417);
      assert.equal(reply.body.code, 'expectation_failed');
    });

    it('responds once, whatever follows a malformed request', async () => {
      const nonsense = Array.from({ length: 50 }, () => 'NONSENSE\r\n'.repeat(200));
      const { replies, rest } = await sendRaw(base, nonsense);
      assert.equal(replies.length, 1);
      assert.equal(rest, '');
      assertApiResponse(replies[0]!);
    });
  });

  it('sends 100 Continue before the response', async () => {
    const body = JSON.stringify({ name: 'Minka', categoryId: 2 });
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
    const { replies } = await sendRaw(base, [head, body], { count: 1 });
    assert.equal(replies[0]!.status, 201);
  });

  it('returns 413 for a body over 1 MiB, by length and by chunks', async () => {
    const long = await send(`${base}/pets`, { method: 'POST', key, body: Buffer.alloc(1024 * 1024 + 1, ' ') });
    assertApiResponse(long);
    assert.equal(long.status, 413);
    assert.equal(long.body.code, 'body_too_large');
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const reply = await only([head, chunk.repeat(17), '0\r\n\r\n']);
    assertApiResponse(reply);
    assert.equal(reply.status, 413);
  });

  it('accepts a body of exactly 1 MiB', async () => {
    const reply = await send(`${base}/pets`, { method: 'POST', key, body: Buffer.alloc(1024 * 1024, ' ') });
    assert.equal(reply.body.code, 'invalid_json');
  });

  it('are in every response of the API, whatever its status', async () => {
    const pet = { name: 'Minka', categoryId: 2 };
    const reader = await serving.newKey({ scopes: ['pets:read'] });
    for (const [status, path, sending] of [
      [200, '/pets', { key }],
      [201, '/pets', { key, method: 'POST', body: pet }],
      [200, '/pets/1', { key }],
      [400, '/pets?limit=0', { key }],
      [400, '/pets', { key, method: 'POST', body: '{' }],
      [401, '/pets', {}],
      [401, '/pets', { key: 'x' }],
      [401, '/nothing', {}],
      [401, '', {}],
      [401, '/pets', { method: 'DELETE' }],
      [404, '/nothing', { key }],
      [404, '', { key }],
      [404, '/', { key }],
      [404, '//pets', { key }],
      [404, '/pets/9999999', { key }],
      [304, '/pets/1', { key, headers: { 'If-None-Match': '*' } }],
      [400, '/pets/1', { key, method: 'PUT', body: {} }],
      [400, '/pets/1', { key, method: 'PATCH', body: pet, headers: { 'Idempotency-Key': 'a b' } }],
      [403, '/pets/1', { key: reader, method: 'DELETE' }],
      [405, '/pets', { key, method: 'DELETE' }],
      [405, '/pets/1', { key, method: 'POST', body: pet }],
      [412, '/pets/1', { key, method: 'DELETE', headers: { 'If-Match': '"another"' } }],
      [201, '/pets', { key, method: 'POST', body: pet, headers: { 'Idempotency-Key': 'a' } }],
      [201, '/pets', { key, method: 'POST', body: pet, headers: { 'Idempotency-Key': 'a' } }],
      [422, '/pets', { key, method: 'POST', body: { ...pet, name: 'Mia' }, headers: { 'Idempotency-Key': 'a' } }],
      [204, '/pets/2', { key, method: 'DELETE' }],
      [413, '/pets', { key, method: 'POST', body: Buffer.alloc(1024 * 1024 + 1) }],
    ] as const) {
      const reply = await send(base + path, sending);
      assertApiResponse(reply, path);
      assert.equal(reply.status, status, `${path} ${reply.text}`);
    }
  });

  it('are in every response of the message address', async () => {
    for (const method of ['POST', 'GET', 'PATCH']) {
      for (const path of ['/messages', '/', '/v1/pets', '/nothing']) {
        if (method === 'GET' && path === '/') continue;
        const without = await send(serving.urls.messages + path, { method });
        assertApiResponse(without, path);
        assert.equal(without.status, 401);
        const reply = await send(serving.urls.messages + path, { method, key });
        assertApiResponse(reply, path);
        const own = { POST: 400, GET: 200 }[method] ?? 405;
        assert.equal(reply.status, path === '/messages' ? own : 404);
      }
    }
  });

  it('allow every header that an operation reads if a preflight names none', async () => {
    const { headers } = await send(`${base}/pets`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PATCH' },
    });
    const allowed = String(headers['access-control-allow-headers']).toLowerCase().split(', ');
    const read = routes.flatMap(route => Object.keys({ ...route.headers, ...impliedHeadersOf(route) }));
    for (const name of ['Authorization', 'Content-Type', 'X-Request-Id', ...read]) {
      assert.ok(allowed.includes(name.toLowerCase()), name);
    }
    const methods = String(headers['access-control-allow-methods']).split(', ');
    for (const { method, operationId } of routes) assert.ok(methods.includes(method), operationId);
  });

  it('expose every header that an operation documents', async () => {
    const { headers } = await send(`${base}/pets`, { key });
    const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ');
    const documented = routes.flatMap(({ successes }) => successes.flatMap(one => Object.keys(one.headers ?? {})));
    for (const name of ['ETag', 'Idempotency-Replayed', 'Retry-After', 'X-Request-Id', ...documented]) {
      assert.ok(exposed.includes(name.toLowerCase()), name);
    }
  });

  it('name all applied preferences in one header', async () => {
    for (const [prefer, applied] of [
      ['count=exact', 'count=exact'],
      ['handling=strict', 'handling=strict'],
      ['handling=strict, count=exact', 'count=exact, handling=strict'],
      ['handling=lenient', undefined],
    ] as const) {
      const { all } = await send(`${base}/pets`, { key, headers: { Prefer: prefer } });
      assert.deepEqual(all['preference-applied'], applied && [applied]);
    }
  });

  it('have consistent rate limit numbers', async () => {
    const free = await serving.newKey({ plan: 'free' });
    const nowS = Date.now() / 1000;
    const { headers } = await send(`${base}/pets`, { key: free });
    assert.equal(headers['x-ratelimit-limit'], '60');
    assert.equal(headers['x-ratelimit-remaining'], '59');
    assert.ok(Math.abs(Number(headers['x-ratelimit-reset']) - nowS - 60) < 3);
    assert.equal(headers['ratelimit-policy'], '"minute";q=60;w=60, "day";q=1000;w=86400');
    assert.match(String(headers['ratelimit']), /^"minute";r=59;t=6[01], "day";r=999;t=\d+$/);
  });

  it('repeat a valid X-Request-Id; otherwise each response gets a new one', async () => {
    for (const id of ['a', 'x'.repeat(128), '0190f2c4-1b2c.~+/=:_']) {
      const reply = await send(`${base}/pets`, { key, headers: { 'X-Request-Id': id } });
      assert.equal(reply.headers['x-request-id'], id);
      assert.equal((await send(`${base}/pets`, { headers: { 'X-Request-Id': id } })).headers['x-request-id'], id);
    }
    const made = new Set<unknown>();
    for (const id of ['x'.repeat(129), 'a b', 'ä', '<script>', '', 'a"b', 'a,b']) {
      const reply = await send(`${base}/pets`, { key, headers: { 'X-Request-Id': id } });
      assert.notEqual(reply.headers['x-request-id'], id);
      made.add(reply.headers['x-request-id']);
    }
    assert.equal(made.size, 7);
  });

  it('have each header once, except Link', async () => {
    for (const [path, sending] of [
      ['/pets?limit=1', { key }],
      ['/pets/1', { key }],
      ['/pets/1', {}],
      ['/pets', { key, headers: { Prefer: 'count=exact' } }],
    ] as const) {
      const { all } = await send(base + path, sending);
      for (const [name, values] of Object.entries(all)) {
        if (name !== 'link') assert.equal(values.length, 1, `${name}: ${values.join(' | ')}`);
      }
    }
  });

  it('closes the connection of a CONNECT request', async () => {
    const { replies, closed } = await sendRaw(base, `CONNECT /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}\r\n`);
    assert.deepEqual(replies, []);
    assert.ok(closed);
  });

  it('ignores an offer to upgrade', async () => {
    for (const upgrade of [
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n',
    ]) {
      const good = await only(`GET /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}${upgrade}\r\n`);
      assertApiResponse(good);
      assert.equal(good.status, 200);
      const without = await only(`GET /v1/pets HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
      assertApiResponse(without);
      assert.equal(without.status, 401);
    }
  });

  it('needs no Host header for HTTP/1.0', async () => {
    const reply = await only(`GET /v1/pets HTTP/1.0\r\n${authorized()}\r\n`);
    assertApiResponse(reply);
    assert.equal(reply.status, 200);
  });

  it('are the same for HEAD as for GET', async () => {
    for (const [path, sending] of [
      ['/pets', { key }],
      ['/pets/1', { key }],
      ['/pets/999999', { key }],
      ['/pets', {}],
    ] as const) {
      const [got, headed] = [await send(base + path, sending), await send(base + path, { ...sending, method: 'HEAD' })];
      assert.equal(headed.status, got.status);
      assert.equal(headed.text, '');
      const { 'x-request-id': _, date: __, 'x-ratelimit-remaining': ___, ratelimit: ____, ...rest } = got.headers;
      for (const [name, value] of Object.entries(rest)) {
        if (name !== 'x-ratelimit-reset') assert.deepEqual(headed.headers[name], value, name);
      }
    }
  });

  it('have no rate limits on pages and documents', async () => {
    for (const path of ['/', '/livez', '/readyz', '/errors', '/errors/pet_not_found']) {
      for (const headers of [{}, { Authorization: `Bearer ${key.token}` }]) {
        const reply = await send(origin + path, { headers });
        const limits = Object.keys(reply.headers).filter(name => /ratelimit/.test(name));
        assert.deepEqual(limits, [], path);
        assert.equal(reply.status, 200, path);
      }
    }
  });

  it('have the rate limit of the address on the OpenAPI document, which costs nothing', async () => {
    const { urls } = serving;
    for (const address of [urls.production, urls.staging, urls.messages]) {
      for (const more of [{}, { 'If-None-Match': '*' }, { Authorization: `Bearer ${key.token}` }]) {
        const replies = [];
        for (let round = 0; round < 2; round++) {
          replies.push(await send(new URL('/openapi.json', address).href, { headers: more }));
        }
        for (const { headers } of replies) {
          assert.equal(headers['x-ratelimit-limit'], '60');
          assert.ok(headers['x-ratelimit-reset'] && headers['ratelimit'] && headers['ratelimit-policy']);
          assert.match(String(headers['access-control-expose-headers']), /X-RateLimit-Limit/);
          assert.equal(headers['cache-control'], 'private, no-cache');
        }
        const [first, second] = replies.map(({ headers }) => headers['x-ratelimit-remaining']);
        assert.equal(first, second);
      }
    }
  });

  it('have the rate limits of the address on errors outside of the API, which are not counted', async () => {
    const replies = [];
    for (const path of ['/nothing', '/v2/pets', '/errors/nothing', '/deprecations/nothing']) {
      for (const headers of [
        {},
        { Authorization: `Bearer ${key.token}` },
        { Accept: 'application/json, text/html;q=0.1' },
      ]) {
        const reply = await send(origin + path, { headers });
        assert.equal(reply.status, 404, path);
        assertApiResponse(reply);
        replies.push(reply.headers['x-ratelimit-remaining']);
      }
    }
    assert.equal(new Set(replies).size, 1);
  });

  it('requires a key on the message address, except for its document and health', async () => {
    for (const path of ['/', '/errors', '/errors/pet_not_found', '/deprecations/getPet', '/messages', '/nothing']) {
      assert.equal((await send(serving.urls.messages + path)).body.code, 'missing_api_key', path);
    }
    for (const path of ['/openapi.json', '/livez', '/readyz']) {
      assert.equal((await send(serving.urls.messages + path)).status, 200, path);
    }
    const refused = await send(`${serving.urls.messages}/x`, { headers: { Accept: 'application/problem+json' } });
    assert.equal((await send(refused.body.type)).status, 200);
  });

  it('name the path with its prefix where only that is missing', async () => {
    for (const [path, method, hint] of [
      ['/pets', 'GET', /Use \/v1\/pets\.$/],
      ['/pets/?limit=2', 'POST', /Use \/v1\/pets\.$/],
      ['/pets/7', 'PUT', /Use \/v1\/pets\/\{petId\}\.$/],
      ['/store/orders', 'GET', /Use \/v1\/store\/orders\.$/],
      ['/v2/pets', 'GET', /^There is nothing at this path\.$/],
      ['/nothing', 'GET', /^There is nothing at this path\.$/],
    ] as const) {
      const { status, body } = await send(`${origin}${path}`, { method });
      assert.deepEqual([status, body.code], [404, 'route_not_found'], path);
      assert.match(body.message, hint);
    }
  });

  it('returns a not-found page outside of the API to clients that prefer HTML', async () => {
    const json = await send(`${origin}/nothing`);
    assert.equal(json.status, 404);
    assertError(json);
    assert.equal(json.body.code, 'route_not_found');
    const html = await send(`${origin}/nothing`, { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    assert.equal(html.status, 404);
    assert.match(String(html.headers['content-type']), /^text\/html/);
    const within = await send(`${base}/nothing`, { key, headers: { Accept: 'text/html' } });
    assert.match(String(within.headers['content-type']), /^application\/json/);
  });

  it('sends a response to a client that is still sending', async () => {
    const socket = dial(base);
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized()}Content-Type: application/json\r\nContent-Length: 50000000\r\n\r\n`;
    socket.write(head);
    const answer = await new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.once('data', part => resolve(part.toString()));
      for (let sent = 0; sent < 100; sent++) socket.write(Buffer.alloc(65_536, ' '));
    });
    socket.destroy();
    assert.match(answer, /^HTTP\/1\.1 413 /);
  });
});
