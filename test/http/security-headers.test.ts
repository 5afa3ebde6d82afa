import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { IssuedKey } from '../../src/model/key.ts';
import { send, sendRaw, serve, type TestService } from '../support/serving.ts';

describe('security and cache headers', () => {
  let service: TestService;
  let key: IssuedKey;
  let origin: string;
  before(async () => {
    const environment = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1, ::1', PETSTORE_METRICS_PORT: '0' };
    service = await serve({ environment });
    key = await service.newKey();
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  const tls = { 'X-Forwarded-Proto': 'https' };
  const pet = { name: 'Minka', categoryId: 1 };
  const preflight = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' };

  it('are on every kind of response, with Strict-Transport-Security over TLS only', async () => {
    for (const [expected, path, sending] of [
      ['no-store', '/v1/pets', { method: 'POST', key, body: pet }],
      ['private, no-cache', '/v1/pets', { key }],
      ['private, no-cache', '/v1/pets/1', { key }],
      ['private, no-cache', '/v1/pets', { key, headers: { 'If-None-Match': '*' } }],
      ['no-store', '/v1/pets', {}],
      ['no-store', '/v1/pets/99', { key }],
      ['no-store', '/v1/pets/%ZZ', { key }],
      ['no-store', '/v1/pets', { method: 'OPTIONS', headers: preflight }],
      ['no-store', '/nothing', {}],
      ['no-store', '/nothing', { headers: { Accept: 'text/html' } }],
      ['private, no-cache', '/', {}],
      ['private, no-cache', '/errors/pet_not_found', {}],
      ['no-store', '/livez', {}],
      ['no-store', '/readyz', {}],
      ['private, no-cache', '/openapi.json', {}],
    ] as const) {
      for (const headers of [{}, tls]) {
        const more = 'headers' in sending ? sending.headers : {};
        const reply = await send(origin + path, { ...sending, headers: { ...more, ...headers } });
        assert.equal(reply.headers['cache-control'], expected, `${path} ${reply.status}`);
        assert.equal(reply.headers['x-content-type-options'], 'nosniff', path);
        const transport = reply.headers['strict-transport-security'];
        assert.equal(transport, headers === tls ? 'max-age=31536000' : undefined, path);
      }
    }
  });

  it('are on responses to broken HTTP, and on metrics', async () => {
    const { metrics = '' } = service.urls as { metrics?: string };
    const [broken] = (await sendRaw(origin, 'GARBAGE\r\n\r\n')).replies;
    for (const { headers } of [broken!, await send(metrics)]) {
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
  });

  it('let browsers keep a read for the same key only', async () => {
    for (const headers of [{}, { 'If-None-Match': '*' }]) {
      const reply = await send(`${origin}/v1/pets`, { key, headers });
      assert.equal(reply.headers['vary'], 'Authorization', `${reply.status}`);
    }
  });

  it('let clients revalidate /openapi.json', async () => {
    const { headers, status } = await send(`${origin}/openapi.json`);
    assert.equal(status, 200);
    const again = await send(`${origin}/openapi.json`, { headers: { 'If-None-Match': String(headers['etag']) } });
    assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', headers['etag']]);
    const other = await send(`${origin}/openapi.json`, { headers: { 'If-None-Match': '"other"' } });
    assert.equal(other.status, 200);
  });
});
