import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib';
import { createLink } from '../../src/access/sessions/links.ts';
import { compressNow } from '../../src/lib/http/server/compress-now.ts';
import { pages } from '../../src/main/pages.ts';
import { send, sendRaw, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signedIn } from './session.ts';

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

  it('are compressed each time if they are rendered each time, with a new mask of the token, but never with a secret', async () => {
    for (const path of ['/animals', '/animals?q=dog', '/sign-in']) {
      const plain = await send(origin + path, { headers: { Accept: 'text/html' } });
      for (const encoding of ['br', 'gzip'] as const) {
        const { headers, bytes } = await download(origin + path, encoding);
        assert.deepEqual([headers['content-encoding'], headers['vary']], [encoding, 'Accept-Encoding'], path);
        const text = String(encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes));
        assert.equal(withoutToken(text), withoutToken(plain.text));
        assert.ok(bytes.length < plain.text.length / 2, path);
      }
    }
    const person = await signedIn(service);
    const tokens = new Set<string>();
    for (let times = 0; times < 3; times++) {
      const { text } = await person.open('/account');
      const shown = new Set(Array.from(text.matchAll(/name="token" value="([\w-]+)"/g), ([, token]) => token!));
      for (const token of shown) {
        tokens.add(token);
        assert.equal((await person.submit('/account/name', { token, name: 'Ann' })).status, 303);
      }
    }
    assert.ok(tokens.size >= 3);
    const forged = `${'A'.repeat(85)}w`;
    assert.equal((await person.submit('/account/name', { token: forged, name: 'Ann' })).status, 403);

    const secret = await service.app.databases.production.write(tx =>
      createLink(tx, { personId: person.accountId, purpose: 'sign_in', email: 'x@example.org' }),
    );
    const form = { name: 'Secret', deployment: 'staging', access: 'all' };
    for (const reply of [
      await person.submit('/keys/new', form, { 'Accept-Encoding': 'br, gzip' }),
      await person.open(`/links/${secret.secret}`, { 'Accept-Encoding': 'br, gzip' }),
    ]) {
      assert.deepEqual([reply.status, reply.headers['content-encoding']], [200, undefined]);
    }
    for (const { path, showsSecret } of pages) {
      if (path.includes('{secret}')) assert.ok(showsSecret, path);
    }
  });

  it('are compressed with less effort than cached pages, up to a size', () => {
    const reference = readFileSync('docs/reference.md');
    const text = Buffer.concat([reference, reference, reference]).subarray(0, 384 * 1024);
    const half = text.subarray(0, 192 * 1024);
    for (const [encoding, compressWell] of [
      ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })],
      ['gzip', (bytes: Buffer) => gzipSync(bytes, { level: 9 })],
    ] as const) {
      // More effort would make them smaller.
      const share = (bytes: Buffer) => compressNow(bytes, encoding)!.length / compressWell(bytes).length;
      assert.ok(share(half) > 1.03 && share(text) > share(half), `${encoding}: ${share(half)}, ${share(text)}`);
      assert.ok(compressNow(text, encoding)!.length < text.length / 2);
    }
    assert.equal(compressNow('x'.repeat(384 * 1024 + 1), 'br'), undefined);
    assert.equal(compressNow('x', 'br'), undefined);
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

function withoutToken(text: string): string {
  return text.replaceAll(/name="token" value="[^"]+"|AAAB[\w-]{50}/g, '');
}

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
