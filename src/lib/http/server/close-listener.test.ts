import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { closeOnceEmpty, hasOthers } from './close-listener.ts';

const outsideLinux = process.platform === 'linux' ? false : 'waiting connections are read from /proc';

describe('closeOnceEmpty', { skip: outsideLinux }, () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::1', '::']) {
    it(`resets no connection to ${host} that clients open meanwhile`, async () => {
      const server = createServer(socket => socket.end('accepted'));
      server.listen(0, host);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const outcomes: Promise<string>[] = [];
      let turns = 0;
      const openConnections = () => {
        // Every other turn, so that some turns end with a waiting connection although they have accepted none.
        if (turns % 2 === 0) outcomes.push(outcomeOf(port, host.includes(':') ? '::1' : '127.0.0.1'));
        if (++turns < 40) setImmediate(openConnections);
      };
      openConnections();
      await closeOnceEmpty(server);
      const ends = new Set(await Promise.all(outcomes));
      assert.ok(ends.has('accepted'));
      assert.deepEqual([...ends.difference(new Set(['accepted', 'ECONNREFUSED']))], []);
    });
  }
});

it('sees handshakes, and connections beside its own, in the table of the kernel', () => {
  const table = (...rows: string[]) =>
    ['  sl  local_address rem_address   st tx_queue rx_queue', ...rows, ''].join('\n');
  const listening = (waiting: string) => `   0: 0100007F:1F90 00000000:0000 0A 00000000:${waiting} 00:00000000`;
  const handshake = (port: string) => `  12: 0A00000A:${port} 0B00000A:C350 03 00000000:00000000 01:00000063`;
  const hasThem = (text: string) => hasOthers(text, { family: 'IPv4', address: '127.0.0.1', port: 8080 }, 5);
  assert.ok(!hasThem(table(listening('00000005'), handshake('1F91'))));
  assert.ok(hasThem(table(listening('00000006'))));
  assert.ok(hasThem(table(listening('00000005'), handshake('1F90'))));
});

/** Returns the data that a client receives on a new connection, or the code of its error. */
function outcomeOf(port: number, host: string): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, host).on('error', error => resolve((error as NodeJS.ErrnoException).code!));
    socket.setEncoding('utf8').on('data', resolve);
    socket.on('close', () => resolve('closed'));
  });
}
