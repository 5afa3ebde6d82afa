import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import sharp from 'sharp';
import { chunksWithBareLf } from '../support/bare-lf.ts';
import { skipFor } from '../support/selection.ts';
import { parseReplies, serve, type TestService } from '../support/serving.ts';
import { proxyNames, type RunningProxy, startShippedProxy, withoutProxy } from '../support/shipped-proxies.ts';
import { waitUntil } from '../support/wait-until.ts';
import { withoutYaml, yamlOf } from './files.ts';

const MIB = 1024 * 1024;
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

for (const name of proxyNames) {
  describe(`${name} with its file of deploy/`, { skip: skipFor(withoutProxy(name)) }, () => {
    let service: TestService;
    let proxy: RunningProxy;
    let key: string;
    let petId: number;

    before(async () => {
      service = await serve({
        environment: {
          PETSTORE_STAGING_PORT: '',
          PETSTORE_PUBLIC_URL: 'https://api.example.org',
          PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
        },
      });
      const port = Number(new URL(service.urls.production).port);
      proxy = await startShippedProxy(name, [port, port]);
      await waitUntil(() =>
        call('/readyz').then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
      ({ token: key } = await service.newKey());
      petId = (await call('/v1/pets', { body: '{"name":"Rex","categoryId":1}' })).body.id;
    });
    after(async () => {
      await proxy?.stop();
      await service?.stop();
    });

    /** Sends a request through the proxy; a body in parts is sent as it comes. */
    async function call(
      path: string,
      { token = key, type = 'application/json', prefer, body, length, isCutOff }: CallOptions = {},
    ) {
      const sent = request({
        ...{ host: '127.0.0.1', port: proxy.port, servername: 'api.example.org', ca: proxy.ca, path, agent: false },
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...{ Host: 'api.example.org', Authorization: `Bearer ${token}` },
          ...(prefer !== undefined && { Prefer: prefer }),
          ...(body !== undefined && { 'Content-Type': type }),
          ...(length !== undefined && { 'Content-Length': length }),
        },
      });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      // A proxy may close the connection after a response that does not wait for the body.
      answered.catch(() => {});
      sent.on('error', () => {});
      if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) sent.end(body);
      else void sendParts(sent, body, isCutOff);
      const [response] = await answered;
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part);
      if (isCutOff) sent.destroy();
      const text = Buffer.concat(parts).toString();
      return { status: response.statusCode!, headers: response.headers, text, body: parse(text) };
    }

    function assertError(reply: Awaited<ReturnType<typeof call>>, status: number, code: string): void {
      assert.deepEqual([reply.status, reply.body?.code, reply.body?.status], [status, code, status], reply.text);
      assert.match(String(reply.headers['content-type']), /^application\/json/);
      assert.ok(reply.headers['x-ratelimit-limit'] !== undefined && reply.headers['x-request-id'] !== undefined);
    }

    it('carries a photo of 9.9 MiB', async () => {
      const image = await sharp({ create: { width: 400, height: 300, channels: 3, background: '#a63' } })
        .jpeg()
        .toBuffer();
      // What follows the end of a JPEG is ignored.
      const photo = Buffer.concat([image, Buffer.alloc(9.9 * MIB - image.length)]);
      const { status, text, body } = await call(`/v1/pets/${petId}/photos`, { type: 'image/jpeg', body: photo });
      assert.equal(status, 201, text);
      assert.equal(body.bytes, photo.length);
    });

    it('carries an import of 20 MiB', async () => {
      const lines = Array.from({ length: 40 }, (_, index) => `A${index},Rex ${index},${'x'.repeat(MIB / 2)}\n`);
      const { status, text } = await call('/v1/imports?dryRun=true', {
        type: 'text/csv',
        body: ['externalId,name,unknown\n', ...lines],
      });
      assert.equal(status, 202, text);
    });

    it('passes bytes of an upload on as they come, and an error in the middle of it', async () => {
      const { token } = await service.newKey();
      const reply = await call('/v1/imports', { token, type: 'text/csv', body: ['name\nRex\n'], isCutOff: true });
      assertError(reply, 400, 'invalid_import');
    });

    it('passes on the error for bodies that are too large, with and without a length', async () => {
      const photos = `/v1/pets/${petId}/photos`;
      const type = 'image/jpeg';
      const begun = { body: [JPEG], isCutOff: true };
      assertError(await call(photos, { ...begun, type, length: 11 * MIB }), 413, 'body_too_large');
      assertError(await call('/v1/pets', { ...begun, length: 2 * MIB }), 413, 'body_too_large');
      const body = [JPEG, ...new Array<Buffer>(10).fill(Buffer.alloc(MIB))];
      assertError(await call(photos, { type, body, isCutOff: true }), 413, 'body_too_large');
    });

    it('passes on other errors', async () => {
      assertError(await call('/v1/pets', { token: 'none' }), 401, 'malformed_api_key');
      assertError(await call('/v1/nothing'), 404, 'route_not_found');
      const { token } = await service.newKey({ plan: 'free' });
      let reply = await call('/v1/pets?limit=1', { token });
      for (let sent = 0; sent < 60 && reply.status === 200; sent++) reply = await call('/v1/pets?limit=1', { token });
      assertError(reply, 429, 'rate_limit_exceeded');
    });

    it('passes on only requests that it answers, whatever line of chunks ends with a bare LF', async () => {
      const count = async () =>
        Number((await call('/v1/pets?limit=1', { prefer: 'count=exact' })).headers['x-total-count']);
      const authorized = `Host: api.example.org\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
      const head = `POST /v1/pets HTTP/1.1\r\n${authorized}`;
      const body = '{"name":"Rex","categoryId":1}';
      const next = `${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      for (const [what, chunks] of Object.entries(chunksWithBareLf(body, next))) {
        const before = await count();
        const socket = connect({ host: '127.0.0.1', port: proxy.port, servername: 'api.example.org', ca: proxy.ca });
        // Caddy waits for more after a request line that it cannot read.
        socket.on('error', () => {}).setTimeout(1000, () => socket.destroy());
        const parts: Buffer[] = [];
        socket.on('data', (part: Buffer) => parts.push(part));
        socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
        await new Promise(resolve => socket.once('close', resolve));
        const statuses = parseReplies(Buffer.concat(parts)).replies.map(({ status }) => status);
        assert.ok(
          statuses.every(status => [201, 400, 502].includes(status)),
          `${what}: ${statuses}`,
        );
        assert.equal((await count()) - before, statuses.filter(status => status === 201).length, what);
      }
    });

    it('delivers the events of a stream at once', async () => {
      const sent = request({
        ...{ host: '127.0.0.1', port: proxy.port, servername: 'api.example.org', ca: proxy.ca, agent: false },
        ...{ path: '/v1/events/stream', headers: { Host: 'api.example.org', Authorization: `Bearer ${key}` } },
      });
      sent.end();
      const [stream] = (await once(sent, 'response')) as [IncomingMessage];
      let text = '';
      stream
        .on('error', () => {})
        .on('data', part => {
          text += part;
        });
      await waitUntil(() => text.includes('retry: '));
      await call('/v1/pets', { body: '{"name":"Streamed","categoryId":1}' });
      await waitUntil(() => text.includes('"name":"Streamed"'));
      sent.destroy();
    });

    it('passes on the end of an upload that is too slow, and the rejection of one that gets no slot', async () => {
      const { promise: ended, resolve: end } = Promise.withResolvers<'ended'>();
      const slowly = async function* (bytes: number) {
        do yield Buffer.alloc(bytes, 0xff).fill(JPEG, 0, 3);
        while ((await Promise.race([ended, pause(500)])) !== 'ended');
      };
      const send = (token: string, bytes: number) =>
        call(`/v1/pets/${petId}/photos`, { token, type: 'image/jpeg', body: slowly(bytes) });
      const { token: slow } = await service.newKey();
      const slowPet = (await call('/v1/pets', { token: slow, body: '{"name":"Rex","categoryId":1}' })).body.id;
      const ownUploads = [send(key, 4096), send(key, 4096)];
      const ofOther = call(`/v1/pets/${slowPet}/photos`, { token: slow, type: 'image/jpeg', body: slowly(3) });
      const used = async () => (await call('/v1/account')).body.bounds.uploads.used;
      await waitUntil(async () => (await used()) === 2);
      assertError(await send(key, 3), 503, 'overloaded');
      assertError(await ofOther, 408, 'request_timeout');
      end('ended');
      await Promise.all(ownUploads);
    });
  });
}

