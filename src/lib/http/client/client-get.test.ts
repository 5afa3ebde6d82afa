import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  type Behavior,
  endless,
  type Listener,
  listen,
  loopback,
  onRequest,
  open,
  respond,
  respondAndClose,
  silent,
} from '../../../../test/support/raw-server.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import type { OutgoingClient } from './client.ts';
import type { Download, DownloadRequest } from './download.ts';
import { BodyTooLarge } from './get-once.ts';
import { RequestError } from './outcome.ts';
import type { OutgoingRules } from './target.ts';

const read = async ({ status, location, retryAfterMs, body }: Download) => {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return { status, location, retryAfterMs, text: Buffer.concat(chunks).toString() };
};

const get = (outgoing: OutgoingClient, url: string, more: Partial<DownloadRequest> = {}) =>
  outgoing.get({ url, headers: { accept: 'image/*' }, bytesMax: 1000, timeoutMs: 2000, ...more }, read);

/** Returns the fault of a download that fails, or the name of its error. */
const faultOf = (download: Promise<unknown>) =>
  download.then(
    () => 'none',
    error => (error instanceof RequestError ? error.fault : error.constructor.name),
  );

async function serving(t: TestContext, behavior: Behavior, rules: OutgoingRules = loopback) {
  const listener = await listen(t, behavior);
  return { listener, outgoing: open(t, rules), url: `http://127.0.0.1:${listener.port}/a.jpg?b=1` };
}

const isClosed = (listener: Listener) => waitUntil(() => listener.open === 0);

describe('OutgoingClient.get', () => {
  it('sends the headers, and streams the body', async t => {
    const { listener, outgoing, url } = await serving(t, respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    for (let requests = 0; requests < 2; requests++) {
      assert.deepEqual(await get(outgoing, url), {
        status: 200,
        location: undefined,
        retryAfterMs: undefined,
        text: 'ok',
      });
    }
    assert.deepEqual(listener.received.toLowerCase().split('\r\n').slice(0, 5).sort(), [
      'accept-encoding: identity',
      'accept: image/*',
      'connection: keep-alive',
      'get /a.jpg?b=1 http/1.1',
      `host: 127.0.0.1:${listener.port}`,
    ]);
    assert.equal(listener.connections, 1);
  });

  it('does not follow a redirect, and closes the connection of a body that is not read', async t => {
    const head = 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nRetry-After: 3\r\nContent-Length: 9\r\n\r\n';
    const { listener, outgoing, url } = await serving(t, respond(head));
    const options = { url, headers: {}, bytesMax: 10, timeoutMs: 1000 };
    const seen = await outgoing.get(options, async ({ status, location, retryAfterMs }) => [
      status,
      location,
      retryAfterMs,
    ]);
    assert.deepEqual(seen, [302, 'http://127.0.0.1:1/', 3000]);
    await isClosed(listener);
  });

  for (const [name, behavior] of Object.entries({
    'announces too much': respond('HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n'),
    'never ends': endless('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(10_000)),
    'never ends, in chunks': endless('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '4\r\nxxxx\r\n'),
  })) {
    it(`stops reading a body that ${name}`, async t => {
      const { listener, outgoing, url } = await serving(t, behavior);
      assert.equal(await faultOf(get(outgoing, url)), BodyTooLarge.name);
      await isClosed(listener);
    });
  }

  for (const [name, behavior] of Object.entries({
    'the server never responds': silent,
    'the body is slow': endless('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n', 'x', 20),
    'the chunks have endless extensions': endless(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1;x\r\nx\r\n',
      50,
    ),
  })) {
    it(`times out if ${name}`, async t => {
      const { listener, outgoing, url } = await serving(t, behavior);
      const startMs = performance.now();
      assert.equal(await faultOf(get(outgoing, url, { timeoutMs: 300 })), 'timeout');
      assert.ok(performance.now() - startMs < 1500);
      await isClosed(listener);
    });
  }

  it('reports a body that is cut off, and responses that are not HTTP', async t => {
    for (const [fault, behavior] of [
      ['reset', respondAndClose('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nshort')],
      ['reset', respondAndClose('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n')],
      ['reset', (socket => socket.destroy()) as Behavior],
      ['malformed_answer', respond('SSH-2.0-OpenSSH_9.6\r\n')],
      ['malformed_answer', respond(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`)],
      ['malformed_answer', endless('', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n')],
      ['malformed_answer', respond('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')],
    ] as const) {
      const { outgoing, url } = await serving(t, behavior);
      assert.equal(await faultOf(get(outgoing, url)), fault);
    }
  });

  it('repeats a request once whose kept-alive connection was closed', async t => {
    const { listener, outgoing, url } = await serving(t, (socket, listener) =>
      onRequest(socket, listener, index => {
        if (index > 0) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      }),
    );
    for (let requests = 0; requests < 2; requests++) assert.equal((await get(outgoing, url)).text, 'ok');
    assert.deepEqual([listener.connections, listener.requests], [2, 3]);
  });

  it('connects to no address that webhooks may not use', async t => {
    const { listener, url } = await serving(t, respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    const strict = open(t, { networks: [] });
    assert.equal(await faultOf(get(strict, url)), 'forbidden_url');
    assert.equal(await faultOf(get(strict, 'https://127.0.0.1/a.jpg')), 'forbidden_address');
    assert.equal(await faultOf(get(strict, 'https://user:secret@photos.example/')), 'forbidden_url');
    const inner = open(t, { networks: ['127.0.0.9'] }, { findAddresses: async () => ['127.0.0.1'] });
    assert.equal(await faultOf(get(inner, `http://photos.example:${listener.port}/`)), 'unresolved');
    assert.equal(listener.connections, 0);
  });

  it('ends when it is aborted, or the client is closed', async t => {
    const { listener, outgoing, url } = await serving(t, silent);
    const stop = new AbortController();
    const aborted = faultOf(get(outgoing, url, { signal: stop.signal }));
    await waitUntil(() => listener.requests === 1);
    stop.abort();
    assert.equal(await aborted, 'aborted');
    const closed = faultOf(get(outgoing, url));
    await waitUntil(() => listener.requests === 2);
    await outgoing.close();
    assert.equal(await closed, 'aborted');
    assert.equal(await faultOf(get(outgoing, url)), 'aborted');
  });
});
