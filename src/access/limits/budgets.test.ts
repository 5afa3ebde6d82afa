import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { type CallerOptions, countedCaller, verdictFields } from '../../../test/support/counted-caller.ts';
import { type Engine, onEachEngine, onPostgres, silent } from '../../../test/support/engines.ts';
import { describeUnless, long } from '../../../test/support/selection.ts';
import { ValkeyServer, valkeyUrl, withoutValkey, withoutValkeyServer } from '../../../test/support/valkey-server.ts';
import { systemClock, type TestClock, testClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Budget, Limits } from '../../model/plan.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { listBans } from './bans.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { openLimiter } from './open.ts';

/** 2026-03-04 12:00:00.250 UTC. */
const noon = Date.UTC(2026, 2, 4, 12) + 250;
const second = Math.ceil(noon / 1000);
const midnight = Date.UTC(2026, 2, 5) / 1000;
const untilMidnight = midnight - second + 1;

onEachEngine(engine => {
  describe('the budget of a key', () => {
    test('is shown beside the limits of the account, the window with the fewest requests left first', async () => {
      const { count } = await begin(engine);
      assert.deepEqual(verdictFields(await count({ budget: { perMinute: 10, perDay: 200 } })), {
        outcome: 'accepted',
        'X-RateLimit-Limit': '10',
        'X-RateLimit-Remaining': '9',
        'X-RateLimit-Reset': `${second + 60}`,
        'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400, "key-minute";q=10;w=60, "key-day";q=200;w=86400',
        RateLimit:
          `"minute";r=59;t=60, "day";r=999;t=${untilMidnight}, ` +
          `"key-minute";r=9;t=60, "key-day";r=199;t=${untilMidnight}`,
      });
    });

    test('may limit only the minute or only the day', async () => {
      const { count } = await begin(engine);
      const minute = verdictFields(await count({ keyId: 'one', budget: { perMinute: 10 } }));
      assert.match(minute['RateLimit-Policy']!, /w=86400, "key-minute";q=10;w=60$/);
      assert.match(minute['RateLimit']!, /"day";r=999;t=\d+, "key-minute";r=9;t=60$/);
      const day = verdictFields(await count({ keyId: 'two', budget: { perDay: 5 } }));
      assert.match(day['RateLimit-Policy']!, /"day";q=1000;w=86400, "key-day";q=5;w=86400$/);
      assert.equal(day['X-RateLimit-Remaining'], '4');
      assert.equal(day['X-RateLimit-Reset'], `${midnight}`);
    });

    test('rejects requests beyond it, which do not count for the account or the key', async () => {
      const { count, clock } = await begin(engine);
      const budget = { perMinute: 3 };
      for (let i = 0; i < 3; i++) assert.equal((await count({ budget })).outcome, 'accepted');
      for (let i = 0; i < 50; i++) assert.equal((await count({ budget })).outcome, 'overBudget');
      const refused = verdictFields(await count({ budget }));
      assert.equal(refused['X-RateLimit-Limit'], '3');
      assert.equal(refused['X-RateLimit-Reset'], `${second + 60}`);
      assert.equal(refused['Retry-After'], '61');
      assert.match(refused['RateLimit']!, /^"minute";r=57;t=60, "day";r=997;t=\d+, "key-minute";r=0;t=61$/);
      assert.equal(verdictFields(await count({ keyId: 'two' }))['X-RateLimit-Remaining'], '56');
      clock.advance((second + 60) * 1000 - noon - 1);
      assert.equal((await count({ budget })).outcome, 'overBudget');
      clock.advance(1);
      assert.equal((await count({ budget })).outcome, 'accepted');
    });

    test('is not used up by requests that the account rejects', async () => {
      const { count, clock } = await begin(engine);
      const limits = { perMinute: 2, perDay: 1000 };
      for (let i = 0; i < 2; i++) await count({ keyId: 'two', limits });
      for (let i = 0; i < 5; i++) assert.equal((await count({ limits, budget: { perMinute: 2 } })).outcome, 'limited');
      clock.advance(61_000);
      const { RateLimit: left } = verdictFields(await count({ limits, budget: { perMinute: 2, perDay: 9 } }));
      assert.match(left!, /"key-minute";r=1;t=60, "key-day";r=8;/);
    });

    test('is taken back with the count of the account', async () => {
      const { limiter, count } = await begin(engine);
      const budget = { perMinute: 2, perDay: 5 };
      const { at } = await count({ budget });
      const left = verdictFields(await limiter.uncount(countedCaller({ budget }), at));
      assert.match(left['RateLimit']!, /^"minute";r=60;.*"day";r=1000;.*"key-minute";r=2;.*"key-day";r=5;/);
      assert.equal(left['X-RateLimit-Remaining'], '2');
    });

    test('keeps a leaked key from the requests of its siblings, and from getting them banned', async () => {
      const { count, clock, database } = await begin(engine);
      const budget = { perMinute: 10 };
      const leaked = new Set<string>();
      for (let i = 0; i < 300; i++) {
        clock.advance(200);
        leaked.add((await count({ budget })).outcome);
        if (i % 10 === 0) assert.equal((await count({ keyId: 'two' })).outcome, 'accepted');
      }
      assert.deepEqual(leaked, new Set(['accepted', 'overBudget', 'banned']));
      assert.deepEqual(
        (await listBans(database, clock.now())).map(({ keyId }) => keyId),
        ['key'],
      );
    });

    test('counts each rejected request as one violation', async () => {
      const { count, clock } = await begin(engine);
      // Both the limit of the budget and that of the account are used up.
      const send = () => count({ limits: { perMinute: 1, perDay: 1 }, budget: { perMinute: 1, perDay: 1 } });
      await send();
      await send();
      clock.advance(3000);
      for (let i = 0; i < 19; i++) assert.equal((await send()).outcome, 'limited');
      assert.equal((await send()).outcome, 'banned');
    });

    test('keeps both windows after a clean restart', async () => {
      const one = await begin(engine);
      const budget = { perMinute: 10, perDay: 200 };
      for (let i = 0; i < 4; i++) await one.count({ budget });
      await one.count({ keyId: 'two' });
      await one.limiter.close();
      one.clock.advance(5000);
      const next = await on(one.database, one.clock);
      const { RateLimit: left, 'X-RateLimit-Reset': reset } = verdictFields(await next.count({ budget }));
      assert.match(left!, /^"minute";r=54;.*"day";r=994;.*"key-minute";r=5;.*"key-day";r=195;/);
      assert.equal(reset, `${second + 60}`);
    });

    test('keeps the counted requests of the day after a kill, and loses at most 1 %, or one request', async () => {
      for (const [perDay, requests] of [
        [1000, 150],
        [50, 12],
      ] as const) {
        let one = await begin(engine);
        const limits = { perMinute: 100_000, perDay: 100_000 };
        const left = async () => keyDayLeft(await one.count({ limits, budget: { perDay } }));
        for (let round = 0, used = 0; round < 3; round++, one = await on(one.database, one.clock)) {
          const lost = perDay - (await left()) - 1 - used;
          assert.ok(lost >= 0 && lost <= Math.max(1, perDay / 100), `${lost} lost of ${perDay}`);
          used += lost + requests;
          for (let i = 1; i < requests; i++) assert.equal(await left(), perDay - used + requests - 1 - i);
        }
      }
    });
  });

  describe('the limit of all sandbox accounts together', () => {
    const limits = { perMinute: 60, perDay: 1000 };

    test('is shown beside that of the account, and rejects requests of every account', async () => {
      const { count } = await begin(engine);
      const first = verdictFields(await count({ limits, sandboxPerMinute: 3 }));
      assert.equal(first['X-RateLimit-Limit'], '3');
      assert.match(first['RateLimit-Policy']!, /^"minute";q=60;w=60, "day";q=1000;w=86400, "sandbox-minute";q=3;w=60$/);
      for (const accountId of [2, 3]) {
        assert.equal((await count({ accountId, limits, sandboxPerMinute: 3 })).outcome, 'accepted');
      }
      const refused = verdictFields(await count({ accountId: 4, limits, sandboxPerMinute: 3 }));
      assert.deepEqual(
        [refused['outcome'], refused['X-RateLimit-Reset'], refused['Retry-After']],
        ['overSandbox', `${second + 60}`, '61'],
      );
      assert.match(refused['RateLimit']!, /^"minute";r=60;t=\d+, "day";r=1000;t=\d+, "sandbox-minute";r=0;t=61$/);
      assert.equal((await count({ accountId: 5, limits })).outcome, 'accepted', 'another account');
    });

    test('is not used up by requests that the account rejects', async () => {
      const { count } = await begin(engine);
      const own = { perMinute: 1, perDay: 1000 };
      for (const outcome of ['accepted', 'limited', 'limited']) {
        assert.equal((await count({ limits: own, sandboxPerMinute: 2 })).outcome, outcome);
      }
      assert.equal((await count({ accountId: 2, limits, sandboxPerMinute: 2 })).outcome, 'accepted');
    });

    test('bans no key, unless that keeps sending beyond its own limits', async () => {
      const { count, clock } = await begin(engine);
      const send = (own = limits) => count({ limits: own, sandboxPerMinute: 1 });
      await send();
      await send();
      clock.advance(3000);
      for (let i = 0; i < 30; i++) assert.equal((await send()).outcome, 'overSandbox');
      for (let i = 0; i < 19; i++) assert.notEqual((await send({ perMinute: 1, perDay: 1000 })).outcome, 'banned');
      assert.equal((await send({ perMinute: 1, perDay: 1000 })).outcome, 'banned');
    });
  });

  test('matches a naive log of all requests for any sequence, limits and budget', async () => {
    const { limiter, clock } = await begin(engine);
    let accountId = 100;
    await fc.assert(
      fc.asyncProperty(steps, async sequence => {
        accountId++;
        const log: Logged[] = [];
        for (const { wait, budget } of sequence) {
          clock.advance(wait);
          // Budgets of keys never change, so each budget has its own key. No key is banned.
          const keyId = `${accountId}x${budgets.indexOf(budget)}`;
          const verdict = await limiter.count(countedCaller({ keyId, accountId, limits, budget }));
          const expected = expectedOf(log, { at: clock.now(), budget });
          const { outcome, 'X-RateLimit-Limit': limit, ...shown } = verdictFields(verdict);
          const [remaining, reset] = [shown['X-RateLimit-Remaining'], shown['X-RateLimit-Reset']];
          if (outcome !== 'banned') assert.deepEqual({ outcome, limit, remaining, reset }, expected);
        }
      }),
      { numRuns: long ? 1000 : 100 },
    );
  });
});

