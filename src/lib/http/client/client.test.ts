import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  type Listener,
  listen,
  loopback,
  ok,
  onRequest,
  open,
  post,
  respond,
  resultOf,
  silent,
} from '../../../../test/support/raw-server.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { openOutgoingClient } from './client.ts';
import { postOnce } from './post-once.ts';

describe('OutgoingClient.post', () => {
  it('sends the body and headers, and asks for an uncompressed response', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback);
    const body = Buffer.from('{"name":"Żółw"}');
    const headers = { 'user-agent': 'PetStore/1', 'webhook-id': 'msg_1' };
    const url = `http://127.0.0.1:${listener.port}/a%20b/c?d=1`;
    const outcome = await outgoing.post({ url, headers, body });
    assert.ok('status' in outcome);
    assert.deepEqual([outcome.status, outcome.body, 'retryAfterMs' in outcome], [200, 'ok', false]);
    assert.ok(outcome.durationMs > 0 && outcome.durationMs < 5000);
    const [head, sent] = Buffer.from(listener.received, 'latin1').toString().split('\r\n\r\n');
    assert.equal(sent, '{"name":"Żółw"}');
    assert.deepEqual(head!.toLowerCase().split('\r\n').sort(), [
      'accept-encoding: identity',
      'connection: keep-alive',
      `content-length: ${body.length}`,
      `host: 127.0.0.1:${listener.port}`,
      'post /a%20b/c?d=1 http/1.1',
      'user-agent: petstore/1',
      'webhook-id: msg_1',
    ]);
  });

  it('sends nothing unless it is allowed when a connection is open, new or kept alive', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback);
    const url = `http://127.0.0.1:${listener.port}/`;
    const send = (isAllowed: () => boolean | Promise<boolean>) =>
      outgoing.post({ url, headers: {}, body: '{}', isAllowed });
    const before = () => listener.received;
    for (const allow of [() => true, async () => true]) {
      for (const refuse of [() => false, async () => false, () => Promise.reject(new Error('storage'))]) {
        const received = before();
        assert.equal(resultOf(await send(refuse)), 'withdrawn');
        assert.equal(before(), received);
      }
      assert.equal(resultOf(await send(allow)), 200);
    }
    assert.equal(listener.requests, 2);
    const closed = open(t, loopback);
    const unreachable = await closed.post({
      url: 'http://127.0.0.1:1/',
      headers: {},
      body: '',
      isAllowed: assert.fail,
    });
    assert.equal(resultOf(unreachable), 'refused');
  });

  it('ignores cookies', async t => {
    const listener = await listen(t, respond('HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n'));
    const outgoing = open(t, loopback);
    for (let i = 0; i < 2; i++) assert.equal(resultOf(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
    assert.doesNotMatch(listener.received, /cookie/i);
  });

  it('returns at most the first 1,024 bytes of the body, as well-formed text without NUL', async t => {
    let body = Buffer.alloc(0);
    const listener = await listen(t, (socket, listener) =>
      onRequest(socket, listener, () => {
        socket.write(`HTTP/1.1 500 Oh\r\nContent-Length: ${body.length}\r\n\r\n`);
        socket.write(body);
      }),
    );
    const outgoing = open(t, loopback);
    for (const [bytes, text] of [
      ['', ''],
      ['not so good', 'not so good'],
      ['x'.repeat(1024), 'x'.repeat(1024)],
      ['x'.repeat(50_000), 'x'.repeat(1024)],
      [`${'x'.repeat(1023)}ł`, 'x'.repeat(1023)],
      [`${'x'.repeat(1021)}🐢`, 'x'.repeat(1021)],
      [`${'x'.repeat(1020)}🐢`, `${'x'.repeat(1020)}🐢`],
      ['a\0b', 'a\ufffdb'],
      [Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
      [Buffer.alloc(1024, 0xff), '\ufffd'.repeat(341)],
      [Buffer.alloc(1024), '\ufffd'.repeat(341)],
    ] as const) {
      body = Buffer.from(bytes as string);
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.body], [500, text]);
      assert.ok(Buffer.byteLength(outcome.body) <= 1024 && outcome.body.isWellFormed());
    }
  });

  it('does not decompress the body', async t => {
    const packed = gzipSync(Buffer.alloc(10_000_000, 'x'));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const listener = await listen(t, respond(head, packed));
    const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
    assert.ok('status' in outcome);
    assert.equal(outcome.status, 200);
    assert.doesNotMatch(outcome.body, /xxx/);
  });

  it('parses Retry-After in seconds and in all HTTP date formats', async t => {
    let value = '';
    const listener = await listen(t, (socket, listener) =>
      onRequest(socket, listener, () =>
        socket.write(`HTTP/1.1 503 No\r\nRetry-After: ${value}\r\nContent-Length: 0\r\n\r\n`),
      ),
    );
    const outgoing = open(t, loopback, { now: () => Date.UTC(2026, 10, 21, 12, 0, 0, 250) });
    for (const [text, ms] of [
      ['120', 120_000],
      ['0', 0],
      ['99999999999999999999', 365 * 86_400_000],
      ['Sat, 21 Nov 2026 12:00:10 GMT', 9750],
      ['Saturday, 21-Nov-26 12:00:10 GMT', 9750],
      ['Sat Nov 21 12:00:10 2026', 9750],
      ['Tue Dec  1 12:00:00 2026', 10 * 86_400_000 - 250],
      ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
      ['Sat, 21 Nov 9999 11:00:00 GMT', 365 * 86_400_000],
      ['', undefined],
      ['-1', undefined],
      ['1.5', undefined],
      ['soon', undefined],
      ['2026-11-21T12:00:10Z', undefined],
      ['Sat, 99 Xyz 2026 12:00:10 GMT', undefined],
    ] as const) {
      value = text;
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.retryAfterMs], [503, ms], text);
    }
  });
});