describe('deploy/kubernetes/ingress.yaml', { skip: withoutYaml }, () => {
  it('neither limits nor buffers bodies, and does not buffer streams', () => {
    const [{ metadata }] = yamlOf('deploy/kubernetes/ingress.yaml');
    const annotations = Object.entries(metadata.annotations as Record<string, string>);
    const settings = Object.fromEntries(annotations.map(([name, value]) => [name.split('/')[1], value]));
    assert.deepEqual(
      ['proxy-body-size', 'proxy-request-buffering', 'proxy-buffering'].map(name => settings[name]),
      ['0', 'off', 'off'],
    );
    for (const name of ['proxy-read-timeout', 'proxy-send-timeout']) assert.ok(Number(settings[name]) > 60, name);
  });
});

interface CallOptions {
  readonly token?: string;
  readonly type?: string;
  readonly prefer?: string;
  /** Sent with POST; parts without a length, as they come. */
  readonly body?: string | Buffer | Iterable<string | Buffer> | AsyncIterable<string | Buffer>;
  /** The `Content-Length` of a body in parts. */
  readonly length?: number;
  /** Whether the body does not end before the response. */
  readonly isCutOff?: boolean;
}

async function sendParts(
  sent: ClientRequest,
  parts: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
  isCutOff = false,
) {
  for await (const part of parts) {
    if (sent.destroyed) return;
    if (!sent.write(part)) await new Promise(resolve => sent.once('drain', resolve).once('close', resolve));
  }
  if (!isCutOff) sent.end();
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