describeUnless(withoutValkey, 'budgets that nodes share', () =>
  onEachEngine(engine => {
    test('accept exactly the budget of parallel requests over two nodes, and cost the account no more', async () => {
      const { nodes } = await beginShared(engine, valkeyUrl, 2);
      const budget = { perMinute: 10, perDay: 200 };
      const send = (i: number) => nodes[i % 2]!.count(countedCaller({ budget }));
      const verdicts = await Promise.all(Array.from({ length: 100 }, (_, i) => send(i)));
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 10);
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'overBudget').length, 90);
      const sibling = await nodes[1]!.count(countedCaller({ keyId: 'two' }));
      assert.match(verdictFields(sibling)['RateLimit']!, /^"minute";r=49;.*"day";r=989;[^,]*$/);
    });

    test('accept exactly the requests of all sandbox accounts together, over two nodes', async () => {
      const { nodes } = await beginShared(engine, valkeyUrl, 2);
      const send = (i: number) => nodes[i % 2]!.count(countedCaller({ accountId: i, sandboxPerMinute: 10 }));
      const verdicts = await Promise.all(Array.from({ length: 50 }, (_, i) => send(i)));
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 10);
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'overSandbox').length, 40);
    });

    test('are taken back on another node, and limit only the windows that are set', async () => {
      const { nodes } = await beginShared(engine, valkeyUrl, 2);
      const caller = countedCaller({ budget: { perDay: 5 } });
      const { at } = await nodes[0]!.count(caller);
      await nodes[1]!.count(caller);
      const left = verdictFields(await nodes[1]!.uncount(caller, at))['RateLimit']!;
      assert.match(left, /^"minute";r=59;t=\d+, "day";r=999;t=\d+, "key-day";r=4;t=\d+$/);
    });

    test('keep both windows when nodes stop or are killed', async () => {
      const { nodes, database } = await beginShared(engine, valkeyUrl, 2);
      const caller = countedCaller({ budget: { perMinute: 20, perDay: 200 } });
      for (let i = 0; i < 10; i++) await nodes[i % 2]!.count(caller);
      await nodes[0]!.close();
      const next = await openLimiter({ database, clock: systemClock(), log: silent, valkeyUrl });
      opened.push(next);
      assert.match(verdictFields(await next.count(caller))['RateLimit']!, /"key-minute";r=9;.*"key-day";r=189;/);
    });
  }),
);

