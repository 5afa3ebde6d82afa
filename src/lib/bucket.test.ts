import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { startHttpServer } from '../../test/support/http-server.ts';
import { openS3Server, type S3Server } from '../../test/support/s3-server.ts';
import { Bucket } from './bucket.ts';

describe('a bucket', () => {
  let server: S3Server;
  before(async () => {
    server = await openS3Server();
  });
  after(() => server.close());

  const contentOf = async (bucket: Bucket, key: string) => Buffer.concat(await Array.fromAsync(bucket.read(key)));

  it('stores, reads, lists and deletes objects', async () => {
    const bucket = new Bucket(server.bucket);
    const bytes = Buffer.from([0, 255, 13, 10]);
    await bucket.put('a/b/original', bytes);
    assert.equal(await bucket.sizeOf('a/b/original'), 4);
    assert.deepEqual(await contentOf(bucket, 'a/b/original'), bytes);
    const [page] = await Array.fromAsync(bucket.list('a/'));
    assert.deepEqual(
      page!.map(({ key }) => key),
      ['a/b/original'],
    );
    assert.ok(Math.abs(page![0]!.modifiedAt - Date.now()) < 60_000);
    await bucket.delete('a/b/original');
    assert.equal(await bucket.sizeOf('a/b/original'), undefined);
    await bucket.delete('a/b/original');
    await assert.rejects(contentOf(bucket, 'a/b/original'), /responds 404 NoSuchKey to GET a\/b\/original\.$/);
  });

  it('lists more than one page', async () => {
    const bucket = new Bucket(server.bucket);
    const directory = join(server.directory, 'photos', 'many');
    mkdirSync(directory);
    // The order in which the server lists objects.
    for (let number = 0; number < 1100; number++) writeFileSync(join(directory, `${number}._S3rver_object`), '');
    const pages = await Array.fromAsync(bucket.list('many/'));
    assert.deepEqual(
      pages.map(page => page.length),
      [1000, 100],
    );
    assert.equal(new Set(pages.flat().map(({ key }) => key)).size, 1100);
  });

  it('reports a wrong key, region or bucket without the secret', async () => {
    const wrong = new Bucket({ ...server.bucket, secretAccessKey: 'a-secret' });
    await assert.rejects(wrong.put('x', Buffer.from('x')), (error: Error) => {
      assert.match(error.message, /\/photos responds 403 SignatureDoesNotMatch to PUT x\.$/);
      assert.doesNotMatch(JSON.stringify(error) + error.stack, /a-secret/);
      return true;
    });
    const other = new Bucket({ ...server.bucket, accessKeyId: 'unknown' });
    await assert.rejects(other.put('x', Buffer.from('x')), /responds 403 InvalidAccessKeyId to PUT x\.$/);
    const missing = new Bucket({ ...server.bucket, url: `${server.bucket.url}-missing` });
    await assert.rejects(missing.put('x', Buffer.from('x')), /photos-missing responds 404 NoSuchBucket to PUT x\.$/);
  });

  it('retries a request once', async () => {
    const bucket = new Bucket(server.bucket);
    let failures = 1;
    server.intercept = () => (failures-- > 0 ? 503 : undefined);
    await bucket.put('retried', Buffer.from('x'));
    failures = 2;
    await assert.rejects(bucket.put('retried', Buffer.from('x')), /responds 503 to PUT retried\.$/);
    server.intercept = undefined;
  });

  it('does not wait longer than the deadline, nor for more requests than the limit', async () => {
    const bucket = new Bucket(server.bucket, { deadlineMs: 200, requestsMax: 1 });
    server.intercept = () => sleep(1000).then(() => undefined);
    const late = assert.rejects(bucket.sizeOf('x'), /\/photos does not respond in time\.$/);
    await assert.rejects(bucket.sizeOf('y'), /More than 1 requests to .* are in progress\.$/);
    await late;
    // The failed request is no longer in progress.
    await assert.rejects(contentOf(bucket, 'x'), /\/photos does not respond in time\.$/);
    server.intercept = undefined;
    assert.equal(await new Bucket(server.bucket).sizeOf('x'), undefined);
  });

  it('reports a file that stops arriving, and waits for readers', async t => {
    let isStalled = false;
    const origin = await startHttpServer(t, (request, response) => {
      response.writeHead(200, request.url!.endsWith('/chunked') ? {} : { 'content-length': 200_000 });
      if (request.method === 'HEAD') response.end();
      else {
        response.write(Buffer.alloc(100_000));
        if (!isStalled) response.end(Buffer.alloc(100_000));
      }
    });
    const settings = { ...server.bucket, url: `${origin}/photos` };
    const bucket = new Bucket(settings, { deadlineMs: 200, requestsMax: 1 });
    let bytes = 0;
    for await (const part of bucket.read('file')) {
      if (bytes === 0) await sleep(400);
      bytes += part.length;
    }
    assert.equal(bytes, 200_000);
    isStalled = true;
    await assert.rejects(contentOf(bucket, 'file'), /\/photos does not respond in time\.$/);
    await assert.rejects(bucket.sizeOf('chunked'), /\/photos does not respond with the size of chunked\.$/);
    assert.equal(await bucket.sizeOf('file'), 200_000);
  });

  it('reports a server that is down or elsewhere', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => closed.once('listening', resolve));
    const { port } = closed.address() as { port: number };
    await new Promise(resolve => closed.close(resolve));
    const bucket = new Bucket({ ...server.bucket, url: `http://127.0.0.1:${port}/photos` });
    await assert.rejects(bucket.sizeOf('x'), /\/photos cannot be reached \(ECONNREFUSED\)\.$/);
    server.intercept = () => 301;
    await assert.rejects(new Bucket(server.bucket).sizeOf('x'), /responds 301 to HEAD x\.$/);
    server.intercept = undefined;
  });
});

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
describe('the signature of a request', () => {
  const examples = [
    ['?max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
    ['?lifecycle', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  ];
  for (const [query, signature] of examples) {
    it(`is that of the example ${query} of Amazon`, async () => {
      const signer = new AwsV4Signer({
        accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
        url: `https://examplebucket.s3.amazonaws.com/${query}`,
        headers: {
          'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        },
        ...{ method: 'GET', service: 's3', region: 'us-east-1', datetime: '20130524T000000Z' },
      });
      assert.equal(await signer.signature(), signature);
    });
  }
});
