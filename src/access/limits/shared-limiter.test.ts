import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { countedCaller as caller, verdictFields as fields } from '../../../test/support/counted-caller.ts';
import { type Engine, onEachEngine, onPostgres, silent } from '../../../test/support/engines.ts';
import { describeUnless } from '../../../test/support/selection.ts';
import { ValkeyServer, valkeyUrl, withoutValkey, withoutValkeyServer } from '../../../test/support/valkey-server.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { UserError } from '../../lib/user-error.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Params, query } from '../../model/schema.ts';
import { liftBan, listBans } from './bans.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { openLimiter } from './open.ts';
import { classicSubject } from './subject.ts';

const seconds = () => Math.ceil(Date.now() / 1000);

describeUnless(withoutValkey, 'counts that nodes share', () =>
  onEachEngine(engine => {
    test('accepts exactly 60 of 200 parallel requests over two nodes', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 2);
      const verdicts = await Promise.all(Array.from({ length: 200 }, (_, i) => nodes[i % 2]!.count(caller())));
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 60);
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'limited').length, 140);
      assert.equal(nodes[0]!.health().counts, 'exact');
    });

    test('returns the same first response as a single node', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 1);
      const before = seconds();
      const { RateLimit: both, 'X-RateLimit-Reset': reset, ...first } = fields(await nodes[0]!.count(caller()));
      assert.deepEqual(first, {
        outcome: 'accepted',
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '59',
        'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      });
      assert.ok(Number(reset) >= before + 60 && Number(reset) <= seconds() + 60);
      assert.match(both!, /^"minute";r=59;t=60, "day";r=999;t=\d+$/);
    });

    test('shares both windows between nodes and counts no rejected request', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 2);
      const limits = { perMinute: 60, perDay: 5 };
      const outcomes: string[] = [];
      for (let i = 0; i < 7; i++) outcomes.push((await nodes[i % 2]!.count(caller({ limits }))).outcome);
      assert.deepEqual(outcomes, [...new Array(5).fill('accepted'), 'limited', 'limited']);
      const refused = fields(await nodes[0]!.count(caller({ limits })));
      const midnight = (Math.floor(Date.now() / 86_400_000) + 1) * 86_400;
      assert.equal(refused['X-RateLimit-Reset'], `${midnight}`);
      assert.match(refused.RateLimit!, /^"minute";r=55;/);
      const wait = Number(refused['Retry-After']);
      assert.ok(Math.abs(wait - (midnight - Date.now() / 1000)) <= 2);
      assert.match(fields(await nodes[1]!.count(caller())).RateLimit!, /^"minute";r=54;.*"day";r=994;/);
    });

    test('shows what is left on every node without counting, also before the first request of a day', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 2);
      const { account } = caller();
      const left = async (node: number) => {
        const { minuteLeft, dayLeft, minuteReset } = await nodes[node]!.status(account);
        assert.ok(minuteReset > Date.now() / 1000);
        return [minuteLeft, dayLeft];
      };
      assert.deepEqual(
        [await left(0), await left(0)],
        [
          [60, 1000],
          [60, 1000],
        ],
      );
      for (let i = 0; i < 3; i++) await nodes[0]!.count(caller());
      assert.deepEqual(
        [await left(0), await left(1)],
        [
          [57, 997],
          [57, 997],
        ],
      );
      assert.match(fields(await nodes[1]!.count(caller())).RateLimit!, /^"minute";r=56;.*"day";r=996;/);
    });

    test('reverses counts of any node, and accepts as many other requests', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 2);
      const limits = { perMinute: 60, perDay: 10 };
      const count = (node: number) => nodes[node]!.count(caller({ limits }));
      const counted = [await count(0), await count(1), await count(0), await count(1)];
      const left: (string | undefined)[] = [];
      for (const [i, { at }] of counted.entries()) {
        left.push(fields(await nodes[i % 2]!.uncount(caller({ limits }), at)).RateLimit);
      }
      for (const [i, shown] of left.entries()) assert.match(shown!, new RegExp(`r=${57 + i};.*"day";r=${7 + i};`));
      const outcomes = [];
      for (let i = 0; i < 12; i++) outcomes.push((await count(i % 2)).outcome);
      assert.deepEqual(outcomes, [...new Array(10).fill('accepted'), 'limited', 'limited']);
    });

    test('shares address counts between nodes and reports them without counting', async () => {
      const { nodes } = await begin(engine, valkeyUrl, 2);
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, (_, i) => nodes[i % 2]!.countAddress('192.0.2.1')),
      );
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 60);
      assert.equal((await nodes[0]!.countAddress('192.0.2.1')).outcome, 'limited');
      assert.equal(fields(nodes[0]!.addressStatus('192.0.2.1'))['X-RateLimit-Remaining'], '0');
    });

    test('keeps both windows when nodes stop or are killed', async () => {
      const { nodes, database } = await begin(engine, valkeyUrl, 2);
      for (let i = 0; i < 10; i++) await nodes[i % 2]!.count(caller());
      await nodes[0]!.close();
      // The other node has ended without closing.
      for (let i = 0; i < 2; i++) {
        const next = await openLimiter({ database, clock: systemClock(), log: silent, valkeyUrl });
        opened.push(next);
        assert.match(
          fields(await next.count(caller())).RateLimit!,
          new RegExp(`"minute";r=${49 - i};.*"day";r=${989 - i};`),
        );
      }
    });

    test('applies, stores and lifts a ban on both nodes', async () => {
      const { nodes, database } = await begin(engine, valkeyUrl, 2);
      for (let i = 0; i < 61; i++) await nodes[0]!.count(caller());
      await pause(2050);
      const outcomes: string[] = [];
      let last: Verdict | undefined;
      for (let i = 0; i < 20; i++) {
        last = await nodes[i % 2]!.count(caller());
        outcomes.push(last.outcome);
      }
      assert.deepEqual(outcomes, [...new Array(19).fill('limited'), 'banned']);
      assert.equal((await nodes[1]!.count(caller())).outcome, 'banned');
      assert.equal((await nodes[1]!.count(caller({ keyId: 'two' }))).outcome, 'limited');
      const [ban] = await listBans(database, Date.now());
      assert.equal(ban?.keyId, 'key');
      assert.equal(fields(last!)['X-RateLimit-Reset'], `${ban!.until / 1000}`);
      const told = async () => (await eventsOf(database, 'ban', 1)).map(({ action }) => action);
      assert.deepEqual(await told(), ['imposed']);
      await database.write(tx => liftBan(tx, 'key'));
      assert.deepEqual(await told(), ['imposed', 'lifted']);
      for (const node of nodes) {
        while ((await node.count(caller())).outcome === 'banned') await pause(20);
      }
    });

    test('shares the windows of a network without a key, and never bans it', async () => {
      const { nodes, database } = await begin(engine, valkeyUrl, 2);
      const account = classicSubject('192.0.2.1', { perMinute: 5, perDay: 100 });
      const network = { keyId: account.name, account, budget: undefined, neverBanned: true } as const;
      const count = async (i: number) => (await nodes[i % 2]!.count(network)).outcome;
      for (let i = 0; i < 5; i++) assert.equal(await count(i), 'accepted');
      assert.equal(await count(0), 'limited');
      await pause(2050);
      for (let i = 0; i < 30; i++) assert.equal(await count(i), 'limited');
      assert.deepEqual(await listBans(database, Date.now()), []);
    });

    test('bans no key beside another that floods the account, whichever node they reach', async () => {
      const { nodes, database } = await begin(engine, valkeyUrl, 2);
      const count = async (keyId: string, i: number) => (await nodes[i % 2]!.count(caller({ keyId }))).outcome;
      for (let i = 0; i < 40; i++) assert.equal(await count('key', i), 'accepted');
      for (let i = 0; i < 20; i++) assert.equal(await count('two', i), 'accepted');
      for (const keyId of ['key', 'two']) assert.equal(await count(keyId, 0), 'limited');
      await pause(2050);
      for (let i = 0; i < 50; i++) {
        for (const keyId of ['key', 'two']) assert.equal(await count(keyId, i), 'limited');
      }
      assert.deepEqual(await listBans(database, Date.now()), []);
    });
  }),
);