describeUnless(withoutValkeyServer, 'budgets while Valkey is unavailable', () => {
  onEachEngine(engine => {
    test('continue, and add the local counts to Valkey afterwards', async t => {
      const server = await ValkeyServer.start();
      t.after(() => server.kill());
      const { nodes, lines } = await beginShared(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      const caller = countedCaller({
        budget: { perMinute: 30, perDay: 2000 },
        limits: { perMinute: 99, perDay: 5000 },
      });
      for (let i = 0; i < 10; i++) await node.count(caller);
      await server.kill();
      for (let i = 0; i < 10; i++) assert.equal((await node.count(caller)).outcome, 'accepted');
      await server.start();
      // The node logs that Valkey is available again once it has stored the counts of the outage.
      while (node.health().counts === 'local' || lines.length < 2) await pause(20);
      const { RateLimit: left } = verdictFields(await node.count(caller));
      assert.match(left!, /^"minute";r=78;.*"key-minute";r=9;/);
      const day = Number(/"key-day";r=(\d+)/.exec(left!)![1]);
      assert.ok(day <= 2000 - 21 && day >= 2000 - 21 - 20, `${day} left`);
    });
  });

  onPostgres(engine => {
    test('are shared equally by the live nodes', async t => {
      const server = await ValkeyServer.start();
      t.after(() => server.kill());
      const { nodes } = await beginShared(engine, server.url, 2);
      await pause(1200);
      await server.kill();
      for (const node of nodes) {
        const verdicts = await Promise.all(
          Array.from({ length: 20 }, () => node.count(countedCaller({ budget: { perMinute: 10 } }))),
        );
        assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 5);
        assert.match(verdictFields(verdicts[0]!)['RateLimit-Policy']!, /"minute";q=30;w=60.*"key-minute";q=5;w=60/);
      }
      await server.start();
      for (const node of nodes) while (node.health().counts === 'local') await pause(20);
      assert.equal((await nodes[0]!.count(countedCaller({ budget: { perMinute: 10 } }))).outcome, 'overBudget');
    });
  });
});

