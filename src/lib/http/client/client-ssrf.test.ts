import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import {
  hasIpv6,
  type Listener,
  listen,
  loopback,
  ok,
  open,
  ownAddresses,
  post,
  respond,
  respondAndClose,
  resultOf,
} from '../../../../test/support/raw-server.ts';

describe('SSRF protection', () => {
  const forbidden = { networks: ['127.0.0.9/32'] };

  /** Posts to each URL and asserts that no connection reaches the listener. */
  async function neverReached(t: TestContext, listener: Listener, urls: readonly string[], found?: readonly string[]) {
    const expected = found === undefined ? 'forbidden_address' : 'unresolved';
    const outgoing = open(t, forbidden, {
      findAddresses: async () => found ?? assert.fail('no DNS lookup is expected'),
    });
    for (const url of urls) assert.equal(resultOf(await post(outgoing, url)), expected, url);
    assert.equal(listener.connections, 0);
  }

  it('blocks every spelling of an IPv4 address', async t => {
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
    for (const url of urls) assert.equal(resultOf(await post(within, url)), 200, url);
    listener.connections = 0;
    const outgoing = open(t, forbidden);
    for (const url of urls) assert.match(String(resultOf(await post(outgoing, url))), /^forbidden_/, url);
    assert.equal(listener.connections, 0);
  });

  it('blocks names that resolve to blocked addresses', async t => {
    for (const [host, addresses] of [
      ['127.0.0.2', ['127.0.0.2', '::ffff:127.0.0.2', '::ffff:7f00:2', '0:0:0:0:0:ffff:7f00:2', '::127.0.0.2']],
      [
        '127.0.0.1',
        ['127.0.0.1', '0.0.0.0', '::', '::ffff:0.0.0.0', '64:ff9b::127.0.0.1', '2002:7f00:1::', 'localhost'],
      ],
    ] as const) {
      const listener = await listen(t, ok, { host });
      for (const address of addresses) {
        const urls = [`http://hook.example:${listener.port}/`, `https://hook.example:${listener.port}/`];
        await neverReached(t, listener, urls, [address]);
      }
      await neverReached(t, listener, [`http://hook.example:${listener.port}/`], addresses);
    }
  });

  it('blocks IPv6 addresses', { skip: !hasIpv6 && 'this machine has no IPv6' }, async t => {
    const listener = await listen(t, ok, { host: '::1' });
    const urls = [`http://hook.example:${listener.port}/`];
    await neverReached(t, listener, urls, ['::1', '::', '0:0:0:0:0:0:0:1', '::1%lo', '::1%1']);
    const outgoing = open(t, forbidden);
    for (const host of ['[::1]', '[0:0:0:0:0:0:0:1]', '[::]']) {
      assert.equal(resultOf(await post(outgoing, `http://${host}:${listener.port}/`)), 'forbidden_url', host);
    }
    assert.equal(listener.connections, 0);
    const within = open(t, { networks: ['::1'] }, { findAddresses: async () => ['::1'] });
    assert.equal(resultOf(await post(within, `http://[::1]:${listener.port}/`)), 200);
    assert.equal(resultOf(await post(within, urls[0]!)), 200);
  });

  it('blocks the addresses of this machine', {
    skip: ownAddresses.length === 0 && 'this machine has no address but loopback',
  }, async t => {
    for (const address of ownAddresses) {
      const listener = await listen(t, ok, { host: address });
      await neverReached(t, listener, [`http://hook.example:${listener.port}/`], [address]);
      const outgoing = open(t, forbidden);
      const host = address.includes(':') ? `[${address}]` : address;
      assert.equal(resultOf(await post(outgoing, `http://${host}:${listener.port}/`)), 'forbidden_url');
      assert.equal(listener.connections, 0);
      assert.equal(resultOf(await post(open(t, { networks: [address] }), `http://${host}:${listener.port}/`)), 200);
    }
  });

  it('blocks every spelling of localhost', async t => {
    const listener = await listen(t, ok);
    const outgoing = open(t, forbidden);
    for (const host of ['localhost', 'LOCALHOST', 'localhost.']) {
      assert.equal(resultOf(await post(outgoing, `http://${host}:${listener.port}/`)), 'unresolved', host);
    }
    assert.match(String(resultOf(await post(outgoing, `http://shop.localhost:${listener.port}/`))), /^unresolved$/);
    assert.equal(listener.connections, 0);
    assert.equal(resultOf(await post(open(t, loopback), `http://localhost:${listener.port}/`)), 200);
  });

  it('connects to the allowed address when DNS returns blocked ones beside it', async t => {
    const allowed = await listen(t, ok, { host: '127.0.0.9' });
    const others = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const listeners = await Promise.all(others.map(host => listen(t, ok, { host, port: allowed.port })));
    for (const found of [
      ['127.0.0.9', ...others],
      [...others, '127.0.0.9'],
      ['::1', '127.0.0.1', '127.0.0.9', '10.0.0.1'],
    ]) {
      const outgoing = open(t, forbidden, { findAddresses: async () => found });
      assert.equal(resultOf(await post(outgoing, `http://hook.example:${allowed.port}/`)), 200);
    }
    assert.equal(allowed.connections, 3);
    assert.deepEqual(
      listeners.map(({ connections }) => connections),
      [0, 0, 0],
    );
  });

  it('looks up the host once per connection, so DNS rebinding has no effect', async t => {
    const good = await listen(t, respondAndClose('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'), {
      host: '127.0.0.9',
    });
    const bad = await listen(t, ok, { host: '127.0.0.1', port: good.port });
    let lookups = 0;
    const outgoing = open(t, forbidden, {
      findAddresses: async () => [lookups++ % 2 === 0 ? '127.0.0.9' : '127.0.0.1'],
    });
    const url = `http://hook.example:${good.port}/`;
    const results: unknown[] = [];
    for (let i = 0; i < 6; i++) results.push(resultOf(await post(outgoing, url)));
    assert.deepEqual(results, [200, 'unresolved', 200, 'unresolved', 200, 'unresolved']);
    assert.deepEqual([lookups, good.connections, bad.connections], [6, 3, 0]);
  });

  it('checks new connections while an older one is kept alive', async t => {
    const good = await listen(t, ok, { host: '127.0.0.9' });
    const bad = await listen(t, ok, { host: '127.0.0.1', port: good.port });
    let lookups = 0;
    const outgoing = open(t, forbidden, { findAddresses: async () => [lookups++ === 0 ? '127.0.0.9' : '127.0.0.1'] });
    const url = `http://hook.example:${good.port}/`;
    for (let i = 0; i < 3; i++) assert.equal(resultOf(await post(outgoing, url)), 200);
    const both = await Promise.all([post(outgoing, url), post(outgoing, url)]);
    assert.deepEqual(both.map(resultOf).sort(), [200, 'unresolved']);
    assert.deepEqual([lookups, good.connections, bad.connections], [2, 1, 0]);
  });

  it('does not follow redirects', async t => {
    const bad = await listen(t, ok, { host: '127.0.0.2' });
    for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
      for (const location of [`http://127.0.0.2:${bad.port}/`, '//127.0.0.2/', 'file:///etc/passwd', '/again']) {
        const good = await listen(
          t,
          respond(
            `HTTP/1.1 ${status} Go\r\nLocation: ${location}\r\nRefresh: 0;url=${location}\r\nContent-Length: 0\r\n\r\n`,
          ),
        );
        assert.equal(resultOf(await post(open(t, loopback), `http://127.0.0.1:${good.port}/`)), status);
        assert.equal(good.requests, 1);
      }
    }
    assert.equal(bad.connections, 0);
  });

  it('blocks public addresses over http and on other ports', async t => {
    let lookups = 0;
    const outgoing = open(t, forbidden, {
      findAddresses: async () => {
        lookups++;
        return ['93.184.216.34', '2606:4700:4700::1111'];
      },
    });
    for (const url of ['http://hook.example/', 'http://hook.example:443/', 'https://hook.example:22/']) {
      assert.equal(resultOf(await post(outgoing, url)), 'unresolved', url);
    }
    assert.equal(lookups, 3);
  });

  it('gives the same result for a name with blocked addresses and for one that does not exist', async t => {
    for (const found of [['10.0.0.7'], ['127.0.0.1', '::1'], []]) {
      const outgoing = open(t, forbidden, { findAddresses: async () => found });
      const outcome = await post(outgoing, 'https://db.internal.example/');
      assert.deepEqual({ ...outcome, durationMs: 0 }, { fault: 'unresolved', durationMs: 0 });
    }
  });

  it('ignores proxies from the environment', async t => {
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