describeUnless(withoutValkeyServer, 'when Valkey goes away', () => {
  let server: ValkeyServer;
  const own = (name: string, work: () => Promise<void>) =>
    test(name, async () => {
      server = await ValkeyServer.start();
      try {
        await work();
      } finally {
        await server.kill();
      }
    });

  onEachEngine(engine => {
    own('goes on with its own counts, says so once, and returns by itself with what was counted', async () => {
      const { nodes, lines } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      for (let i = 0; i < 20; i++) assert.equal((await node.count(caller())).outcome, 'accepted');
      await server.kill();
      for (let i = 0; i < 10; i++) assert.equal((await node.count(caller())).outcome, 'accepted');
      assert.equal(node.health().counts, 'local');
      assert.equal(lines.length, 1);
      await server.start();
      await untilRejoined(node, lines);
      assert.equal(lines.length, 2);
      // 30 are counted, although Valkey has lost its data; for the day at least as many.
      assert.equal(fields(await node.count(caller()))['X-RateLimit-Remaining'], '29');
      const left = dayLeft(await node.count(caller()));
      assert.ok(left <= 1000 - 32 && left >= 1000 - 32 - 10, String(left));
    });

    own('does not count again what was taken back', async () => {
      const { nodes, lines } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      const takeBack = async (times: number) => {
        for (let i = 0; i < times; i++) await node.uncount(caller(), (await node.count(caller())).at);
      };
      await node.count(caller());
      await takeBack(300);
      await server.kill();
      await takeBack(300);
      await server.start();
      await untilRejoined(node, lines);
      await takeBack(300);
      const verdict = await node.count(caller());
      assert.equal(fields(verdict)['X-RateLimit-Remaining'], '58');
      assert.ok(dayLeft(verdict) <= 998 && dayLeft(verdict) >= 998 - 10, String(dayLeft(verdict)));
    });

    own('what was counted in two outages stands on disk, and in Valkey', async () => {
      const { nodes, database } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      for (let outage = 1; outage <= 2; outage++) {
        await node.count(caller());
        await server.kill();
        for (let i = 0; i < 20; i++) await node.count(caller());
        const rows = await database.all(dayRows, {});
        const own = rows.find(row => row.node !== 'shared')!;
        assert.ok(own.reserved >= 20 * outage, `${own.reserved} are reserved`);
        await server.start();
        while (node.health().counts === 'local') await pause(20);
      }
      assert.ok(dayLeft(await node.count(caller())) <= 1000 - 43);
    });

    own('the first request after the loss is answered in time, later ones at once', async () => {
      const { nodes } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      await node.count(caller());
      server.freeze();
      const both = await Promise.all([node.count(caller()), node.countAddress('192.0.2.1')]);
      assert.deepEqual(
        both.map(({ outcome }) => outcome),
        ['accepted', 'accepted'],
      );
      assert.equal(node.health().counts, 'local');
      assert.ok(!(node.countAddress('192.0.2.1') instanceof Promise));
      assert.ok(!(node.count(caller()) instanceof Promise));
      server.thaw();
      while (node.health().counts === 'local') await pause(20);
      // It is unknown whether Valkey has counted the request whose reply was late.
      assert.ok([995, 996].includes(dayLeft(await node.count(caller()))));
    });

    own('starts without Valkey, and joins it once it is there', async () => {
      await server.kill();
      const { nodes, lines } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      assert.equal((await node.count(caller())).outcome, 'accepted');
      assert.equal(lines.length, 1);
      await server.start();
      while (node.health().counts === 'local') await pause(20);
      assert.equal(fields(await node.count(caller()))['X-RateLimit-Remaining'], '58');
    });

    own('refuses to start while Valkey evicts keys, and keeps the counts for the next start', async () => {
      await server.kill();
      const { nodes, database } = await begin(engine, server.url, 1);
      await nodes[0]!.count(caller());
      await nodes[0]!.close();
      await server.start('--maxmemory', '100mb', '--maxmemory-policy', 'volatile-ttl');
      const open = () => openLimiter({ database, clock: systemClock(), log: silent, valkeyUrl: server.url });
      await assert.rejects(open(), (error: Error) => {
        assert.equal(
          error.message,
          `The Valkey server at ${new URL(server.url).host} evicts keys when its memory is full (maxmemory-policy volatile-ttl), and request counts with them: set its maxmemory-policy to noeviction.`,
        );
        return error instanceof UserError;
      });
      await server.kill();
      await server.start('--maxmemory-policy', 'volatile-ttl');
      const [node] = opened.splice(0, 1, await open());
      assert.equal(node, nodes[0]);
      assert.equal(fields(await opened[0]!.count(caller()))['X-RateLimit-Remaining'], '58');
    });

    own('counts alone while a Valkey that came back evicts keys', async () => {
      const { nodes, lines } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      await node.count(caller());
      await server.kill();
      await node.count(caller());
      await server.start('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
      while (lines.length < 2) await pause(20);
      assert.match(lines[1]!, /allkeys-lru.* set its maxmemory-policy to noeviction\. Until then/);
      assert.equal(node.health().counts, 'local');
      await server.kill();
      await server.start();
      while (node.health().counts === 'local') await pause(20);
      assert.equal(fields(await node.count(caller()))['X-RateLimit-Remaining'], '57');
    });

    own('warns once if the user of Valkey may not read the policy', async () => {
      await server.kill();
      await server.start('--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', '-info');
      const { lines } = await begin(engine, server.url, 1);
      assert.equal(lines.length, 1);
      assert.match(lines[0]!, /does not show its maxmemory-policy: make sure that it is noeviction/);
    });

    own('no key is banned for what another key used before it was away', async () => {
      const { nodes } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      for (let i = 0; i < 20; i++) await node.count(caller({ keyId: 'two' }));
      await server.kill();
      for (let i = 0; i < 41; i++) await node.count(caller());
      await pause(2050);
      for (let i = 0; i < 25; i++) assert.equal((await node.count(caller())).outcome, 'limited');
      await server.start();
      while (node.health().counts === 'local') await pause(20);
      for (let i = 0; i < 25; i++) assert.equal((await node.count(caller())).outcome, 'limited');
    });

    own('a ban begun while it was away goes on when it is back', async () => {
      const { nodes } = await begin(engine, server.url, 1);
      const [node] = nodes as [Limiter];
      await server.kill();
      for (let i = 0; i < 61; i++) await node.count(caller());
      await pause(2050);
      for (let i = 0; i < 19; i++) await node.count(caller());
      assert.equal((await node.count(caller())).outcome, 'banned');
      await server.start();
      while (node.health().counts === 'local') await pause(20);
      assert.equal((await node.count(caller())).outcome, 'banned');
    });
  });

  onPostgres(engine => {
    own('each of two nodes goes on with half of every limit', async () => {
      const { nodes } = await begin(engine, server.url, 2);
      await pause(1200);
      await server.kill();
      for (const node of nodes) {
        const verdicts = await Promise.all(Array.from({ length: 100 }, () => node.count(caller())));
        assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 30);
        assert.match(fields(verdicts[0]!)['RateLimit-Policy']!, /"minute";q=30;w=60, "day";q=500;w=86400/);
        const addresses = await Promise.all(Array.from({ length: 100 }, () => node.countAddress('192.0.2.1')));
        assert.equal(addresses.filter(({ outcome }) => outcome === 'accepted').length, 30);
      }
      await server.start();
      for (const node of nodes) while (node.health().counts === 'local') await pause(20);
      assert.equal((await nodes[0]!.count(caller())).outcome, 'limited');
      assert.equal((await nodes[1]!.countAddress('192.0.2.1')).outcome, 'limited');
    });
  });
});

