import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  type Outcome,
  type OutgoingClient,
  type OutgoingOptions,
  type OutgoingRequest,
  type OutgoingRules,
  openOutgoingClient,
  targetFault,
} from './client.ts';

const own = Object.values(networkInterfaces()).flatMap(all => all ?? []);
const hasIpv6 = own.some(({ address }) => address === '::1');
const ownAddresses = own.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);

/** How a connection is answered. */
type Behaviour = (socket: Socket, listener: Listener) => void;

/** Something that listens, and counts. */
interface Listener {
  readonly port: number;
  /** How many connections came. */
  connections: number;
  /** How many are open. */
  open: number;
  /** How many requests came. */
  requests: number;
  /** What came. */
  received: string;
}

/** Listens on an address until the test ends. */
async function listen(
  t: TestContext,
  behaviour: Behaviour,
  { host = '127.0.0.1', port = 0, server = createServer() }: { host?: string; port?: number; server?: Server } = {},
): Promise<Listener> {
  const sockets = new Set<Socket>();
  const listener: { -readonly [K in keyof Listener]: Listener[K] } = {
    port: 0,
    connections: 0,
    open: 0,
    requests: 0,
    received: '',
  };
  const isTls = 'setSecureContext' in server;
  server.on('connection', socket => {
    sockets.add(socket);
    listener.connections++;
    listener.open++;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      listener.open--;
    });
  });
  server.on('tlsClientError', () => undefined);
  server.on(isTls ? 'secureConnection' : 'connection', socket => {
    socket.on('error', () => undefined);
    behaviour(socket, listener);
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, host, resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  listener.port = (server.address() as { port: number }).port;
  return listener;
}

/** Calls back for each whole request of a connection, with how many came on it before. */
function onRequests(socket: Socket, listener: Listener, answer: (nth: number) => void): void {
  let text = '';
  let nth = 0;
  socket.on('data', chunk => {
    text += chunk.toString('latin1');
    listener.received += chunk.toString('latin1');
    for (;;) {
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      text = text.slice(end + 4 + length);
      listener.requests++;
      answer(nth++);
    }
  });
}

/** Answers every request with the same bytes. */
function answering(...parts: readonly (string | Buffer)[]): Behaviour {
  return (socket, listener) =>
    onRequests(socket, listener, () => {
      for (const part of parts) socket.write(part);
    });
}

/** Answers every request with the same bytes, and closes. */
function answeringOnce(...parts: readonly (string | Buffer)[]): Behaviour {
  return (socket, listener) =>
    onRequests(socket, listener, () => socket.end(Buffer.concat(parts.map(p => Buffer.from(p)))));
}

/** Writes the same on and on once a request came. */
function endless(head: string, part: string, everyMs = 0): Behaviour {
  return (socket, listener) =>
    onRequests(socket, listener, () => {
      socket.write(head);
      const more = () => {
        if (socket.destroyed) return;
        const goOn = socket.write(part);
        if (everyMs > 0) setTimeout(more, everyMs).unref();
        else if (goOn) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
    });
}

const ok = answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
const silent: Behaviour = (socket, listener) => onRequests(socket, listener, () => undefined);

const loopback = { networks: ['127.0.0.1/32'] };

function open(t: TestContext, rules: OutgoingRules, options?: OutgoingOptions): OutgoingClient {
  const outgoing = openOutgoingClient(rules, options);
  t.after(() => outgoing.close());
  return outgoing;
}

const post = (outgoing: OutgoingClient, url: string, more: Partial<OutgoingRequest> = {}): Promise<Outcome> =>
  outgoing.post({ url, headers: { 'content-type': 'application/json' }, body: '{}', ...more });

/** What an outcome is, in short: a status or a fault. */
const gist = (outcome: Outcome) => ('fault' in outcome ? outcome.fault : outcome.status);

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; !holds(); i++) {
    assert.ok(i < 500, 'it does not come true');
    await pause(10);
  }
}

