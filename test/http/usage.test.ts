import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { newToken } from '../../src/access/keys/token.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { query } from '../../src/model/schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

overEachEngine(engine => {
  describe('the request log', () => {
    let clock: TestClock;
    let service: TestService;
    before(async () => {
      clock = testClock(Date.parse('2026-11-22T12:00:00Z'));
      service = await serve({ clock, environment: await engine.settings() });
    });
    after(() => service?.stop());

    it('shows a request with these members, and nothing that is secret', async () => {
      const key = await service.newKey();
      const { urls } = service;
      const secrets = ['hidden', key.token, encodeURIComponent(key.token), key.token.slice(-30)];
      const path = `/pets?status=sold&limit=3&password=hidden&${key.token}=hidden&cursor=${key.token}`;
      const sent = await send(urls.production + path, {
        key,
        headers: { 'x-request-id': 'traced', cookie: 'a=hidden' },
      });
      assert.equal(sent.status, 400);
      await send(`${urls.production}/pets/${key.token}`, { key });
      await send(`${urls.production}/${key.token}`, { key });
      await send(`${urls.production}/pets`, { method: 'POST', key, body: { name: 'hidden' } });

      const { body, text } = await requestsOf(service, key);
      assert.deepEqual(Object.keys(body[0]).sort(), ['code', ...members]);
      const traced = body.find(({ requestId }: { requestId: string }) => requestId === 'traced');
      assert.deepEqual(Object.keys(traced).sort(), ['code', ...members]);
      const { id: _, durationMs, ...rest } = traced;
      assert.ok(durationMs > 0 && durationMs < 30_000);
      assert.deepEqual(rest, {
        ...{ requestId: 'traced', keyId: key.id, method: 'GET', operation: 'listPets', status: 400 },
        ...{ code: 'invalid_parameter', time: rest.time },
        path: '/v1/pets?status=sold&limit=3&cursor=%5Bredacted%5D',
      });
      assert.ok(Math.abs(Date.parse(rest.time) - clock.now()) < 30_000);
      assert.deepEqual(
        body.map(({ method, path, status }: Record<string, unknown>) => [method, path, status]),
        [
          ['POST', '/v1/pets', 400],
          ['GET', undefined, 404],
          ['GET', '/v1/pets/{petId}', 404],
          ['GET', '/v1/pets?status=sold&limit=3&cursor=%5Bredacted%5D', 400],
        ],
      );
      const stored = JSON.stringify(await service.app.databases.production.all(everyRequest, {}));
      for (const secret of secrets) {
        assert.ok(!text.includes(secret) && !stored.includes(secret), secret);
        for (const line of service.lines) assert.ok(!line.includes(secret), line);
      }
    });

    it('has the requests that are refused, of valid keys only', async () => {
      const free = await service.newKey({ plan: 'free' });
      for (let round = 0; round < 62; round++) await send(`${service.urls.production}/pets`, { key: free });
      const limited = await service.newKey({ accountId: free.accountId, scopes: ['account:read'] });
      const revoked = await service.newKey({ accountId: free.accountId });
      await service.app.databases.production.write(tx => revokeKey(tx, revoked.id));
      assert.equal((await send(`${service.urls.production}/pets`, { key: revoked })).status, 401);
      assert.equal((await send(`${service.urls.production}/pets`, { key: newToken('production') })).status, 401);
      clock.advance(61_000);
      assert.equal((await send(`${service.urls.production}/pets`, { key: limited })).status, 403);

      const usage = await usageOf(service, limited);
      const { succeeded, clientErrors, rateLimited, banned, serverErrors, requests } = usage.body.total;
      assert.deepEqual(
        { succeeded, clientErrors, rateLimited, banned, serverErrors, requests },
        { succeeded: 60, clientErrors: 1, rateLimited: 2, banned: 0, serverErrors: 0, requests: 63 },
      );
      assert.deepEqual(
        usage.body.keys.map(({ keyId, requests }: Record<string, unknown>) => [keyId, requests]),
        [
          [free.id, 62],
          [limited.id, 1],
        ],
      );
      const refused = await requestsOf(service, limited, '?status=429&limit=100');
      assert.deepEqual(
        refused.body.map(({ code }: { code: string }) => code),
        ['rate_limit_exceeded', 'rate_limit_exceeded'],
      );
      assert.ok(!refused.text.includes(revoked.id));
    });

    it('is filtered, and paginated with links', async () => {
      const key = await service.newKey();
      const { urls } = service;
      await send(`${urls.production}/pets`, { key });
      for (const id of [901, 902, 903]) await send(`${urls.production}/pets/${id}`, { key });
      const other = await service.newKey({ accountId: key.accountId });
      await send(`${urls.production}/pets/904`, { key: other, headers: { 'x-request-id': 'the-other' } });
      const paths = async (search: string) => (await requestsOf(service, key, search)).body.map(pathOf);
      assert.deepEqual(await paths('?requestId=the-other'), ['/v1/pets/904']);
      assert.deepEqual(await paths(`?keyId=${other.id}`), ['/v1/pets/904']);
      assert.deepEqual(await paths('?operation=listPets'), ['/v1/pets']);
      const missing = ['/v1/pets/904', '/v1/pets/903', '/v1/pets/902', '/v1/pets/901'];
      assert.deepEqual(await paths('?status=4xx'), missing);
      assert.deepEqual(await paths('?status=404'), missing);
      assert.deepEqual(await paths('?status=5xx'), []);
      for (const wrong of ['status=abc', 'status=4x', 'status=99', 'keyId=', 'operation=']) {
        assert.equal((await requestsOf(service, key, `?${wrong}`)).body.code, 'invalid_parameter', wrong);
      }
      const first = await requestsOf(service, key, '?status=404&limit=3');
      assert.deepEqual(first.body.map(pathOf), missing.slice(0, 3));
      const second = await send(String(first.headers['x-next']), { key });
      assert.deepEqual(second.body.map(pathOf), missing.slice(3));
    });

    it('belongs to an account, and to a deployment', async () => {
      const production = await service.newKey();
      const staging = await service.newKey({ accountId: production.accountId, deployment: 'staging' });
      const stranger = await service.newKey();
      await send(`${service.urls.production}/pets/1`, { key: production });
      await send(`${service.urls.staging}/pets/2`, { key: staging });
      await send(`${service.urls.messages}/messages`, { key: staging });
      await service.app.usage.write();
      const shown = async (url: string, key: { token: string }) =>
        (await send(`${url}/account/requests`, { key })).body.map(pathOf);
      assert.deepEqual(await shown(service.urls.production, production), ['/v1/pets/1']);
      assert.deepEqual(await shown(service.urls.staging, staging), ['/messages', '/v1/pets/2']);
      assert.deepEqual(await shown(service.urls.production, stranger), []);
      const usage = await usageOf(service, staging, '', service.urls.staging);
      assert.deepEqual([usage.body.total.requests, usage.body.keys[0].keyId], [3, staging.id]);
    });

    it('needs the scope account:read', async () => {
      const key = await service.newKey({ scopes: ['pets:read'] });
      for (const path of ['/account/usage', '/account/requests']) {
        assert.equal((await send(service.urls.production + path, { key })).body.code, 'insufficient_scope');
      }
    });
  });

  describe('an account that uses its day', () => {
    it('is alerted at 80 and at 100 percent, by an event and a message', async () => {
      const clock = testClock(Date.parse('2026-11-22T12:00:00Z'));
      const service = await serve({ clock, environment: await engine.settings() });
      try {
        const agreed = { plan: 'enterprise', perMinute: 1000, perDay: 10 } as const;
        const { id: accountId } = await service.app.databases.production.write(tx =>
          createAccount(tx, { email: 'small@example.org', name: 'Small', ...agreed }),
        );
        const key = await service.newKey({ accountId });
        const staging = await service.newKey({ accountId, deployment: 'staging' });
        const alerts = async () => {
          await service.app.usage.write();
          const events = await eventsOf<{ account: Record<string, unknown> }>(
            service.app.databases.production,
            'account',
            accountId,
          );
          return events
            .filter(({ action }) => action === 'usage_alert')
            .map(({ data: { account } }) => [account['deployment'], account['threshold']]);
        };
        const spend = async (requests: number, url = service.urls.production, with_ = key) => {
          for (let round = 0; round < requests; round++) await send(`${url}/pets`, { key: with_ });
          return alerts();
        };
        assert.deepEqual(await spend(7), []);
        assert.deepEqual(await spend(1), [['production', 80]]);
        assert.deepEqual(await spend(1), [['production', 80]]);
        const both = [
          ['production', 80],
          ['production', 100],
        ];
        assert.deepEqual(await spend(1), both);
        assert.deepEqual(await spend(3), both);
        assert.deepEqual(await spend(8, service.urls.staging, staging), [...both, ['staging', 80]]);
        clock.advance(12 * 3_600_000);
        const { body: events } = await send(`${service.urls.production}/events?types=account.usage_alert`, { key });
        assert.deepEqual(
          events.map(({ data }: { data: Record<string, unknown> }) => [
            data['id'],
            data['deployment'],
            data['threshold'],
          ]),
          [...both, ['staging', 80]].map(alert => [accountId, ...alert]),
        );
        assert.deepEqual(await spend(7), [...both, ['staging', 80], ['production', 80]]);
      } finally {
        await service.stop();
      }
    });
  });

  describe('usage', () => {
    it('has a bucket for every hour or day of its range', async () => {
      const clock = testClock(Date.parse('2026-11-22T21:30:00Z'));
      const service = await serve({ clock, environment: await engine.settings() });
      try {
        const key = await service.newKey();
        for (const requests of [2, 0, 0, 1]) {
          for (let round = 0; round < requests; round++) await send(`${service.urls.production}/pets`, { key });
          await service.app.usage.write();
          clock.advance(3_600_000);
        }
        const { body: hours } = await usageOf(service, key, '?from=2026-11-22T20:15:00Z');
        assert.deepEqual([hours.from, hours.to], ['2026-11-22T20:00:00.000Z', '2026-11-23T02:00:00.000Z']);
        assert.deepEqual(
          hours.buckets.map(({ start, requests }: Record<string, unknown>) => [start, requests]),
          ['22T20', '22T21', '22T22', '22T23', '23T00', '23T01'].map((hour, index) => [
            `2026-11-${hour}:00:00.000Z`,
            [0, 2, 0, 0, 1, 0][index],
          ]),
        );
        const { body: days } = await usageOf(service, key, '?interval=day&from=2026-11-21T12:00:00Z');
        assert.deepEqual(
          days.buckets.map(({ start, requests }: Record<string, unknown>) => [start, requests]),
          [
            ['2026-11-21T00:00:00.000Z', 0],
            ['2026-11-22T00:00:00.000Z', 2],
            ['2026-11-23T00:00:00.000Z', 2],
          ],
        );
        const { body: early } = await usageOf(service, key, '?from=2026-01-01T00:00:00Z');
        assert.deepEqual([early.from, early.to], ['2026-01-01T00:00:00.000Z', '2026-01-09T00:00:00.000Z']);
        for (const wrong of [
          'from=yesterday',
          'interval=week',
          'from=2026-11-23T00:00:00Z&to=2026-11-22T00:00:00Z',
          'from=2026-11-23T00:00:60Z',
          'from=2026-12-01T00:00:00Z',
          'from=2026-11-01T00:00:00Z&to=2026-11-22T00:00:00Z',
          'interval=day&from=2026-01-01T00:00:00Z&to=2026-11-22T00:00:00Z',
        ]) {
          assert.equal((await usageOf(service, key, `?${wrong}`)).body.code, 'invalid_parameter', wrong);
        }
      } finally {
        await service.stop();
      }
    });
  });
});

const members = ['durationMs', 'id', 'keyId', 'method', 'operation', 'path', 'requestId', 'status', 'time'];
const everyRequest = query(db => db.selectFrom('requests').selectAll());
const pathOf = ({ path }: { path: string }) => path;

/** Returns the response of an operation on the account, once everything before is recorded. */
async function read(service: TestService, key: { token: string }, path: string, url: string): Promise<Reply> {
  await service.app.usage.write();
  return send(url + path, { key });
}

const requestsOf = (service: TestService, key: { token: string }, search = '', url = service.urls.production) =>
  read(service, key, `/account/requests${search}`, url);

const usageOf = (service: TestService, key: { token: string }, search = '', url = service.urls.production) =>
  read(service, key, `/account/usage${search}`, url);
