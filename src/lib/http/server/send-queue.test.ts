import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { bytesAcknowledged } from './send-queue.ts';

const outsideLinux = process.platform === 'linux' ? false : 'send queues are read from /proc';

let tests = 0;

describe('bytesAcknowledged', { skip: outsideLinux }, () => {
  for (const host of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    it(`tells what the other side of a connection with ${host} has not taken`, async t => {
      // Each test uses a later time, so that no cached value is used.
      const nowMs = performance.now() + 10_000 * ++tests;
      t.mock.method(performance, 'now', () => nowMs);
      const server = createServer();
      t.after(() => server.close());
      server.listen(0, host.startsWith('::ffff') ? '::' : host);
      await once(server, 'listening');
      const client = connect((server.address() as { port: number }).port, host.replace('::ffff:', ''));
      const [socket] = (await once(server, 'connection')) as [Socket];
      t.after(() => client.destroy());
      socket.write('hello');
      await once(client, 'data');
      client.pause();
      // More than the receiving socket buffers, and less than the sending one does.
      socket.write(Buffer.alloc(800_000));
      await new Promise(resolve => socket.write('x', resolve));
      const acknowledged = await bytesAcknowledged(socket);
      assert.equal(socket.writableLength, 0, 'the kernel has taken everything');
      assert.ok(acknowledged! >= 5 && acknowledged! < socket.bytesWritten - 1, String(acknowledged));
      socket.destroy();
      await once(socket, 'close');
      assert.equal(await bytesAcknowledged(socket), undefined);
    });
  }
});
