import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { HOUR_MS } from '../../src/lib/time.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { startReceiver } from '../support/receiver.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { newSteppedClock, withoutSteppedClock } from '../support/stepped-clock.ts';
import { waitUntil } from '../support/wait-until.ts';

overEachEngine(engine => {
  describe('a process whose wall clock is set', { skip: withoutSteppedClock }, () => {
    const running: Process[] = [];
    afterEach(async () => {
      for (const service of running.splice(0)) {
        await service.stop('SIGKILL');
        await service.remove();
      }
    });
    async function start(environment: Readonly<Record<string, string>>, directory?: string): Promise<Process> {
      const service = await spawnService({ environment, ...(directory !== undefined && { directory }) });
      running.push(service);
      return service;
    }
    const base = async () => ({
      ...(await engine.settings()),
      PETSTORE_STAGING_PORT: '',
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
      PETSTORE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    });

    for (const [direction, offset] of [
      ['ahead', HOUR_MS],
      ['back', -HOUR_MS],
    ] as const) {
      it(`gives no account a fresh minute when it is set ${direction} by an hour`, async () => {
        const clock = newSteppedClock();
        const service = await start({ ...(await base()), ...clock.environment });
        const { production } = service.urls;
        const free = await newProcessKey(service, 'free');
        const request = () => send(`${production}/pets?limit=1`, { key: free });
        const wallTime = async () => Date.parse(String((await send(`${production}/pets?limit=1`)).headers['date']));
        for (let i = 0; i < 60; i++) assert.equal((await request()).status, 200);
        assert.equal((await request()).status, 429);
        const before = await wallTime();
        clock.set(offset);
        // The process follows a clock that is set ahead within a second, and never runs backwards.
        if (offset > 0) await waitUntil(async () => (await wallTime()) - before > offset / 2);
        for (let i = 0; i < 5; i++) {
          const { status, headers } = await request();
          assert.equal(status, 429);
          const wait = Number(headers['retry-after']);
          assert.ok(wait >= 1 && wait <= 61, `retry after ${wait} s`);
        }
      });

      it(`delivers each event once, and keeps keys and holds, when it is set ${direction} by an hour`, async t => {
        const clock = newSteppedClock();
        const receiver = await startReceiver();
        t.after(() => receiver.close());
        const service = await start({ ...(await base()), ...clock.environment });
        const key = await newProcessKey(service);
        const ask = async (method: string, path: string, body?: object) => {
          const reply = await send(service.urls.production + path, { method, key, ...(body && { body }) });
          assert.ok(reply.status < 400, `${method} ${path} ${reply.status} ${reply.text}`);
          return reply.body;
        };
        const webhook = await ask('POST', '/webhooks', { url: receiver.url, eventTypes: ['pet.created'] });
        await ask('POST', `/webhooks/${webhook.id}/activation`);
        // The receiver holds the first delivery until the clock is set.
        const held: (() => void)[] = [];
        receiver.respond = (_, response) => void held.push(() => response.writeHead(204).end());
        const pet = await ask('POST', '/pets', { name: 'Minka', categoryId: 2 });
        const expiresAt = new Date(Date.now() + 2 * HOUR_MS).toISOString();
        const hold = await ask('POST', '/holds', { petIds: [pet.id], expiresAt });
        await waitUntil(() => held.length > 0);
        clock.set(offset);
        for (let i = 0; i < 20; i++) await ask('GET', '/pets?limit=1');
        await ask('POST', '/pets', { name: 'Rex', categoryId: 1 });
        receiver.respond = (_, response) => response.writeHead(204).end();
        for (const respond of held) respond();
        await waitUntil(() => receiver.received.some(({ body }) => body.includes('Rex')));
        const created = receiver.received.filter(
          ({ body }) => body.includes('"pet.created"') && body.includes('Minka'),
        );
        assert.equal(created.length, 1);
        assert.equal((await ask('GET', `/holds/${hold.id}`)).status, 'active');
      });
    }

    it('says at the start that the clock is earlier than the data, and serves', async () => {
      const clock = newSteppedClock();
      const environment = { ...(await base()), ...clock.environment };
      const first = await start(environment);
      const key = await newProcessKey(first);
      const body = { name: 'Minka', categoryId: 2 };
      assert.equal((await send(`${first.urls.production}/pets`, { method: 'POST', key, body })).status, 201);
      await first.stop();
      clock.set(-HOUR_MS);
      const second = await start(environment, first.directory);
      assert.match(second.log(), /The clock is earlier than the newest data/);
      assert.equal((await send(`${second.urls.production}/pets`, { method: 'POST', key, body })).status, 201);
    });
  });
});