const limits: Limits = { perMinute: 6, perDay: 30 };
const budgets: readonly (Budget | undefined)[] = [
  undefined,
  { perMinute: 3, perDay: 12 },
  { perMinute: 1 },
  { perDay: 4 },
  { perMinute: 6, perDay: 30 },
];

/** Requests to one account: the pause before each in milliseconds, and the budget of its key. */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 70 }).map(seconds => seconds * 1000) },
      { weight: 3, arbitrary: fc.double({ min: 0, max: 30_000, noNaN: true }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 43_200_000 }) },
    ),
    budget: fc.constantFrom(...budgets),
  }),
  { maxLength: 60 },
);

/** An accepted request in the log. */
interface Logged {
  readonly at: number;
  readonly budget: Budget | undefined;
}

/** Decides on a request by a simple log, and adds the request to the log if it is accepted. */
function expectedOf(log: Logged[], request: Logged) {
  const DAY_S = 86_400;
  const { at: now, budget } = request;
  const windows = () =>
    [
      { kind: 'minute', own: false, limit: limits.perMinute },
      { kind: 'minute', own: true, limit: budget?.perMinute },
      { kind: 'day', own: false, limit: limits.perDay },
      { kind: 'day', own: true, limit: budget?.perDay },
    ].flatMap(({ kind, own, limit }) => {
      if (limit === undefined) return [];
      const releases = log
        .filter(logged => !own || logged.budget === budget)
        .map(({ at }) =>
          kind === 'minute' ? Math.ceil(Math.ceil(at) / 1000) + 60 : (Math.floor(at / 1000 / DAY_S) + 1) * DAY_S,
        )
        .filter(release => release * 1000 > now);
      return [{ own, limit, left: limit - releases.length, releases }];
    });
  const violated = windows().filter(({ left }) => left <= 0);
  if (violated.length === 0) {
    log.push(request);
    const [first, ...others] = windows();
    const shown = others.reduce((fewest, window) => (window.left < fewest.left ? window : fewest), first!);
    const { limit, left, releases } = shown;
    return { outcome: 'accepted', limit: `${limit}`, remaining: `${left}`, reset: `${releases[0]}` };
  }
  // Each window is full but never over its limit, so its first release lets a request in.
  const [first, ...others] = violated.toSorted((a, b) => Number(a.own) - Number(b.own));
  const shown = others.reduce(
    (longest, window) => (window.releases[0]! > longest.releases[0]! ? window : longest),
    first!,
  );
  const outcome = shown.own ? 'overBudget' : 'limited';
  return { outcome, limit: `${shown.limit}`, remaining: '0', reset: `${shown.releases[0]}` };
}

