import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../../test/support/http-server.ts';
import { BucketStore } from './bucket-store.ts';

describe('photos of a bucket', () => {
  it('have the length that the storage has named, or fail', async t => {
    let sent = 10;
    const origin = await startHttpServer(t, (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'content-length': 10 }).end();
      else response.end(Buffer.alloc(sent));
    });
    const settings = {
      url: `${origin}/photos`,
      region: 'us-east-1',
      accessKeyId: 'a',
      secretAccessKey: 'b',
      prefix: 'production/',
    };
    const store = new BucketStore('/nowhere', settings);
    const read = async () => {
      const { length, parts } = (await store.find('0'.repeat(64), 600))!;
      assert.equal(length, 10);
      return Buffer.concat(await Array.fromAsync(parts)).length;
    };
    assert.equal(await read(), 10);
    for (sent of [9, 11]) {
      await assert.rejects(read(), {
        name: 'StorageError',
        message: /does not respond with the 10 bytes of production/,
      });
    }
  });
});
