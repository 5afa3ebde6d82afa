import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { DeploymentName } from '../../src/model/schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Process, send, spawnService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const WEBHOOKS = 5;
const WRITERS = 4;

overEachEngine(engine => {
  describe('petstore key revoke', () => {
    for (const deployment of ['production', 'staging'] as const) {
      it(`lets nothing be sent after it, under load on ${deployment}`, async t => {
        const service = await start(t);
        const base = service.urls[deployment];
        const account = await service.petstore('account', 'create', ...unlimited);
        const [revoked, kept] = [
          await newKey(service, account, deployment),
          await newKey(service, account, deployment),
        ];
        const [receiver, other] = [await startReceiver(), await startReceiver()];
        t.after(() => Promise.all([receiver.close(), other.close()]));
        for (let hooks = 0; hooks < WEBHOOKS; hooks++) await activate(base, revoked.token, receiver.url);
        await activate(base, kept.token, other.url);
        const stream = await openStream(t, base, revoked.token);

        let writing = true;
        const writers = Promise.all(
          Array.from({ length: WRITERS }, async () => {
            while (writing) await post(`${base}/pets`, kept.token, { name: 'Minka', categoryId: 2 });
          }),
        );
        await waitUntil(() => receiver.received.length > 50 * WEBHOOKS);
        const answer = await service.petstore('key', 'revoke', revoked.id);
        const [sent, streamed, before] = [receiver.received.length, stream.bytes, other.received.length];
        await waitUntil(() => other.received.length > before + 100);
        writing = false;
        await writers;
        assert.equal(receiver.received.length, sent, 'nothing is sent to the webhooks of the key');
        assert.equal(stream.bytes, streamed, 'nothing is sent on its stream');
        assert.deepEqual(
          (answer['webhooks'] as Record<string, unknown>[]).map(({ id, status, disabledReason }) => [
            id,
            status,
            disabledReason,
          ]),
          Array.from({ length: WEBHOOKS }, (_, index) => [index + 1, 'disabled', 'key_revoked']),
        );
      });
    }
  });

  async function start(t: TestContext): Promise<Process> {
    const environment = { ...(await engine.settings()), PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8' };
    const service = await spawnService({ environment });
    t.after(async () => {
      await service.stop();
      await service.remove();
    });
    return service;
  }
});

const unlimited = ['--email', 'a@example.org', '--name', 'A', '--plan', 'enterprise', '--per-minute', '1000000'].concat(
  '--per-day',
  '1000000000',
);

async function newKey(service: Process, { id }: Record<string, unknown>, deployment: DeploymentName) {
  const key = await service.petstore('key', 'create', '--account', String(id), '--deployment', deployment);
  return { id: String(key['id']), token: String(key['token']) };
}

async function post(url: string, key: string, body?: object) {
  const response = await send(url, { method: 'POST', key, ...(body && { body }) });
  assert.ok(response.status < 300, response.text);
  return response.body;
}

async function activate(base: string, key: string, url: string): Promise<void> {
  const { id } = await post(`${base}/webhooks`, key, { url, types: ['pet.*'] });
  await post(`${base}/webhooks/${id}/activation`, key);
}

/** Opens an event stream, and counts what comes. */
async function openStream(t: TestContext, base: string, key: string): Promise<{ readonly bytes: number }> {
  const stream = { bytes: 0 };
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  socket.on('data', part => {
    stream.bytes += part.length;
  });
  socket.write(`GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, 'data');
  return stream;
}
