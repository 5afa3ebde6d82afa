import assert from 'node:assert/strict';
import { get, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { send, sendRaw, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

describe('the server of pages', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  const form = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' };

  it('return 405 with Allow for other methods', async () => {
    for (const [path, method, allowed] of [
      ['/', 'POST', 'GET, HEAD'],
      ['/sign-in', 'DELETE', 'GET, HEAD, POST'],
      ['/livez', 'PUT', 'GET, HEAD'],
    ] as const) {
      const { status, headers } = await send(origin + path, { method });
      assert.deepEqual([status, headers['allow']], [405, allowed], path);
    }
  });

  it('are served compressed to those who accept it, with one entity tag', async () => {
    const plain = await send(`${origin}/errors`);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.headers['vary'], 'Accept-Encoding');
    for (const [accepted, expected] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['identity', undefined],
    ] as const) {
      const { headers, bytes } = await download(`${origin}/errors`, accepted);
      assert.equal(headers['content-encoding'], expected, accepted);
      const text = expected === 'br' ? brotliDecompressSync(bytes) : expected === 'gzip' ? gunzipSync(bytes) : bytes;
      assert.equal(String(text), plain.text, accepted);
      assert.equal(headers['etag'], plain.headers['etag']);
      if (expected !== undefined) assert.ok(bytes.length < plain.text.length / 2, accepted);
    }
    const again = await send(`${origin}/errors`, { headers: { 'If-None-Match': String(plain.headers['etag']) } });
    assert.deepEqual([again.status, again.text, again.headers['content-encoding']], [304, '', undefined]);
  });

  it('reject a form that is too large, of another type, or cut off', async () => {
    const large = await send(`${origin}/sign-in`, {
      method: 'POST',
      headers: form,
      body: `x=${'y'.repeat(64 * 1024)}`,
    });
    assert.equal(large.status, 413);
    assert.match(large.text, /larger than 64 KiB/);
    const json = await send(`${origin}/sign-in`, { method: 'POST', body: {} });
    assert.deepEqual([json.status, json.body.code], [400, 'invalid_content_type']);
    const head = `POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: ${form['Content-Type']}\r\nContent-Length: 9\r\n\r\n`;
    await sendRaw(origin, `${head}a=b`, { end: true });
    assert.equal((await send(`${origin}/livez`)).status, 200);
  });

  it('bound the memory of forms in progress, and leave room for other networks', async () => {
    const bounded = await serve({
      environment: {
        PETSTORE_BODIES_MIB: '1',
        PETSTORE_ACCOUNT_BODIES_MIB: '1',
        PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
      },
    });
    const url = new URL(bounded.urls.production).origin;
    const { hostname, port } = new URL(url);
    const flooding = { 'X-Forwarded-For': '192.0.2.1' };
    const head = `POST /sign-in HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Type: ${form['Content-Type']}\r\nContent-Length: 60000\r\n\r\n`;
    const begun = Array.from({ length: 20 }, () => connect(Number(port), hostname).on('error', () => {}));
    try {
      for (const socket of begun) socket.write(`${head}x=`);
      const submit = (from: Readonly<Record<string, string>>) =>
        send(`${url}/sign-in`, { method: 'POST', headers: { ...form, ...from }, body: `x=${'y'.repeat(50_000)}` });
      let refused = await submit(flooding);
      await waitUntil(async () => {
        refused = await submit(flooding);
        return refused.status === 503;
      });
      assert.equal(refused.headers['retry-after'], '1');
      assert.equal((await submit({ 'X-Forwarded-For': '198.51.100.1' })).status, 403, 'its token is missing');
      for (const socket of begun) socket.destroy();
      await waitUntil(async () => (await submit(flooding)).status === 403);
    } finally {
      await bounded.stop();
    }
  });
});

/** Fetches bytes without decoding them. */
function download(url: string, accepted: string): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'Accept-Encoding': accepted } }, response => {
      const parts: Buffer[] = [];
      response.on('data', part => parts.push(part));
      response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(parts) }));
    }).on('error', reject);
  });
}