describe('Connections of an OutgoingClient', () => {
  it('keeps connections alive for the next request, and closes idle ones', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback, { idleMs: 200 });
    for (let i = 0; i < 20; i++)
      assert.equal(resultOf(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
    assert.deepEqual([listener.connections, listener.open], [1, 1]);
    await waitUntil(() => listener.open === 0);
  });

  it('does not keep the process alive', async t => {
    const listener = await listen(t, ok);
    const script = `
      import { openOutgoingClient } from ${JSON.stringify(new URL('client.ts', import.meta.url))};
      const outgoing = openOutgoingClient({ networks: ['127.0.0.1'] }, { idleMs: 60_000 });
      const url = 'http://localhost:${listener.port}/';
      console.log((await outgoing.post({ url, headers: {}, body: '' })).status);`;
    const begin = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    assert.equal(stdout.trim(), '200');
    assert.ok(performance.now() - begin < 20_000);
  });

  it('repeats a request once, on a new connection, if the kept-alive one was closed', async t => {
    // Resets the connection on its second request.
    const listener = await listen(t, (socket, listener) =>
      onRequest(socket, listener, index => {
        if (index > 0) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      }),
    );
    const outgoing = open(t, loopback);
    const url = `http://127.0.0.1:${listener.port}/`;
    await Promise.all([post(outgoing, url), post(outgoing, url), post(outgoing, url)]);
    assert.deepEqual([listener.connections, listener.requests], [3, 3]);
    // The other two idle connections are equally old, so they are closed.
    assert.equal(resultOf(await post(outgoing, url)), 200);
    assert.deepEqual([listener.connections, listener.requests], [4, 5]);
  });

  it('does not repeat a request after the first byte of a response, or twice', async t => {
    for (const [end, connections, requests] of [
      ['H', 1, 2],
      ['', 2, 3],
    ] as const) {
      let failing = false;
      const listener = await listen(t, (socket, listener) =>
        onRequest(socket, listener, () => {
          if (failing) socket.end(end);
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }),
      );
      const outgoing = open(t, loopback);
      const url = `http://127.0.0.1:${listener.port}/`;
      assert.equal(resultOf(await post(outgoing, url)), 200);
      failing = true;
      assert.equal(resultOf(await post(outgoing, url)), 'reset');
      assert.deepEqual([listener.connections, listener.requests], [connections, requests], JSON.stringify(end));
    }
  });

  it('limits requests per origin and in total', async t => {
    const [now, most]: [Map<string, number>, Map<string, number>] = [new Map(), new Map()];
    const count = (host: string, by: number) => {
      now.set(host, (now.get(host) ?? 0) + by);
      most.set(host, Math.max(most.get(host) ?? 0, now.get(host)!));
    };
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];
    const listeners = await Promise.all(
      hosts.map(host =>
        listen(
          t,
          (socket, listener) =>
            onRequest(socket, listener, () => {
              for (const one of [host, 'all']) count(one, 1);
              setTimeout(() => {
                for (const one of [host, 'all']) count(one, -1);
                socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
              }, 5);
            }),
          { host },
        ),
      ),
    );
    const outgoing = open(t, { networks: ['127.0.0.0/8'] }, { perOrigin: 3, total: 7, idleMs: 60_000 });
    const posts = ({ port }: Listener, i: number) =>
      Array.from({ length: 30 }, () => post(outgoing, `http://${hosts[i]}:${port}/`));
    assert.deepEqual(new Set((await Promise.all(posts(listeners[0]!, 0))).map(resultOf)), new Set([200]));
    assert.equal(most.get('all'), 3);
    assert.deepEqual(new Set((await Promise.all(listeners.flatMap(posts))).map(resultOf)), new Set([200]));
    assert.equal(most.get('all'), 7);
    for (const host of hosts) assert.ok(most.get(host)! <= 3, host);
    // Idle connections count too. The server may notice a close a little later.
    await waitUntil(() => listeners.reduce((sum, { open }) => sum + open, 0) <= 7);
  });

  it('lets a slow receiver delay no other', async t => {
    const stuck = await listen(t, silent);
    const listener = await listen(t, ok, { host: '127.0.0.2' });
    const outgoing = open(t, { networks: ['127.0.0.0/8'] }, { perOrigin: 4, total: 8, timeoutMs: 2000 });
    const waiting = Promise.all(Array.from({ length: 8 }, () => post(outgoing, `http://127.0.0.1:${stuck.port}/`)));
    await waitUntil(() => stuck.requests === 4);
    for (let i = 0; i < 20; i++)
      assert.equal(resultOf(await post(outgoing, `http://127.0.0.2:${listener.port}/`)), 200);
    assert.equal(stuck.open, 4);
    await outgoing.close();
    assert.deepEqual(new Set((await waiting).map(resultOf)), new Set(['aborted']));
  });

  it('reports busy if no connection becomes free within the time limit', async t => {
    const stuck = await listen(t, silent);
    const outgoing = open(t, loopback, { perOrigin: 1, timeoutMs: 300 });
    const url = `http://127.0.0.1:${stuck.port}/`;
    const results = (await Promise.all([post(outgoing, url), post(outgoing, url), post(outgoing, url)])).map(resultOf);
    assert.deepEqual([results[0], results[2]], ['timeout', 'busy']);
    assert.ok(stuck.requests < 3);
    // The slot is free again.
    assert.equal(resultOf(await post(outgoing, url)), 'timeout');
  });

  it('aborts a request before it starts, while it waits, and while it runs', async t => {
    const stuck = await listen(t, silent);
    const outgoing = open(t, loopback, { perOrigin: 1 });
    const url = `http://127.0.0.1:${stuck.port}/`;
    assert.deepEqual(await post(outgoing, url, { signal: AbortSignal.abort() }), { fault: 'aborted', durationMs: 0 });
    const [first, second] = [new AbortController(), new AbortController()];
    const outcomes = [post(outgoing, url, { signal: first.signal }), post(outgoing, url, { signal: second.signal })];
    await waitUntil(() => stuck.requests === 1);
    second.abort();
    assert.equal(resultOf(await outcomes[1]!), 'aborted');
    first.abort();
    assert.equal(resultOf(await outcomes[0]!), 'aborted');
    await waitUntil(() => stuck.open === 0);
    assert.equal(stuck.requests, 1);

    const looking = open(t, loopback, { findAddresses: () => new Promise(() => undefined) });
    const third = new AbortController();
    const outcome = post(looking, 'https://hook.example/', { signal: third.signal });
    third.abort();
    assert.equal(resultOf(await outcome), 'aborted');
  });

  it('aborts all requests and closes all connections on close', async t => {
    const stuck = await listen(t, silent);
    const quick = await listen(t, ok);
    const outgoing = openOutgoingClient(loopback);
    assert.equal(resultOf(await post(outgoing, `http://127.0.0.1:${quick.port}/`)), 200);
    const outcome = post(outgoing, `http://127.0.0.1:${stuck.port}/`);
    await waitUntil(() => stuck.requests === 1);
    await outgoing.close();
    assert.equal(resultOf(await outcome), 'aborted');
    await waitUntil(() => stuck.open === 0 && quick.open === 0);
    assert.equal(resultOf(await post(outgoing, `http://127.0.0.1:${quick.port}/`)), 'aborted');
    assert.equal(quick.connections, 1);
    await outgoing.close();
  });

  it('reports headers that HTTP cannot carry as failed', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback);
    for (const headers of [{ 'x-a': 'b\r\nc: d' }, { 'x a': 'b' }, { 'x-a': 'Żółw' }] as Record<string, string>[]) {
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`, { headers });
      assert.deepEqual(Object.keys(outcome), ['fault', 'durationMs']);
      assert.equal(resultOf(outcome), 'failed');
    }
    assert.equal(listener.connections, 0);
    assert.equal(resultOf(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
  });
});

describe('postOnce', () => {
  it('leaves nothing on the signal of its caller, which can live longer than the request', async t => {
    const { signal } = new AbortController();
    for (const serve of [ok, silent]) {
      const { port } = await listen(t, serve);
      await postOnce(false, { host: '127.0.0.1', port }, '{}', 50, { signal, isAllowed: undefined });
    }
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });
});