describe('targetFault', () => {
  const strict = { networks: [] };
  const open = { networks: ['10.0.0.0/8', '::1'] };

  it('finds nothing wrong with https URLs of names and public addresses', () => {
    for (const url of [
      ...['https://example.org', 'https://example.org/hook?a=1&b=%20#'.slice(0, -1), 'HTTPS://Example.ORG:443/x'],
      ...[
        'https://example.org:8443/',
        'https://1.1.1.1/',
        'https://[2606:4700:4700::1111]:8443/x',
        'https://localhost/',
      ],
      ...['https://żółw.example/ścieżka', 'https://example.org./', `https://example.org/${'x'.repeat(2028)}`],
    ]) {
      assert.equal(targetFault(url, strict), undefined, url);
    }
  });

  it('takes http and other ports where there are networks, for names and for addresses within them', () => {
    for (const url of [
      ...['http://example.org/', 'https://example.org:444/', 'http://localhost:3000/hook', 'http://10.1.2.3/'],
      ...['http://[::1]:80/', 'https://10.1.2.3:22/', 'http://[::ffff:10.1.2.3]/', 'http://0xa010203/'],
    ]) {
      assert.equal(targetFault(url, open), undefined, url);
    }
    assert.equal(targetFault('http://11.1.2.3/', open), 'must begin with https://');
    assert.equal(targetFault('https://1.1.1.1:444/', open), 'must name port 443 or 8443, or none');
    assert.equal(targetFault('https://192.168.1.1/', open), 'must lead to an address of the public internet');
  });

  it('says what is wrong with any other', () => {
    const wrong: Record<string, readonly string[]> = {
      'must be a URL like https://example.org/hook': [
        ...['', 'example.org', '/hook', '//example.org/', 'https:', 'https://', 'https:///x', 'https:example.org'],
        ...[
          'https:\\\\example.org\\x',
          'https://example.org\\@127.0.0.1/',
          ' https://example.org',
          'https://example.org ',
        ],
        ...['https://exa\tmple.org/', 'https://example.org/\n', 'https://example.org/\0', 'https://example.org/a b'],
        ...[
          'https://exa mple.org/',
          'https://[::1',
          'https://1.2.3.4.5/',
          'https://256.1.1.1/',
          'https://example.org:65536/',
        ],
        ...['https://[fe80::1%25eth0]/', 'https://example.org:-1/', 'https://example.org\u00a0/', 'https://a\u2028b/'],
      ],
      'must begin with https://': [
        ...['http://example.org/', 'HTTP://example.org/', 'ftp://example.org/', 'file:///etc/passwd', 'gopher://x/'],
        ...[
          'javascript:alert(1)',
          'data:,x',
          'unix:/run/x.sock',
          'ws://example.org/',
          'http://1.1.1.1/',
          'http://10.0.0.1/',
        ],
      ],
      'must have at most 2048 characters': [
        `https://example.org/${'x'.repeat(2029)}`,
        // It is sent with each of them as nine.
        `https://example.org/${'ł€'.repeat(300)}`,
      ],
      'must not have a user name or a password in it': [
        ...['https://user@example.org/', 'https://user:password@example.org/', 'https://:password@example.org/'],
        'https://example.org%2f@127.0.0.1/',
        ...['https://@example.org/', 'https://:@example.org/hook'],
      ],
      'must not have a fragment': [
        'https://example.org/#x',
        'https://example.org/#',
        'https://example.org#@127.0.0.1/',
      ],
      'must name port 443 or 8443, or none': [
        ...['https://example.org:80/', 'https://example.org:22/', 'https://example.org:0/', 'https://1.1.1.1:6379/'],
        ...['https://example.org:44300/', 'https://example.org:4430/'],
      ],
      'must lead to an address of the public internet': [
        ...[
          'https://127.0.0.1/',
          'https://127.1/',
          'https://2130706433/',
          'https://0x7f000001/',
          'https://017700000001/',
        ],
        ...[
          'https://0177.0.0.1/',
          'https://0x7f.1/',
          'https://127.0.0.1./',
          'https://①②⑦.⓪.⓪.①/',
          'https://127。0。0。1/',
        ],
        ...['https://%31%32%37.0.0.1/', 'https://0/', 'https://0.0.0.0/', 'https://169.254.169.254/latest/meta-data/'],
        ...[
          'https://0xA9FEA9FE/',
          'https://10.0.0.1/',
          'https://100.64.0.1/',
          'https://224.0.0.1/',
          'https://255.255.255.255/',
        ],
        ...['https://[::]/', 'https://[::1]/', 'https://[0:0:0:0:0:0:0:1]:8443/', 'https://[::ffff:127.0.0.1]/'],
        ...[
          'https://[::ffff:7f00:1]/',
          'https://[::ffff:1.1.1.1]/',
          'https://[::127.0.0.1]/',
          'https://[64:ff9b::7f00:1]/',
        ],
        ...['https://[2002:7f00:1::]/', 'https://[fd00::1]/', 'https://[fe80::1]/', 'https://[ff02::1]/'],
      ],
    };
    for (const [sentence, urls] of Object.entries(wrong)) {
      for (const url of urls) assert.equal(targetFault(url, strict), sentence, url);
    }
  });

  it('is what a request meets, too', async t => {
    const outgoing = open2(t);
    for (const url of ['', 'http://example.org/', 'https://u:p@example.org/', 'https://example.org:22/']) {
      assert.deepEqual(await post(outgoing, url), { fault: 'forbidden_url', durationMs: 0 }, url);
    }
    assert.deepEqual(await post(outgoing, 'https://127.0.0.1/'), { fault: 'forbidden_address', durationMs: 0 });
  });

  const open2 = (t: TestContext) => {
    const outgoing = openOutgoingClient(strict, { findAddresses: () => assert.fail('nothing is looked up') });
    t.after(() => outgoing.close());
    return outgoing;
  };
});

