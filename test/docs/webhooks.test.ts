import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { readPage } from '../support/pages-as-scripts.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const page = await readPage('docs/webhooks.md');
const [made, headers, delivered, delivery, ...others] = [...page.matchAll(/```(?:json|http)\n(.*?)\n```/gs)].map(
  ([, text]) => text!,
);

describe('docs/webhooks.md', () => {
  const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
  let serving: TestService;
  let receiver: Receiver;
  let key: IssuedKey;

  before(async () => {
    receiver = await startReceiver();
    const environment = { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1', PETSTORE_STAGING_PORT: '' };
    serving = await serve({ clock, environment });
    key = await serving.newKey();
  });
  after(async () => {
    await serving?.stop();
    await receiver.close();
  });

  const post = async (path: string, body?: object) => {
    const response = await send(`${serving.urls.production}${path}`, { method: 'POST', key, ...(body && { body }) });
    assert.ok(response.status < 300, response.text);
    return response.body;
  };

  test('has a test for every response', () => {
    assert.deepEqual(others, []);
  });

  test('shows the response to creating a webhook', async () => {
    const shown = JSON.parse(made!);
    const [, body] = /-d '(.*?)'/.exec(page)!;
    const created = await post('/webhooks', { ...JSON.parse(body!), url: receiver.url });
    assert.match(shown.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    sameText({ ...created, url: shown.url, keyId: shown.keyId, secret: shown.secret }, made!);
    assert.equal(created.keyId, key.id);
  });

  test('shows a delivery', async () => {
    await post('/webhooks/1/activation');
    receiver.respond = (_, response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('Back soon');
    clock.advance(60_000);
    await post('/pets', { name: 'Minka', categoryId: 2 });
    await waitUntil(() => receiver.received.length === 2);
    const { headers: sent, body } = receiver.received[1]!;
    sameText(JSON.parse(body), delivered!);
    const lines = headers!.split('\n').slice(1);
    const said = Object.fromEntries(lines.map(line => line.split(': ') as [string, string]));
    assert.match(`${sent['webhook-signature']}`, /^v1,[A-Za-z0-9+/]{43}=$/);
    assert.match(said['webhook-signature']!, /^v1,[A-Za-z0-9+/]{43}=$/);
    const { connection, 'accept-encoding': encoding, 'content-length': length, ...others } = sent;
    assert.deepEqual({ ...said, host: sent.host, 'webhook-signature': sent['webhook-signature'] }, others);
  });

  test('shows a delivery with its attempts', async () => {
    const url = `${serving.urls.production}/webhooks/1/deliveries/2`;
    const read = async () => (await send(url, { key })).body;
    await waitUntil(async () => (await read()).attempts.length === 1, 100);
    receiver.respond = (_, response) => response.writeHead(204).end();
    clock.advance(Date.parse((await read()).nextAttemptAt) - clock.now());
    await waitUntil(async () => (await read()).status === 'delivered', 100);
    const shown = JSON.parse(delivery!);
    const real = await read();
    // Retries have 10 % jitter.
    const [one, next] = real.attempts;
    assert.ok(Math.abs(Date.parse(next.at) - Date.parse(one.at) - 5000) <= 500);
    assert.equal(real.updatedAt, next.at);
    real.updatedAt = shown.updatedAt;
    next.at = shown.attempts[1].at;
    for (const [index, attempt] of real.attempts.entries()) attempt.durationMs = shown.attempts[index].durationMs;
    sameText(real, delivery!);
  });
});

/** Asserts that a documented JSON text is this value, regardless of white space. */
function sameText(real: unknown, shown: string): void {
  assert.equal(JSON.stringify(JSON.parse(shown)), JSON.stringify(real));
}
