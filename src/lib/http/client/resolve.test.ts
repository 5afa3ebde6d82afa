import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { describe, it, type TestContext } from 'node:test';
import { addressFinder } from './resolve.ts';

/** What a name server says of a name: its addresses, or that there is none; nothing at all where it is `undefined`. */
type Says = (name: string, type: 'A' | 'AAAA', asked: number) => readonly string[] | undefined;

/** A name server on this machine; `asked` counts the questions. */
async function nameServer(t: TestContext, says: Says) {
  const socket = createSocket('udp4');
  const server = { address: '', asked: 0 };
  socket.on('message', (question, { port, address }) => {
    const end = question.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += question[at]! + 1) {
      labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!));
    }
    const type = question.readUInt16BE(end + 1) === 28 ? 'AAAA' : 'A';
    const addresses = says(labels.join('.'), type, server.asked++);
    if (addresses === undefined) return;
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
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
    socket.send(Buffer.concat([head, question.subarray(12, end + 5), ...records]), port, address);
  });
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  t.after(() => socket.close());
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

describe('addresses of a host', () => {
  it('are those of IPv4 and of IPv6 that DNS says', async t => {
    const server = await nameServer(t, (name, type) => {
      if (name !== 'hook.example.org') return [];
      return type === 'A' ? ['192.0.2.7', '192.0.2.8'] : ['2001:db8:0:0:0:0:0:7'];
    });
    const find = addressFinder([server.address]);
    assert.deepEqual(await find('hook.example.org'), ['192.0.2.7', '192.0.2.8', '2001:db8::7']);
    assert.deepEqual(await find('Hook.Example.ORG.'), ['192.0.2.7', '192.0.2.8', '2001:db8::7']);
    assert.deepEqual(await find('other.example.org'), []);
  });

  it('are asked for anew each time', async t => {
    const server = await nameServer(t, (_, type, asked) => {
      if (type === 'AAAA') return [];
      return asked < 2 ? ['192.0.2.7'] : ['127.0.0.1'];
    });
    const find = addressFinder([server.address]);
    assert.deepEqual(await find('hook.example.org'), ['192.0.2.7']);
    assert.deepEqual(await find('hook.example.org'), ['127.0.0.1']);
    assert.equal(server.asked, 4);
  });

  it('of IPv4 do not wait for those of IPv6 that never come', { timeout: 5000 }, async t => {
    const server = await nameServer(t, (_, type) => (type === 'A' ? ['192.0.2.7'] : undefined));
    const begin = performance.now();
    assert.deepEqual(await addressFinder([server.address])('hook.example.org'), ['192.0.2.7']);
    assert.ok(performance.now() - begin < 1500);
  });

  it('are none where nobody answers, and names that are answered do not wait for that', async t => {
    const server = await nameServer(t, (name, type) => {
      if (name.endsWith('.silent.example')) return undefined;
      return type === 'A' ? ['192.0.2.7'] : [];
    });
    const find = addressFinder([server.address]);
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

  it('are none for a name that DNS cannot say', async t => {
    const server = await nameServer(t, () => ['192.0.2.7']);
    const find = addressFinder([server.address]);
    for (const name of [`${'x'.repeat(64)}.example.org`, `${'x.'.repeat(200)}org`, 'a..b', '.', '']) {
      assert.deepEqual(await find(name), [], name);
    }
  });

  it('of this machine are known without DNS', async t => {
    const server = await nameServer(t, () => ['192.0.2.7']);
    const find = addressFinder([server.address]);
    assert.ok((await find('localhost')).includes('127.0.0.1'));
    assert.ok((await find('LOCALHOST.')).includes('127.0.0.1'));
    assert.ok(!(await find('shop.localhost')).includes('192.0.2.7'));
    assert.equal(server.asked, 0);
  });
});