describe('a request to the outside', () => {
  it('carries its body and headers, and asks for bytes as they are', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback);
    const body = Buffer.from('{"name":"Żółw"}');
    const headers = { 'user-agent': 'PetStore/1', 'webhook-id': 'msg_1' };
    const url = `http://127.0.0.1:${listener.port}/a%20b/c?d=1`;
    const outcome = await outgoing.post({ url, headers, body });
    assert.ok('status' in outcome);
    assert.deepEqual([outcome.status, outcome.answer, 'retryAfterMs' in outcome], [200, 'ok', false]);
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

  it('keeps no cookies', async t => {
    const listener = await listen(t, answering('HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n'));
    const outgoing = open(t, loopback);
    for (let i = 0; i < 2; i++) assert.equal(gist(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
    assert.doesNotMatch(listener.received, /cookie/i);
  });

  it('tells how the body of the answer begins, as text that can be kept', async t => {
    let body = Buffer.alloc(0);
    const listener = await listen(t, (socket, listener) =>
      onRequests(socket, listener, () => {
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
      assert.deepEqual([outcome.status, outcome.answer], [500, text]);
      assert.ok(Buffer.byteLength(outcome.answer) <= 1024 && outcome.answer.isWellFormed());
    }
  });

  it('unpacks nothing', async t => {
    const packed = gzipSync(Buffer.alloc(10_000_000, 'x'));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const listener = await listen(t, answering(head, packed));
    const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
    assert.ok('status' in outcome);
    assert.equal(outcome.status, 200);
    assert.doesNotMatch(outcome.answer, /xxx/);
  });

  it('hears how long the receiver wishes to be left alone', async t => {
    let value = '';
    const listener = await listen(t, (socket, listener) =>
      onRequests(socket, listener, () =>
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

describe('addresses that requests may not go to', () => {
  const forbidden = { networks: ['127.0.0.9/32'] };

  /** Posts to each URL, and sees that nothing reached the listener. */
  async function neverReached(t: TestContext, listener: Listener, urls: readonly string[], found?: readonly string[]) {
    const outgoing = open(t, forbidden, { findAddresses: async () => found ?? assert.fail('nothing is looked up') });
    for (const url of urls) assert.equal(gist(await post(outgoing, url)), 'forbidden_address', url);
    assert.equal(listener.connections, 0);
  }

  it('are not reached in any spelling of an IPv4 address', async t => {
    const listener = await listen(t, ok, { host: '127.0.0.2' });
    const hosts = ['127.0.0.2', '127.2', '127.0.2', '2130706434', '0x7f000002', '0x7f.2', '0177.0.0.2', '017700000002'];
    const more = [
      '127.0.0.2.',
      '①②⑦.0.0.2',
      '127。0。0。2',
      '[::ffff:127.0.0.2]',
      '[::ffff:7f00:2]',
      '[0::0:ffff:7f00:2]',
    ];
    const urls = [...hosts, ...more].map(host => `http://${host}:${listener.port}/`);
    const within = open(t, { networks: ['127.0.0.2'] });
    for (const url of urls) assert.equal(gist(await post(within, url)), 200, url);
    listener.connections = 0;
    const outgoing = open(t, forbidden);
    for (const url of urls) assert.match(String(gist(await post(outgoing, url))), /^forbidden_/, url);
    assert.equal(listener.connections, 0);
  });

  it('are not reached through a name that leads to them', async t => {
    for (const [host, leads] of [
      ['127.0.0.2', ['127.0.0.2', '::ffff:127.0.0.2', '::ffff:7f00:2', '0:0:0:0:0:ffff:7f00:2', '::127.0.0.2']],
      [
        '127.0.0.1',
        ['127.0.0.1', '0.0.0.0', '::', '::ffff:0.0.0.0', '64:ff9b::127.0.0.1', '2002:7f00:1::', 'localhost'],
      ],
    ] as const) {
      const listener = await listen(t, ok, { host });
      for (const address of leads) {
        const urls = [`http://hook.example:${listener.port}/`, `https://hook.example:${listener.port}/`];
        await neverReached(t, listener, urls, [address]);
      }
      await neverReached(t, listener, [`http://hook.example:${listener.port}/`], leads);
    }
  });

  it('are not reached over IPv6', { skip: !hasIpv6 && 'this machine has no IPv6' }, async t => {
    const listener = await listen(t, ok, { host: '::1' });
    const urls = [`http://hook.example:${listener.port}/`];
    await neverReached(t, listener, urls, ['::1', '::', '0:0:0:0:0:0:0:1', '::1%lo', '::1%1']);
    const outgoing = open(t, forbidden);
    for (const host of ['[::1]', '[0:0:0:0:0:0:0:1]', '[::]']) {
      assert.equal(gist(await post(outgoing, `http://${host}:${listener.port}/`)), 'forbidden_url', host);
    }
    assert.equal(listener.connections, 0);
    const within = open(t, { networks: ['::1'] }, { findAddresses: async () => ['::1'] });
    assert.equal(gist(await post(within, `http://[::1]:${listener.port}/`)), 200);
    assert.equal(gist(await post(within, urls[0]!)), 200);
  });

  it('are not reached where they are those of this machine', {
    skip: ownAddresses.length === 0 && 'this machine has no address but loopback',
  }, async t => {
    for (const address of ownAddresses) {
      const listener = await listen(t, ok, { host: address });
      await neverReached(t, listener, [`http://hook.example:${listener.port}/`], [address]);
      const outgoing = open(t, forbidden);
      const host = address.includes(':') ? `[${address}]` : address;
      assert.equal(gist(await post(outgoing, `http://${host}:${listener.port}/`)), 'forbidden_url');
      assert.equal(listener.connections, 0);
      assert.equal(gist(await post(open(t, { networks: [address] }), `http://${host}:${listener.port}/`)), 200);
    }
  });

  it('are not reached as localhost, whatever the name is', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, forbidden);
    for (const host of ['localhost', 'LOCALHOST', 'localhost.']) {
      assert.equal(gist(await post(outgoing, `http://${host}:${listener.port}/`)), 'forbidden_address', host);
    }
    assert.match(String(gist(await post(outgoing, `http://shop.localhost:${listener.port}/`))), /^(forbid|unres)/);
    assert.equal(listener.connections, 0);
    assert.equal(gist(await post(open(t, loopback), `http://localhost:${listener.port}/`)), 200);
  });

  it('are not reached by DNS that gives them beside an allowed one: the connection goes to that', async t => {
    const allowed = await listen(t, ok, { host: '127.0.0.9' });
    const others = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const listeners = await Promise.all(others.map(host => listen(t, ok, { host, port: allowed.port })));
    for (const found of [
      ['127.0.0.9', ...others],
      [...others, '127.0.0.9'],
      ['::1', '127.0.0.1', '127.0.0.9', '10.0.0.1'],
    ]) {
      const outgoing = open(t, forbidden, { findAddresses: async () => found });
      assert.equal(gist(await post(outgoing, `http://hook.example:${allowed.port}/`)), 200);
    }
    assert.equal(allowed.connections, 3);
    assert.deepEqual(
      listeners.map(({ connections }) => connections),
      [0, 0, 0],
    );
  });

  it('are not reached by DNS that changes its answer: there is one look-up for each connection', async t => {
    const good = await listen(t, answeringOnce('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'), { host: '127.0.0.9' });
    const bad = await listen(t, ok, { host: '127.0.0.1', port: good.port });
    let looks = 0;
    const outgoing = open(t, forbidden, { findAddresses: async () => [looks++ % 2 === 0 ? '127.0.0.9' : '127.0.0.1'] });
    const url = `http://hook.example:${good.port}/`;
    const gists: unknown[] = [];
    for (let i = 0; i < 6; i++) gists.push(gist(await post(outgoing, url)));
    assert.deepEqual(gists, [200, 'forbidden_address', 200, 'forbidden_address', 200, 'forbidden_address']);
    assert.deepEqual([looks, good.connections, bad.connections], [6, 3, 0]);
  });

  it('are not reached by DNS that changes while a connection is kept', async t => {
    const good = await listen(t, ok, { host: '127.0.0.9' });
    const bad = await listen(t, ok, { host: '127.0.0.1', port: good.port });
    let looks = 0;
    const outgoing = open(t, forbidden, { findAddresses: async () => [looks++ === 0 ? '127.0.0.9' : '127.0.0.1'] });
    const url = `http://hook.example:${good.port}/`;
    for (let i = 0; i < 3; i++) assert.equal(gist(await post(outgoing, url)), 200);
    const both = await Promise.all([post(outgoing, url), post(outgoing, url)]);
    assert.deepEqual(both.map(gist).sort(), [200, 'forbidden_address']);
    assert.deepEqual([looks, good.connections, bad.connections], [2, 1, 0]);
  });

  it('are not reached by redirects: those are answers', async t => {
    const bad = await listen(t, ok, { host: '127.0.0.2' });
    for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
      for (const location of [`http://127.0.0.2:${bad.port}/`, '//127.0.0.2/', 'file:///etc/passwd', '/again']) {
        const good = await listen(
          t,
          answering(
            `HTTP/1.1 ${status} Go\r\nLocation: ${location}\r\nRefresh: 0;url=${location}\r\nContent-Length: 0\r\n\r\n`,
          ),
        );
        assert.equal(gist(await post(open(t, loopback), `http://127.0.0.1:${good.port}/`)), status);
        assert.equal(good.requests, 1);
      }
    }
    assert.equal(bad.connections, 0);
  });

  it('are public ones, too, by plain http and at odd ports', async t => {
    let looks = 0;
    const outgoing = open(t, forbidden, {
      findAddresses: async () => {
        looks++;
        return ['93.184.216.34', '2606:4700:4700::1111'];
      },
    });
    for (const url of ['http://hook.example/', 'http://hook.example:443/', 'https://hook.example:22/']) {
      assert.equal(gist(await post(outgoing, url)), 'forbidden_address', url);
    }
    assert.equal(looks, 3);
  });

  it('are not reached through a proxy that the environment names', async t => {
    const proxy = await listen(t, ok);
    const receiver = await listen(t, ok);
    const script = `
      import { openOutgoingClient } from ${JSON.stringify(new URL('client.ts', import.meta.url))};
      const outgoing = openOutgoingClient({ networks: ['127.0.0.1'] });
      const request = { headers: {}, body: '' };
      const outcomes = [
        await outgoing.post({ ...request, url: 'http://127.0.0.1:${receiver.port}/' }),
        await outgoing.post({ ...request, url: 'http://127.0.0.2:${receiver.port}/' }),
      ];
      console.log(outcomes.map(one => one.status ?? one.fault).join(' '));`;
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'];
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', ...Object.fromEntries(names.map(name => [name, proxyUrl])) },
    });
    assert.equal(stdout.trim(), '200 forbidden_url');
    assert.deepEqual([receiver.connections, proxy.connections], [1, 0]);
  });
});

describe('receivers that answer badly', () => {
  const quick = { timeoutMs: 400 };

  for (const [name, behaviour] of Object.entries({
    'with an endless body': endless('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)),
    'with an endless body in chunks': endless(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\nx\r\n'.repeat(500),
    ),
    'with a huge body': endless(`HTTP/1.1 200 OK\r\nContent-Length: ${10 ** 15}\r\n\r\n`, 'x'.repeat(16_384)),
  })) {
    it(`${name} are cut off, and their status counts`, async t => {
      let sent = 0;
      const listener = await listen(t, (socket, listener) => {
        behaviour(socket, listener);
        socket.on('close', () => {
          sent = socket.bytesWritten;
        });
      });
      const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.answer], [200, 'x'.repeat(1024)]);
      await until(() => listener.open === 0);
      assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
    });
  }

  for (const [name, head, part, gistOf] of [
    [
      'chunks that are longer than what is in them',
      'Transfer-Encoding: chunked\r\n\r\n',
      `1;${'x'.repeat(16_000)}\r\nx\r\n`,
      200,
    ],
    ['a chunk whose size never ends', 'Transfer-Encoding: chunked\r\n\r\n', '0'.repeat(16_384), 200],
    ['lines before any answer', undefined, '\r\n'.repeat(8192), 'malformed_answer'],
  ] as const) {
    it(`with ${name} are cut off as soon as any other`, async t => {
      let sent = 0;
      const begin = head === undefined ? '' : `HTTP/1.1 200 OK\r\n${head}`;
      const listener = await listen(t, (socket, listener) => {
        endless(begin, part)(socket, listener);
        socket.on('close', () => {
          sent = socket.bytesWritten;
        });
      });
      const outcome = await post(open(t, loopback, { timeoutMs: 2000 }), `http://127.0.0.1:${listener.port}/`);
      assert.equal(gist(outcome), gistOf);
      await until(() => listener.open === 0);
      assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
      assert.ok(outcome.durationMs < 1500, `${outcome.durationMs} ms`);
    });
  }

  it('with a body that comes slowly are cut off in time, and their status counts', async t => {
    const listener = await listen(t, endless('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', 'x', 50));
    const outcome = await post(open(t, loopback, quick), `http://127.0.0.1:${listener.port}/`);
    assert.ok('status' in outcome);
    assert.equal(outcome.status, 200);
    assert.match(outcome.answer, /^x{1,20}$/);
    assert.ok(outcome.durationMs >= 390 && outcome.durationMs < 2000);
    await until(() => listener.open === 0);
  });

  for (const [name, behaviour] of Object.entries({
    'that never answer': silent,
    'that send a head slowly': endless('HTTP/1.1 200 OK\r\nX: ', 'x', 50),
    'that send a status slowly': endless('', 'HTTP/1.1 200 OK'.slice(0, 1), 10_000),
    'that send interim answers slowly': endless('', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n', 50),
    'that only listen': (socket => socket.resume()) as Behaviour,
  })) {
    it(`${name} run out of time`, async t => {
      const listener = await listen(t, behaviour);
      const outcome = await post(open(t, loopback, quick), `http://127.0.0.1:${listener.port}/`);
      assert.deepEqual(Object.keys(outcome), ['fault', 'durationMs']);
      assert.equal(gist(outcome), 'timeout');
      assert.ok(outcome.durationMs >= 390 && outcome.durationMs < 2000);
      await until(() => listener.open === 0);
    });
  }

  it('that read nothing run out of time, however large the request', async t => {
    const listener = await listen(t, socket => socket.pause());
    const outgoing = open(t, loopback, quick);
    const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`, { body: Buffer.alloc(30_000_000) });
    assert.equal(gist(outcome), 'timeout');
  });

  it('whose names are never found run out of time', async t => {
    const outgoing = open(t, loopback, { ...quick, findAddresses: () => new Promise(() => undefined) });
    assert.equal(gist(await post(outgoing, 'https://hook.example/')), 'timeout');
    for (const findAddresses of [async () => [], () => Promise.reject(new Error('no'))]) {
      assert.equal(gist(await post(open(t, loopback, { findAddresses }), 'https://hook.example/')), 'unresolved');
    }
  });

  it('with something else than HTTP, or a head that is too large, are malformed', async t => {
    const head = 'HTTP/1.1 200 OK\r\n';
    for (const [name, behaviour] of Object.entries({
      'another protocol': answering('SSH-2.0-OpenSSH_9.6\r\n'),
      'a mail server': answering('220 mail.example ESMTP\r\n'),
      bytes: answering(Buffer.alloc(4096, 0x80)),
      'another version': answering('HTTP/9.9 200 OK\r\n\r\n'),
      'no status': answering('HTTP/1.1 OK\r\n\r\n'),
      'a status that is none': answering('HTTP/1.1 000 Nothing\r\nContent-Length: 2\r\n\r\nok'),
      'a header without a name': answering(`${head}: x\r\n\r\n`),
      'a header with a control character': answering(`${head}X: a\x01b\r\n\r\n`),
      'two lengths': answering(`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nok`),
      'a length that is none': answering(`${head}Content-Length: x\r\n\r\nok`),
      'length and chunks': answering(`${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok`),
      'a huge header': answering(`${head}X: ${'x'.repeat(17_000)}\r\n\r\n`),
      'huge headers': answering(
        head,
        ...Array.from({ length: 20 }, (_, i) => `X-${i}: ${'x'.repeat(1000)}\r\n`),
        '\r\n',
      ),
      'a huge reason': answering(`HTTP/1.1 200 ${'x'.repeat(17_000)}\r\n\r\n`),
      'endless headers': endless(head, `X: ${'x'.repeat(1000)}\r\n`),
      'an endless header': endless(`${head}X: `, 'x'.repeat(1000)),
      'endless interim answers': endless('', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'),
      'another protocol than asked for': answering(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n`,
      ),
    })) {
      const listener = await listen(t, behaviour);
      const outcome = await post(open(t, loopback, { timeoutMs: 5000 }), `http://127.0.0.1:${listener.port}/`);
      assert.equal(gist(outcome), 'malformed_answer', name);
      await until(() => listener.open === 0);
    }
  });

  it('may send interim answers before the one that counts', async t => {
    const interim = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'];
    const listener = await listen(t, answering(...interim, 'HTTP/1.1 204 No Content\r\n\r\n'));
    assert.equal(gist(await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`)), 204);
  });

  it('that close before an answer or within its head have reset the connection', async t => {
    for (const [name, behaviour] of Object.entries<Behaviour>({
      'at once': socket => socket.destroy(),
      'with a reset': socket => socket.resetAndDestroy(),
      'after the request': (socket, listener) => onRequests(socket, listener, () => socket.destroy()),
      'with a reset after the request': (socket, listener) =>
        onRequests(socket, listener, () => socket.resetAndDestroy()),
      'within the status': answeringOnce('HTTP/1.1 2'),
      'within the head': answeringOnce('HTTP/1.1 200 OK\r\nX: y\r\n'),
    })) {
      const listener = await listen(t, behaviour);
      assert.equal(gist(await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`)), 'reset', name);
      assert.equal(listener.connections, 1, name);
    }
  });

  it('that close or break off within the body have answered', async t => {
    for (const [behaviour, text] of [
      [answeringOnce('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'), 'half'],
      [answeringOnce('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'), 'half'],
      [answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n'), ''],
    ] as const) {
      const listener = await listen(t, behaviour);
      const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.answer], [200, text]);
      await until(() => listener.open === 0);
    }
  });

  it('that say more than was asked are not asked again on that connection', async t => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
    const listener = await listen(t, answering(`${answer}ok${answer}no`));
    const outgoing = open(t, loopback);
    for (let i = 0; i < 3; i++) {
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.equal(outcome.answer, 'ok');
      await until(() => listener.open === 0);
    }
  });

  it('that are not there have refused', async t => {
    const listener = await listen(t, ok);
    const { port } = listener;
    const other = createServer().listen(0, '127.0.0.1');
    const free = await new Promise<number>(resolve =>
      other.once('listening', () => {
        const { port } = other.address() as { port: number };
        other.close(() => resolve(port));
      }),
    );
    assert.notEqual(free, port);
    assert.equal(gist(await post(open(t, loopback), `http://127.0.0.1:${free}/`)), 'refused');
  });
});