describe('nodes on one database', () => {
  onPostgres(engine => {
    test('rejects other nodes while one counts alone', async () => {
      const location = await engine.newLocation();
      const [one, two] = [await engine.open({ location }), await engine.open({ location })];
      const first = await openLimiter({ database: one, clock: systemClock(), log: silent });
      await assert.rejects(openLimiter({ database: two, clock: systemClock(), log: silent }), /PETSTORE_VALKEY_URL/);
      await assert.rejects(
        openLimiter({ database: two, clock: systemClock(), log: silent, valkeyUrl }),
        /PETSTORE_VALKEY_URL/,
      );
      await first.close();
      await one.close();
      await (await openLimiter({ database: two, clock: systemClock(), log: silent })).close();
    });
  });
});

/** Limiters of several nodes on one empty database. */
async function begin(engine: Engine, url: string, count: number) {
  const clock = systemClock();
  const database = await engine.open({ clock });
  await database.write(async tx => {
    await tx.run(addAccount, {});
    for (const id of ['key', 'two']) await tx.run(addKey, { id });
  });
  const lines: string[] = [];
  const nodes: Limiter[] = [];
  for (let i = 0; i < count; i++) {
    nodes.push(await openLimiter({ database, clock, log: recording(lines), valkeyUrl: url }));
  }
  opened.push(...nodes);
  return { database, nodes, lines };
}

const opened: Limiter[] = [];
afterEach(async () => {
  for (const limiter of opened.splice(0)) await limiter.close();
});

function dayLeft(verdict: Verdict): number {
  return Number(/"day";r=(\d+)/.exec(fields(verdict).RateLimit!)![1]);
}

/** Waits until a node counts in Valkey again and has stored its own counts: only then does it log that. */
async function untilRejoined(node: Limiter, lines: readonly string[]): Promise<void> {
  while (node.health().counts === 'local' || lines.length < 2) await pause(20);
}

function recording(lines: string[]): Log {
  const note = (...said: unknown[]) => void lines.push(String(said.at(-1)));
  return { info: note, warn: note, error: note };
}

const dayRows = query(db => db.selectFrom('day_counts').select(['node', 'reserved']));
const addAccount = query(db =>
  db.insertInto('accounts').values({ id: 1, email: 'a@example.org', name: 'A', plan: 'free', admin: 0, created_at: 0 }),
);
const addKey = query((db, p: Params<{ id: string }>) =>
  db
    .insertInto('keys')
    .values({ id: p.id, account_id: 1, deployment: 'production', hash: '', scopes: '*', created_at: 0 }),
);