interface Begun {
  readonly limiter: Limiter;
  readonly database: Database;
  readonly clock: TestClock;
  count(options?: CallerOptions): Promise<Verdict>;
}

/** A limiter on an empty database with two keys of one account. */
async function begin(engine: Engine): Promise<Begun> {
  const clock = testClock(noon);
  const database = await engine.open({ clock });
  databases.push(database);
  await addKeys(database);
  return on(database, clock);
}

async function on(database: Database, clock: TestClock): Promise<Begun> {
  const limiter = await openLimiter({ database, clock, log: silent });
  opened.push(limiter);
  return { limiter, database, clock, count: async options => await limiter.count(countedCaller(options)) };
}

/** Limiters of several nodes on one empty database. */
async function beginShared(engine: Engine, url: string, count: number) {
  const clock = systemClock();
  const database = await engine.open({ clock });
  databases.push(database);
  await addKeys(database);
  const nodes: Limiter[] = [];
  const lines: string[] = [];
  const note = (...said: unknown[]) => void lines.push(String(said.at(-1)));
  const log: Log = { info: note, warn: note, error: note };
  for (let i = 0; i < count; i++) nodes.push(await openLimiter({ database, clock, log, valkeyUrl: url }));
  opened.push(...nodes);
  return { database, nodes, lines };
}

const opened: Limiter[] = [];
const databases: Database[] = [];
afterEach(async () => {
  for (const limiter of opened.splice(0)) await limiter.close();
  for (const database of databases.splice(0)) await database.close();
});

async function addKeys(database: Database): Promise<void> {
  await database.write(async tx => {
    await tx.run(addAccount, {});
    for (const id of ['key', 'two']) await tx.run(addKey, { id });
  });
}

function keyDayLeft(verdict: Verdict): number {
  return Number(/"key-day";r=(\d+)/.exec(verdictFields(verdict)['RateLimit']!)![1]);
}

const addAccount = query(db =>
  db.insertInto('accounts').values({ id: 1, email: 'a@example.org', name: 'A', plan: 'free', admin: 0, created_at: 0 }),
);
const addKey = query((db, p: Params<{ id: string }>) =>
  db
    .insertInto('keys')
    .values({ id: p.id, account_id: 1, deployment: 'production', hash: '', scopes: '*', created_at: 0 }),
);
