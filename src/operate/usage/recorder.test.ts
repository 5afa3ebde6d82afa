import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type OpenOptions, onEachEngine, silent } from '../../../test/support/engines.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import type { Caller, Route } from '../../lib/http/route.ts';
import type { Exchange } from '../../lib/http/server/exchange.ts';
import type { RequestOutcome } from '../../lib/http/server/options.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { loggedRequestOf } from '../../model/logged-request.ts';
import type { Database } from '../../model/schema.ts';
import { deleteOldUsage, usageByHour, usageByKey } from './counts.ts';
import { deleteOldRequests, listRequests, REQUESTS_KEPT } from './log.ts';
import { logBounds, UsageRecorder } from './recorder.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const NOON_HOUR = NOON / HOUR_MS;

onEachEngine(engine => {
  describe('UsageRecorder', () => {
    it('counts requests by key, hour and outcome, and adds to what is stored', async () => {
      const { recorder, clock, record, hours, keys } = await open();
      record(caller('a'));
      record(caller('a'), { status: 304 });
      record(caller('a'), { status: 404, code: 'pet_not_found' });
      record(caller('b'), { status: 429, code: 'rate_limit_exceeded' });
      record(caller('b'), { status: 429, code: 'api_key_banned' });
      record(caller('b'), { status: 503, code: 'overloaded' });
      record({ ...caller('c'), accountId: 2 });
      record({ ...caller('d'), deployment: 'staging' });
      record(undefined, { status: 401, code: 'missing_api_key' });
      await recorder.write();
      record(caller('a'));
      clock.advance(HOUR_MS);
      record(caller('a'));
      await recorder.write();
      const first = { succeeded: 3, clientErrors: 1, rateLimited: 1, banned: 1, serverErrors: 1, unlogged: 0 };
      assert.deepEqual(await hours(), [
        { hour: NOON_HOUR, ...first },
        { hour: NOON_HOUR + 1, ...none, succeeded: 1 },
      ]);
      assert.deepEqual(await keys(), [
        { keyId: 'a', ...none, succeeded: 4, clientErrors: 1 },
        { keyId: 'b', ...none, rateLimited: 1, banned: 1, serverErrors: 1 },
      ]);
      assert.deepEqual(await hours('b'), [{ hour: NOON_HOUR, ...none, rateLimited: 1, banned: 1, serverErrors: 1 }]);
    });

    it('logs only the known parameters of paths and queries', async () => {
      const { recorder, record, list } = await open();
      const token = 'petstore_live_q7Zc1Lw0aPdT_0123456789abcdefghijklmnopqrstuvwxyzABC';
      const search = `?status=sold&note=private&limit=5&status=${token}&${token}=1`;
      record(caller('a'), { search, durationMs: 1.2345 });
      record(caller('a'), { route: getPet, path: `/v1/pets/${token}`, parameters: { petId: token }, status: 404 });
      record(caller('a'), { route: getPet, path: '/v1/pets/7', parameters: { petId: '7' }, search: '?limit=1' });
      record(caller('a'), { route: undefined, path: `/v1/${token}`, status: 404, code: 'route_not_found' });
      await recorder.write();
      const [unknown, pet, noPet, pets] = await list();
      assert.deepEqual(pets, {
        id: 1,
        time: '2026-11-22T12:00:00.000Z',
        requestId: 'r1',
        method: 'GET',
        path: '/v1/pets?status=sold&limit=5&status=%5Bredacted%5D',
        operation: 'listPets',
        status: 200,
        durationMs: 1.235,
        keyId: 'a',
      });
      assert.deepEqual([noPet!.path, pet!.path], ['/v1/pets/{petId}', '/v1/pets/7']);
      assert.deepEqual([unknown!.path, unknown!.operation, unknown!.code], [undefined, undefined, 'route_not_found']);
    });

    it('logs a bounded number of requests a second for each account and in total, and counts the others', async () => {
      const { recorder, clock, record, list, hours } = await open();
      const { perSecondAndAccount, perSecond } = logBounds;
      for (let round = 0; round < perSecondAndAccount + 7; round++) record(caller('a'));
      assert.equal(await unlogged(recorder, hours), 7);
      clock.advance(1000);
      for (let account = 2; account <= perSecond / 50 + 3; account++) {
        for (let round = 0; round < 50; round++) record({ ...caller(`k${account}`), accountId: account });
      }
      record(caller('a'));
      assert.equal(await unlogged(recorder, hours), 8);
      clock.advance(1000);
      record(caller('a'));
      assert.equal(await unlogged(recorder, hours), 8);
      assert.equal((await list()).length, perSecondAndAccount + 1);
    });

    it('holds a bounded amount of memory while storage is away, and loses no count', async () => {
      const { database, recorder, clock, record, hours, list } = await open();
      let isAway = true;
      const write = database.write.bind(database);
      database.write = ((...args: Parameters<typeof write>) =>
        isAway ? Promise.reject(new StorageError('unavailable', 'away')) : write(...args)) as typeof write;
      let recorded = 0;
      for (let second = 0; second < 60; second++) {
        for (let round = 0; round < 90; round++, recorded++)
          record(caller('a'), { search: `?status=${'x'.repeat(90)}` });
        clock.advance(1000);
        await assert.rejects(recorder.write(), StorageError);
      }
      isAway = false;
      await recorder.write();
      const [hour, ...others] = await hours();
      assert.deepEqual([hour!.succeeded, others], [recorded, []]);
      assert.equal(hour!.unlogged, recorded - logBounds.waiting);
      assert.equal((await list()).length, logBounds.waiting);
    });

    it('does not log requests whose paths are too long to wait together', async () => {
      const { recorder, clock, record, hours } = await open();
      const search = `?status=${'x'.repeat(16_000)}`;
      for (let second = 0; second < 3; second++) {
        for (let round = 0; round < 100; round++) record(caller('a'), { search });
        clock.advance(1000);
      }
      const fitting = Math.floor(logBounds.waitingCharacters / (search.length + '/v1/pets'.length));
      assert.equal(await unlogged(recorder, hours), 300 - fitting);
      record(caller('a'), { search });
      assert.equal(await unlogged(recorder, hours), 300 - fitting);
    });

    it('writes about a second after a request, without being asked, and when it is closed', async t => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { recorder, record, list } = await open();
      record(caller('a'));
      t.mock.timers.tick(999);
      record(caller('a'));
      t.mock.timers.tick(1);
      t.mock.timers.reset();
      while ((await list()).length === 0) await turn();
      assert.equal((await list()).length, 2);
      record(caller('a'));
      await recorder.close();
      assert.equal((await list()).length, 3);
    });

    it('writes nothing while idle', async t => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { recorder, record, database, clock } = await open();
      await database.write(tx => createAccount(tx, { email: 'ann@example.org', name: 'Ann' }));
      const write = database.write.bind(database);
      let writes = 0;
      database.write = (work => {
        writes++;
        return write(work);
      }) as typeof write;
      recorder.alerts.note(caller('a'), 100, clock.now());
      record(caller('a'));
      t.mock.timers.tick(1000);
      // Waits for the write that the timer began: one transaction for the usage, and one for the alert.
      await recorder.write();
      assert.equal(writes, 2);
      for (let second = 0; second < 60; second++) {
        t.mock.timers.tick(1000);
        await turn();
      }
      assert.equal(writes, 2);
    });

    it('keeps the latest requests of an account', async () => {
      const { recorder, clock, record, list } = await open();
      for (let round = 0; round < REQUESTS_KEPT + 450; round++) {
        record(caller('a'));
        if (round === 0) record({ ...caller('b'), accountId: 2 });
        if (round % 100 === 99) clock.advance(1000);
        if (round % 500 === 499) await recorder.write();
      }
      await recorder.write();
      const kept = await list();
      assert.ok(kept.length >= REQUESTS_KEPT && kept.length <= REQUESTS_KEPT + 400, `${kept.length}`);
      assert.equal(kept[0]!.requestId, `r${REQUESTS_KEPT + 451}`);
      assert.equal((await list(2)).length, 1);
    });

    it('adds the counts of several nodes that write concurrently', async () => {
      const location = await engine.newLocation();
      const nodes = [await open({ location })];
      if (engine.name === 'postgres') nodes.push(await open({ location }), await open({ location }));
      const accounts = Array.from({ length: 20 }, (_, index) => index + 1);
      await Promise.all(
        nodes.map(async ({ recorder, record, clock }, node) => {
          for (let round = 0; round < 10; round++) {
            // Each node writes the accounts in a different order.
            for (const id of node % 2 === 0 ? accounts : accounts.toReversed())
              record({ ...caller(`k${id}`), accountId: id });
            clock.advance(1000);
            await recorder.write();
          }
        }),
      );
      const { database } = nodes[0]!;
      for (const accountId of accounts) {
        const [hour] = await usageByHour(database, { ...range, accountId });
        assert.equal(hour!.succeeded, 10 * nodes.length);
      }
    });
  });

  describe('retention', () => {
    it('deletes requests after a week and usage after 90 days', async () => {
      const { database, clock, recorder, record, list, hours } = await open();
      record(caller('a'));
      await recorder.write();
      clock.advance(DAY_MS);
      record(caller('a'));
      await recorder.write();
      clock.advance(6 * DAY_MS - 1);
      assert.equal(await database.write(tx => deleteOldRequests(tx, 100)), 0);
      clock.advance(1);
      assert.equal(await database.write(tx => deleteOldRequests(tx, 100)), 1);
      assert.deepEqual(
        (await list()).map(({ requestId }) => requestId),
        ['r2'],
      );
      assert.equal(await database.write(tx => deleteOldUsage(tx, 100)), 0);
      clock.advance(83 * DAY_MS + HOUR_MS);
      assert.equal(await database.write(tx => deleteOldUsage(tx, 100)), 1);
      assert.equal((await hours()).length, 1);
    });
  });

  async function open(options: OpenOptions = {}) {
    const clock = testClock(NOON);
    const database: Database = await engine.open({ clock, ...options });
    const recorder = new UsageRecorder({ database, clock, log: silent });
    let requests = 0;
    return {
      ...{ clock, database, recorder },
      record(sender: Caller | undefined, request: Partial<Exchange & RequestOutcome> = {}) {
        const sent = {
          path: '/v1/pets',
          search: '',
          parameters: {},
          route: listPets,
          prefix: '/v1',
          status: 200,
          code: '',
          durationMs: 0,
        };
        const exchange = {
          request: { method: 'GET' },
          requestId: `r${++requests}`,
          caller: sender,
          ...sent,
          ...request,
        };
        recorder.record(exchange as unknown as Exchange, exchange as RequestOutcome);
      },
      hours: (keyId?: string) => usageByHour(database, { ...range, keyId }),
      keys: () => usageByKey(database, range),
      async list(accountId = 1) {
        const { rows } = await listRequests(database, accountId, {}, { limit: 100_000 });
        return rows.map(row => loggedRequestOf(row));
      },
    };
  }
});

const none = { succeeded: 0, clientErrors: 0, rateLimited: 0, banned: 0, serverErrors: 0, unlogged: 0 };
const range = { accountId: 1, deployment: 'production', from: 0, until: Number.MAX_SAFE_INTEGER } as const;

/** Returns the number of requests that are not in the log after all writes. */
async function unlogged(recorder: UsageRecorder, hours: () => Promise<readonly { unlogged: number }[]>) {
  await recorder.write();
  return (await hours()).reduce((sum, hour) => sum + hour.unlogged, 0);
}

function caller(keyId: string): Caller {
  return { keyId, accountId: 1, deployment: 'production', admin: false, plan: 'free', scopes: new Set() };
}

const listPets = {
  operationId: 'listPets',
  path: '/pets',
  query: { properties: { status: {}, limit: {} } },
} as unknown as Route<never>;
const getPet = { operationId: 'getPet', path: '/pets/{petId}' } as unknown as Route<never>;
