import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { describe, it } from 'node:test';
import { assertApiResponse, assertError, send } from '../support/serving.ts';
import { service } from './service.ts';

describe('errors', () => {
  const { use, get, post } = service();

  it('are RFC 9457 problems on request; the type is the URL of a page that explains the error', async () => {
    for (const accept of [
      'application/problem+json',
      'application/json;q=0.5, Application/Problem+JSON',
      'application/problem+json;q=0.1',
    ]) {
      for (const reply of [
        await get('/pets?limit=0', { Accept: accept }),
        await get('/pets/0', { Accept: accept }),
        await post({}, { Accept: accept }),
        await send(`${use().urls.production}/pets`, { headers: { Accept: accept } }),
        await send(`${use().urls.production}/pets/%ZZ`, { headers: { Accept: accept } }),
        await get('/nothing', { Accept: accept }),
      ]) {
        assert.match(String(reply.headers['content-type']), /^application\/problem\+json/);
        const { type, title, detail, requestId, code, message, status, errors, ...rest } = reply.body;
        assert.deepEqual(rest, {});
        assert.equal(status, reply.status);
        assert.equal(detail, message);
        assert.equal(requestId, reply.headers['x-request-id']);
        assert.ok(typeof title === 'string' && typeof code === 'string');
        if (errors !== undefined) assert.ok(Array.isArray(errors));
        const page = await send(new URL(type, use().urls.production).href);
        assert.equal(page.status, 200);
        assert.match(page.text, new RegExp(code));
      }
    }
    for (const accept of [
      'application/problem+json;q=0',
      'application/json',
      '*/*',
      'text/html',
      'application/problem',
    ]) {
      const reply = await get('/pets?limit=0', { Accept: accept });
      assert.match(String(reply.headers['content-type']), /^application\/json/, accept);
      assertError(reply);
    }
  });

  it('name each field with a path, a code and a message', async () => {
    for (const reply of [await post({ status: 1 }), await get('/pets?limit=0&status=x&id=x')]) {
      assert.ok(reply.body.errors.length >= 3);
      for (const one of reply.body.errors) {
        assert.deepEqual(Object.keys(one), ['path', 'code', 'message']);
        assert.match(one.code, /^[a-z]+(_[a-z]+)*$/);
        assert.match(one.message, /\.$/);
      }
    }
  });

  it('are bounded in size, however many fields are invalid', async () => {
    const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`m${index}`, 1]));
    const reply = await post({ name: 'x', categoryId: 1, ...members }, { Prefer: 'handling=strict' });
    assert.equal(reply.status, 400);
    assert.ok(reply.text.length < 20_000);
    const parameters = Array.from({ length: 2000 }, (_, index) => `p${index}=1`).join('&');
    const query = await get(`/pets?${parameters}`, { Prefer: 'handling=strict' });
    assert.equal(query.status, 400);
    assert.ok(query.text.length < 40_000);
  });

  it('distinguish 404 from 405 for callers with a key', async () => {
    for (const path of [
      '/nothing',
      '/',
      '',
      '//pets',
      '/pets/1/2',
      '/Pets',
      '/PETS',
      '/pets;x=1',
      '/pets%2F1',
      '/store',
      '/pet',
      '/v1/pets',
      '/.',
      '/pets/..',
      '/pets/%2e%2e/pets',
    ]) {
      const reply = await get(path);
      if (path === '/pets/..') continue;
      assert.equal(reply.status, 404, path);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'route_not_found', path);
    }
    for (const [method, path, allowed] of [
      ...METHODS.filter(method => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method)).flatMap(method => [
        [method, '/pets', 'GET, HEAD, POST'] as const,
        [method, '/pets/', 'GET, HEAD, POST'] as const,
      ]),
      ...METHODS.filter(method => !['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'CONNECT'].includes(method)).flatMap(
        method => [[method, '/pets/1', 'GET, HEAD'] as const, [method, '/pets/abc', 'GET, HEAD'] as const],
      ),
    ] as const) {
      const reply = await send(use().urls.production + path, { method, key: use().key });
      assert.equal(reply.status, 405, `${method} ${path}`);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'method_not_allowed');
      assert.ok(String(reply.headers.allow).startsWith(allowed), String(reply.headers.allow));
      const withBody = await send(use().urls.production + path, { method, key: use().key, body: '{' });
      assert.equal(withBody.status, 405, `${method} ${path}`);
    }
  });
});