describe('connections to the outside', () => {
  it('are kept for the next request, and closed when idle', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback, { idleMs: 200 });
    for (let i = 0; i < 20; i++) assert.equal(gist(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
    assert.deepEqual([listener.connections, listener.open], [1, 1]);
    await until(() => listener.open === 0);
  });

  it('do not keep the process alive', async t => {
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

  it('that the receiver closed meanwhile cost one more try, on a new one', async t => {
    // The second request on a connection finds it closed.
    const listener = await listen(t, (socket, listener) =>
      onRequests(socket, listener, nth => {
        if (nth > 0) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      }),
    );
    const outgoing = open(t, loopback);
    const url = `http://127.0.0.1:${listener.port}/`;
    await Promise.all([post(outgoing, url), post(outgoing, url), post(outgoing, url)]);
    assert.deepEqual([listener.connections, listener.requests], [3, 3]);
    // The other two idle ones are as old, and not tried.
    assert.equal(gist(await post(outgoing, url)), 200);
    assert.deepEqual([listener.connections, listener.requests], [4, 5]);
  });

  it('that fail after a byte of an answer, or again, cost no more tries', async t => {
    for (const [end, connections, requests] of [
      ['H', 1, 2],
      ['', 2, 3],
    ] as const) {
      let failing = false;
      const listener = await listen(t, (socket, listener) =>
        onRequests(socket, listener, () => {
          if (failing) socket.end(end);
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }),
      );
      const outgoing = open(t, loopback);
      const url = `http://127.0.0.1:${listener.port}/`;
      assert.equal(gist(await post(outgoing, url)), 200);
      failing = true;
      assert.equal(gist(await post(outgoing, url)), 'reset');
      assert.deepEqual([listener.connections, listener.requests], [connections, requests], JSON.stringify(end));
    }
  });

  it('are bounded for each host, and in all', async t => {
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
            onRequests(socket, listener, () => {
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
    const outgoing = open(t, { networks: ['127.0.0.0/8'] }, { ofEach: 3, inAll: 7, idleMs: 60_000 });
    const posts = ({ port }: Listener, i: number) =>
      Array.from({ length: 30 }, () => post(outgoing, `http://${hosts[i]}:${port}/`));
    assert.deepEqual(new Set((await Promise.all(posts(listeners[0]!, 0))).map(gist)), new Set([200]));
    assert.equal(most.get('all'), 3);
    assert.deepEqual(new Set((await Promise.all(listeners.flatMap(posts))).map(gist)), new Set([200]));
    assert.equal(most.get('all'), 7);
    for (const host of hosts) assert.ok(most.get(host)! <= 3, host);
    // Idle ones count, too; the other side may see one that was closed for another a little later.
    await until(() => listeners.reduce((sum, { open }) => sum + open, 0) <= 7);
  });

  it('that one host takes for long are none that others wait for', async t => {
    const stuck = await listen(t, silent);
    const listener = await listen(t, ok, { host: '127.0.0.2' });
    const outgoing = open(t, { networks: ['127.0.0.0/8'] }, { ofEach: 4, inAll: 8, timeoutMs: 2000 });
    const waiting = Promise.all(Array.from({ length: 8 }, () => post(outgoing, `http://127.0.0.1:${stuck.port}/`)));
    await until(() => stuck.requests === 4);
    for (let i = 0; i < 20; i++) assert.equal(gist(await post(outgoing, `http://127.0.0.2:${listener.port}/`)), 200);
    assert.equal(stuck.open, 4);
    await outgoing.close();
    assert.deepEqual(new Set((await waiting).map(gist)), new Set(['aborted']));
  });

  it('that do not become free in time leave the request unsent', async t => {
    const stuck = await listen(t, silent);
    const outgoing = open(t, loopback, { ofEach: 1, timeoutMs: 300 });
    const url = `http://127.0.0.1:${stuck.port}/`;
    const gists = (await Promise.all([post(outgoing, url), post(outgoing, url), post(outgoing, url)])).map(gist);
    assert.deepEqual([gists[0], gists[2]], ['timeout', 'busy']);
    assert.ok(stuck.requests < 3);
    // And the next one finds a place.
    assert.equal(gist(await post(outgoing, url)), 'timeout');
  });

  it('end when the caller aborts: before, while waiting, and on the way', async t => {
    const stuck = await listen(t, silent);
    const outgoing = open(t, loopback, { ofEach: 1 });
    const url = `http://127.0.0.1:${stuck.port}/`;
    assert.deepEqual(await post(outgoing, url, { signal: AbortSignal.abort() }), { fault: 'aborted', durationMs: 0 });
    const [first, second] = [new AbortController(), new AbortController()];
    const outcomes = [post(outgoing, url, { signal: first.signal }), post(outgoing, url, { signal: second.signal })];
    await until(() => stuck.requests === 1);
    second.abort();
    assert.equal(gist(await outcomes[1]!), 'aborted');
    first.abort();
    assert.equal(gist(await outcomes[0]!), 'aborted');
    await until(() => stuck.open === 0);
    assert.equal(stuck.requests, 1);

    const looking = open(t, loopback, { findAddresses: () => new Promise(() => undefined) });
    const third = new AbortController();
    const outcome = post(looking, 'https://hook.example/', { signal: third.signal });
    third.abort();
    assert.equal(gist(await outcome), 'aborted');
  });

  it('are closed with all that is under way, and no new ones are made', async t => {
    const stuck = await listen(t, silent);
    const quick = await listen(t, ok);
    const outgoing = openOutgoingClient(loopback);
    assert.equal(gist(await post(outgoing, `http://127.0.0.1:${quick.port}/`)), 200);
    const outcome = post(outgoing, `http://127.0.0.1:${stuck.port}/`);
    await until(() => stuck.requests === 1);
    await outgoing.close();
    assert.equal(gist(await outcome), 'aborted');
    await until(() => stuck.open === 0 && quick.open === 0);
    assert.equal(gist(await post(outgoing, `http://127.0.0.1:${quick.port}/`)), 'aborted');
    assert.equal(quick.connections, 1);
    await outgoing.close();
  });

  it('are not made for what HTTP cannot say', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, loopback);
    for (const headers of [{ 'x-a': 'b\r\nc: d' }, { 'x a': 'b' }, { 'x-a': 'Żółw' }] as Record<string, string>[]) {
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`, { headers });
      assert.deepEqual(Object.keys(outcome), ['fault', 'durationMs']);
      assert.equal(gist(outcome), 'failed');
    }
    assert.equal(listener.connections, 0);
    assert.equal(gist(await post(outgoing, `http://127.0.0.1:${listener.port}/`)), 200);
  });
});

describe('TLS to the outside', { skip: !hasOpenssl() && 'there is no openssl to make certificates with' }, () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'outgoing-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  /** A certificate that signs itself, good for some days. */
  function certificate(name: string, days = 2) {
    const file = (kind: string) => join(directory, `${name.replaceAll(/\W/g, '')}.${kind}`);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
    writeFileSync(file('config'), '[req]\ndistinguished_name=dn\n[dn]\n');
    writeFileSync(file('extensions'), `subjectAltName=${name}\n`);
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key')];
    openssl('req', '-new', '-config', file('config'), ...made, '-subj', '/CN=petstore-test', '-out', file('request'));
    const signed = ['-req', '-in', file('request'), '-signkey', file('key'), '-extfile', file('extensions')];
    openssl('x509', ...signed, '-days', String(days), '-out', file('cert'));
    return { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') };
  }

  const findAddresses = async () => ['127.0.0.1'];

  it('proves that the host is the one that was meant', async t => {
    const right = certificate('DNS:hook.example');
    const listener = await listen(t, ok, { server: createTlsServer(right) });
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    for (const host of ['hook.example', 'HOOK.example', 'hook.example.']) {
      for (let i = 0; i < 2; i++)
        assert.equal(gist(await post(outgoing, `https://${host}:${listener.port}/`)), 200, host);
    }
    assert.equal(gist(await post(outgoing, `https://other.example:${listener.port}/`)), 'tls');
    assert.equal(gist(await post(outgoing, `https://127.0.0.1:${listener.port}/`)), 'tls');
    assert.doesNotMatch(listener.received, /other|host: 127/);
  });

  it('goes to addresses whose certificate says so', async t => {
    const right = certificate('IP:127.0.0.1');
    const listener = await listen(t, ok, { server: createTlsServer(right) });
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    assert.equal(gist(await post(outgoing, `https://127.0.0.1:${listener.port}/`)), 200);
    assert.equal(gist(await post(outgoing, `https://hook.example:${listener.port}/`)), 'tls');
  });

  it('is refused with a certificate that nobody vouches for, whatever the environment says', async t => {
    const listener = await listen(t, ok, { server: createTlsServer(certificate('DNS:hook.example')) });
    const url = `https://hook.example:${listener.port}/`;
    assert.equal(gist(await post(open(t, loopback, { findAddresses }), url)), 'tls');
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    t.after(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    assert.equal(gist(await post(open(t, loopback, { findAddresses }), url)), 'tls');
    assert.equal(listener.requests, 0);
  });

  it('is refused with a certificate that has expired', async t => {
    const late = certificate('DNS:hook.example', -1);
    const listener = await listen(t, ok, { server: createTlsServer(late) });
    const outgoing = open(t, loopback, { findAddresses, ca: late.cert });
    assert.equal(gist(await post(outgoing, `https://hook.example:${listener.port}/`)), 'tls');
    assert.equal(listener.requests, 0);
  });

  it('fails with what is no TLS, and in time with what says nothing', async t => {
    const plain = await listen(t, socket => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    assert.equal(gist(await post(open(t, loopback), `https://127.0.0.1:${plain.port}/`)), 'tls');
    const mute = await listen(t, socket => socket.resume());
    assert.equal(gist(await post(open(t, loopback, { timeoutMs: 300 }), `https://127.0.0.1:${mute.port}/`)), 'timeout');
    const closing = await listen(t, socket => socket.destroy());
    assert.equal(gist(await post(open(t, loopback), `https://127.0.0.1:${closing.port}/`)), 'reset');
    await until(() => mute.open === 0);
  });

  it('is tried once more where a kept connection was closed meanwhile', async t => {
    const right = certificate('DNS:hook.example');
    const listener = await listen(
      t,
      (socket, listener) =>
        onRequests(socket, listener, nth => {
          if (nth > 0) socket.end();
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }),
      { server: createTlsServer(right) },
    );
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    for (let i = 0; i < 3; i++) assert.equal(gist(await post(outgoing, `https://hook.example:${listener.port}/`)), 200);
    assert.deepEqual([listener.connections, listener.requests], [3, 5]);
  });
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
