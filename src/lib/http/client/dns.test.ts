import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { describe, it, type TestContext } from 'node:test';
import { createResolver } from './dns.ts';

/** Returns the addresses of a name; `undefined` sends no response. */
type Zone = (name: string, type: 'A' | 'AAAA', queries: number) => readonly string[] | undefined;

/** Starts a name server on this machine. */
async function nameServer(t: TestContext, zone: Zone) {
  const socket = createSocket('udp4');
  const server = { address: '', queries: 0 };
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += query[at]! + 1) {
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    }
    const type = query.readUInt16BE(end + 1) === 28 ? 'AAAA' : 'A';
    const addresses = zone(labels.join('.'), type, server.queries++);
    if (addresses === undefined) return;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const records = addresses.map(one => {
      const bytes =
        type === 'A'
          ? Buffer.from(one.split('.').map(Number))
          : Buffer.from(
              one
                .split(':')
                .map(group => group.padStart(4, '0'))
                .join(''),
              'hex',
            );
      const record = Buffer.from([0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length]);
      return Buffer.concat([record, bytes]);
    });
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...records]), port, address);
  });
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  t.after(() => socket.close());
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

describe('createResolver', () => {
  it('returns the IPv4 and IPv6 addresses that DNS returns', async t => {
    const server = await nameServer(t, (name, type) => {
      if (name !== 'hook.example.org') return [];
      return type === 'A' ? ['192.0.2.7', '192.0.2.8'] : ['2001:db8:0:0:0:0:0:7'];
    });
    const find = createResolver([server.address]);
    assert.deepEqual(await find('hook.example.org'), ['192.0.2.7', '192.0.2.8', '2001:db8::7']);
    assert.deepEqual(await find('Hook.Example.ORG.'), ['192.0.2.7', '192.0.2.8', '2001:db8::7']);
    assert.deepEqual(await find('other.example.org'), []);
  });

  it('queries DNS each time', async t => {
    const server = await nameServer(t, (_, type, queries) => {
      if (type === 'AAAA') return [];
      return queries < 2 ? ['192.0.2.7'] : ['127.0.0.1'];
    });
    const find = createResolver([server.address]);
    assert.deepEqual(await find('hook.example.org'), ['192.0.2.7']);
    assert.deepEqual(await find('hook.example.org'), ['127.0.0.1']);
    assert.equal(server.queries, 4);
  });

  it('returns IPv4 addresses without waiting for IPv6 addresses that never come', { timeout: 5000 }, async t => {
    const server = await nameServer(t, (_, type) => (type === 'A' ? ['192.0.2.7'] : undefined));
    const begin = performance.now();
    assert.deepEqual(await createResolver([server.address])('hook.example.org'), ['192.0.2.7']);
    assert.ok(performance.now() - begin < 1500);
  });

  it('returns no address when the name server does not respond, and delays no other name', async t => {
    const server = await nameServer(t, (name, type) => {
      if (name.endsWith('.silent.example')) return undefined;
      return type === 'A' ? ['192.0.2.7'] : [];
    });
    const find = createResolver([server.address]);
    let silent = 20;
    const silence = Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        assert.deepEqual(await find(`n${i}.silent.example`), []);
        silent--;
      }),
    );
    for (let i = 0; i < 20; i++) assert.deepEqual(await find(`n${i}.example.org`), ['192.0.2.7']);
    assert.equal(silent, 20);
    await silence;
  });

  it('returns no address for an invalid name', async t => {
    const server = await nameServer(t, () => ['192.0.2.7']);
    const find = createResolver([server.address]);
    for (const name of [`${'x'.repeat(64)}.example.org`, `${'x.'.repeat(200)}org`, 'a..b', '.', '']) {
      assert.deepEqual(await find(name), [], name);
    }
  });

  it('resolves local names without DNS', async t => {
    const server = await nameServer(t, () => ['192.0.2.7']);
    const find = createResolver([server.address]);
    assert.ok((await find('localhost')).includes('127.0.0.1'));
    assert.ok((await find('LOCALHOST.')).includes('127.0.0.1'));
    assert.ok(!(await find('shop.localhost')).includes('192.0.2.7'));
    assert.equal(server.queries, 0);
  });
});
