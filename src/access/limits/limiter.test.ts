import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { countedCaller as caller, verdictFields as fields } from '../../../test/support/counted-caller.ts';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { long } from '../../../test/support/selection.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { testClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Limits, plans } from '../../model/plan.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { type BanEventData, liftBan, listBans } from './bans.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { openLimiter } from './open.ts';

/** 2026-03-04 12:00:00.250 UTC: half a day before midnight, and a quarter into a second. */
const noon = Date.UTC(2026, 2, 4, 12) + 250;
const today = Math.floor(noon / 86_400_000);
const second = Math.ceil(noon / 1000);
const midnight = Date.UTC(2026, 2, 5) / 1000;
const HOUR_MS = 3_600_000;

onEachEngine(engine => {
  describe('response headers', () => {
    test('returns 60, 59 and the reset of the minute for the first request on Free', async () => {
      const { count } = await begin(engine);
      assert.deepEqual(fields(await count()), {
        outcome: 'accepted',
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '59',
        'X-RateLimit-Reset': `${second + 60}`,
        'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
        RateLimit: `"minute";r=59;t=60, "day";r=999;t=${midnight - second + 1}`,
      });
    });

    test('accepts exactly 60 of 200 parallel requests on Free and returns the retry time to the others', async () => {
      const { limiter } = await begin(engine);
      const verdicts = await Promise.all(Array.from({ length: 200 }, () => limiter.count(caller())));
      assert.equal(verdicts.filter(({ outcome }) => outcome === 'accepted').length, 60);
      assert.deepEqual(fields(verdicts[199]!), {
        outcome: 'limited',
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': `${second + 60}`,
        'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
        RateLimit: `"minute";r=0;t=61, "day";r=940;t=${midnight - second + 1}`,
        'Retry-After': '61',
      });
    });

    test('accepts a request at Reset and rejects one a millisecond earlier', async () => {
      const { clock, count } = await begin(engine);
      for (let i = 0; i < 60; i++) await count();
      const reset = Number(fields(await count())['X-RateLimit-Reset']);
      clock.advance(reset * 1000 - clock.now() - 1);
      assert.equal((await count()).outcome, 'limited');
      clock.advance(1);
      assert.equal((await count()).outcome, 'accepted');
    });

    test('shows what is left of both windows without counting', async () => {
      const { limiter, clock, count } = await begin(engine);
      const left = async () => {
        const { minuteLeft, minuteReset, dayLeft, dayReset } = await limiter.status(caller().account);
        return [minuteLeft, minuteReset, dayLeft, dayReset];
      };
      assert.deepEqual(await left(), [60, second + 60, 1000, midnight]);
      for (let i = 0; i < 3; i++) await count();
      assert.deepEqual(await left(), [57, second + 60, 997, midnight]);
      assert.deepEqual(await left(), [57, second + 60, 997, midnight]);
      clock.advance(61_000);
      assert.deepEqual((await left()).slice(0, 3), [60, second + 121, 997]);
    });

    test('reverses a count in both windows, with the reset of the remaining requests', async () => {
      const { limiter, clock, count } = await begin(engine);
      const first = await count();
      clock.advance(5000);
      const second = await count();
      const left = async (verdict: Verdict) => fields(await limiter.uncount(caller(), verdict.at));
      const { 'X-RateLimit-Reset': reset, RateLimit: both } = await left(first);
      assert.equal(reset, String(Math.ceil(second.at / 1000) + 60));
      assert.match(both!, /r=59;.*"day";r=999;/);
      assert.equal((await left(second))['X-RateLimit-Remaining'], '60');
      assert.equal((await left(second))['X-RateLimit-Remaining'], '60');
      clock.advance(86_400_000);
      await count();
      assert.match((await left(second)).RateLimit!, /r=59;.*"day";r=999;/);
    });

    test('reverses counts without changing the violations', async () => {
      const { limiter, clock, count } = await begin(engine);
      const limits = { perMinute: 1, perDay: 1000 };
      const counted = await count(limits);
      await count(limits);
      clock.advance(3000);
      for (let i = 0; i < 19; i++) assert.equal((await count(limits)).outcome, 'limited');
      await limiter.uncount(caller({ limits }), counted.at);
      await limiter.uncount(caller({ limits }), (await count(limits)).at);
      await count(limits);
      await count(limits);
      clock.advance(3000);
      assert.equal((await count(limits)).outcome, 'banned');
    });

    test('shows the day if it has fewer requests left than the minute', async () => {
      const { count } = await begin(engine);
      const { 'X-RateLimit-Limit': limit, ...shown } = fields(await count({ perMinute: 60, perDay: 10 }));
      assert.equal(limit, '10');
      assert.equal(shown['X-RateLimit-Remaining'], '9');
      assert.equal(shown['X-RateLimit-Reset'], `${midnight}`);
    });

    test('shows the minute if both have the same number left', async () => {
      const { count } = await begin(engine);
      assert.equal(fields(await count({ perMinute: 7, perDay: 7 }))['X-RateLimit-Reset'], `${second + 60}`);
    });

    test('shows the window with the longer wait if both are exhausted', async () => {
      const { count } = await begin(engine);
      const limits = { perMinute: 3, perDay: 3 };
      for (let i = 0; i < 3; i++) await count(limits);
      const refused = fields(await count(limits));
      assert.equal(refused['X-RateLimit-Reset'], `${midnight}`);
      assert.equal(refused['Retry-After'], `${midnight - second + 1}`);
      assert.equal(refused.RateLimit, `"minute";r=0;t=61, "day";r=0;t=${midnight - second + 1}`);
    });

    test('returns the time of the next accepted request after a plan was lowered below the count', async () => {
      const { clock, count } = await begin(engine);
      const pro = plans.pro.limits;
      for (let i = 0; i < 5; i++) {
        for (let n = 0; n < 20; n++) await count(pro);
        clock.advance(1000);
      }
      const refused = fields(await count(plans.free.limits));
      // 100 are counted; 59 or fewer remain once the third twenty have left the window.
      assert.equal(refused['X-RateLimit-Reset'], `${second + 2 + 60}`);
      clock.advance((second + 62) * 1000 - clock.now() - 1);
      assert.equal((await count()).outcome, 'limited');
      clock.advance(1);
      assert.equal((await count()).outcome, 'accepted');
    });

    test('applies a changed plan to the next request', async () => {
      const { count } = await begin(engine);
      for (let i = 0; i < 61; i++) await count(plans.pro.limits);
      assert.equal((await count(plans.free.limits)).outcome, 'limited');
      assert.equal((await count(plans.pro.limits)).outcome, 'accepted');
    });
  });

  test('matches a naive log of all requests for any sequence and limits', async () => {
    const { limiter, clock } = await begin(engine);
    let accountId = 100;
    await fc.assert(
      fc.asyncProperty(steps, async sequence => {
        accountId++;
        /** The accepted requests: their times, and their times by the clock as it was set later. */
        const accepted: { readonly at: number; bySetClock: number }[] = [];
        const countedAt = (now: number) => ({
          minute: accepted.filter(({ bySetClock }) => (Math.ceil(bySetClock / 1000) + 60) * 1000 > now),
          day: accepted.filter(({ at }) => Math.floor(at / 86_400_000) === Math.floor(now / 86_400_000)),
        });
        const fits = (at: number, { perMinute, perDay }: Limits) => {
          const { minute, day } = countedAt(at);
          return minute.length < perMinute && day.length < perDay;
        };
        for (const [i, { wait, step, limits }] of sequence.entries()) {
          clock.advance(wait);
          clock.step(step);
          for (const request of accepted) request.bySetClock += Math.floor(step / 1000) * 1000;
          const now = clock.now();
          // Each request has a different key, so that no key is banned.
          const said = fields(await limiter.count(caller({ keyId: `${accountId} ${i}`, accountId, limits })));
          assert.equal(said.outcome, fits(now, limits) ? 'accepted' : 'limited');
          const endOfDay = (Math.floor(now / 86_400_000) + 1) * 86_400;
          if (said.outcome === 'accepted') {
            accepted.push({ at: now, bySetClock: now });
            const { minute, day } = countedAt(now);
            const [minuteLeft, left] = [limits.perMinute - minute.length, limits.perDay - day.length];
            const backAt = Math.ceil(minute[0]!.bySetClock / 1000) + 60;
            assert.equal(said['X-RateLimit-Limit'], `${minuteLeft <= left ? limits.perMinute : limits.perDay}`);
            assert.equal(said['X-RateLimit-Remaining'], `${Math.min(minuteLeft, left)}`);
            assert.equal(said['X-RateLimit-Reset'], `${minuteLeft <= left ? backAt : endOfDay}`);
            assert.equal(said['Retry-After'], undefined);
          } else {
            let at = Math.floor(now / 1000) + 1;
            if (!fits(Math.min(at + 61, endOfDay - 1) * 1000, limits)) at = endOfDay;
            while (!fits(at * 1000, limits)) at++;
            assert.equal(said['X-RateLimit-Remaining'], '0');
            assert.equal(said['X-RateLimit-Reset'], `${at}`);
            assert.equal(said['Retry-After'], `${Math.ceil(at - now / 1000)}`);
          }
        }
      }),
      { numRuns: long ? 3000 : 100 },
    );
  });

  describe('counting', () => {
    test('counts a rejected request in neither window', async () => {
      const { count } = await begin(engine);
      for (let i = 0; i < 100; i++) await count();
      assert.match(fields(await count()).RateLimit!, /"day";r=940;/);
    });

    test('shares counts between the keys of an account, not between deployments', async () => {
      const { limiter } = await begin(engine);
      await limiter.count(caller({ keyId: 'one' }));
      assert.equal(fields(await limiter.count(caller({ keyId: 'two' })))['X-RateLimit-Remaining'], '58');
      assert.equal(fields(await limiter.count(caller({ deployment: 'staging' })))['X-RateLimit-Remaining'], '59');
      assert.equal(fields(await limiter.count(caller({ accountId: 2 })))['X-RateLimit-Remaining'], '59');
    });

    test('resets the day at midnight UTC, not the minute', async () => {
      const { clock, count } = await begin(engine, midnight * 1000 - 1000);
      const limits = { perMinute: 60, perDay: 2 };
      await count(limits);
      await count(limits);
      assert.equal(fields(await count(limits))['X-RateLimit-Reset'], `${midnight}`);
      clock.advance(1000);
      assert.equal(fields(await count(limits)).RateLimit, `"minute";r=57;t=59, "day";r=1;t=86400`);
    });
  });

  describe('addresses', () => {
    test('have 60 requests a minute and no day limit', async () => {
      const { limiter } = await begin(engine);
      assert.deepEqual(fields(await limiter.countAddress('192.0.2.1')), {
        outcome: 'accepted',
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '59',
        'X-RateLimit-Reset': `${second + 60}`,
        'RateLimit-Policy': '"minute";q=60;w=60',
        RateLimit: '"minute";r=59;t=60',
      });
      for (let i = 1; i < 60; i++) await limiter.countAddress('192.0.2.1');
      const refused = await limiter.countAddress('192.0.2.1');
      assert.equal(refused.outcome, 'limited');
      assert.equal(fields(refused)['Retry-After'], '61');
    });

    test('reports the state without counting', async () => {
      const { limiter, clock } = await begin(engine);
      assert.equal(fields(limiter.addressStatus('192.0.2.1'))['X-RateLimit-Remaining'], '60');
      assert.equal(fields(limiter.addressStatus('192.0.2.1'))['X-RateLimit-Reset'], `${second + 60}`);
      await limiter.countAddress('192.0.2.1');
      clock.advance(5000);
      const shown = fields(limiter.addressStatus('192.0.2.1'));
      assert.equal(shown['X-RateLimit-Remaining'], '59');
      assert.equal(shown['X-RateLimit-Reset'], `${second + 60}`);
    });
  });

  describe('when the clock is set ahead by an hour', () => {
    test('keeps the counts of the minute, and returns resets by the new time', async () => {
      const { limiter, clock, count } = await begin(engine);
      for (let i = 0; i < 60; i++) {
        await count();
        await limiter.countAddress('192.0.2.1');
      }
      clock.advance(10_000);
      clock.step(HOUR_MS);
      const refused = fields(await count());
      assert.equal(refused.outcome, 'limited');
      assert.equal(refused['X-RateLimit-Reset'], `${second + 60 + 3600}`);
      assert.equal(refused['Retry-After'], '51');
      assert.ok(limiter.hasRejections('192.0.2.1'));
      assert.ok(!limiter.hasRejections('192.0.2.2'));
      clock.advance(50_749);
      assert.equal((await count()).outcome, 'limited');
      assert.equal((await limiter.countAddress('192.0.2.1')).outcome, 'limited');
      clock.advance(1);
      assert.ok(!limiter.hasRejections('192.0.2.1'));
      assert.equal((await count()).outcome, 'accepted');
      assert.equal((await limiter.countAddress('192.0.2.1')).outcome, 'accepted');
    });

    test('continues a run of violations', async () => {
      const { clock, count } = await begin(engine);
      for (let i = 0; i < 61; i++) await count();
      clock.advance(2001);
      for (let i = 0; i < 10; i++) await count();
      clock.step(HOUR_MS);
      for (let i = 0; i < 9; i++) assert.equal((await count()).outcome, 'limited');
      assert.equal((await count()).outcome, 'banned');
    });

    test('starts the day that the clock says, and no minute', async () => {
      const { clock, count } = await begin(engine, midnight * 1000 - 1000);
      const limits = { perMinute: 60, perDay: 2 };
      await count(limits);
      await count(limits);
      clock.step(HOUR_MS);
      assert.equal(fields(await count(limits)).RateLimit, `"minute";r=57;t=60, "day";r=1;t=${86_400 - 3599}`);
    });

    test('saves the minute for the next start, also if the clock is set back before that', async () => {
      const one = await begin(engine);
      for (let i = 0; i < 60; i++) await one.count();
      one.clock.step(HOUR_MS);
      await one.limiter.close();
      const next = await one.reopen();
      assert.equal((await next.count()).outcome, 'limited');
      await next.limiter.close();
      const earlier = await on(one.database, testClock(noon));
      const refused = fields(await earlier.count());
      assert.deepEqual([refused.outcome, refused['Retry-After']], ['limited', '61']);
    });
  });

  describe('across restarts', () => {
    test('keeps both windows of accounts and the minute of addresses after a clean restart', async () => {
      const { limiter, clock, count, reopen } = await begin(engine);
      for (let i = 0; i < 7; i++) await count();
      await limiter.countAddress('192.0.2.1');
      clock.advance(10_000);
      for (let i = 0; i < 3; i++) await count();
      await limiter.close();
      clock.advance(5000);
      const next = await reopen();
      const verdict = fields(await next.limiter.count(caller()));
      assert.equal(verdict['X-RateLimit-Remaining'], '49');
      assert.equal(verdict['X-RateLimit-Reset'], `${second + 60}`);
      assert.match(verdict.RateLimit!, /"day";r=989;/);
      assert.equal(fields(next.limiter.addressStatus('192.0.2.1'))['X-RateLimit-Remaining'], '59');
      assert.deepEqual(await next.database.all(minuteRows, {}), []);
    });

    for (const [limits, requests] of [
      [{ perMinute: 1000, perDay: 1000 }, 150],
      [{ perMinute: 60, perDay: 1000 }, 20],
      [{ perMinute: 50, perDay: 50 }, 12],
      [{ perMinute: 1_000_000, perDay: 1_000_000_000 }, 300],
    ] as const) {
      const { perMinute, perDay } = limits;
      test(`loses no counted request of ${perDay} and at most 1 % of the day per kill, with ${perMinute} a minute`, async () => {
        let one = await begin(engine);
        for (let round = 0, used = 0; round < 3; round++, one = await one.reopen()) {
          const lost = perDay - dayLeft(await one.count(limits)) - 1 - used;
          assert.ok(lost >= 0 && lost <= Math.max(1, perDay / 100), `${lost} lost`);
          if (round > 0) assert.ok(lost <= Math.max(100, 2 * requests), 'no more than twice what was sent before');
          used += lost + requests;
          for (let i = 1; i < requests; i++)
            assert.equal(dayLeft(await one.count(limits)), perDay - used + requests - 1 - i);
          const { reserved } = (await one.database.all(dayRows, {}))[0]!;
          assert.ok(reserved >= used, 'every counted request is on disk');
        }
      });
    }

    test('reserves for slow accounts before a request needs it', async () => {
      const { limiter, count, database } = await begin(engine);
      const limits = { perMinute: 50, perDay: 50 };
      await count(limits);
      for (let i = 1; i < 10; i++) {
        await soon(limiter.count(caller({ limits })));
        await waitUntil(async () => (await database.all(dayRows, {}))[0]!.reserved > i + 1);
      }
    });

    test('never reserves more than the day limit', async () => {
      const { count, database } = await begin(engine);
      for (let i = 0; i < 70; i++) await count({ perMinute: 100, perDay: 65 });
      assert.deepEqual(
        (await database.all(dayRows, {})).map(row => row.reserved),
        [65],
      );
    });
  });

  describe('on a full or stalled disk', () => {
    test('counts in memory, logs it once, and recovers', async () => {
      const { database, clock } = await begin(engine);
      const lines: string[] = [];
      let fails = false;
      const limiter = await openLimiter({
        database: writing(database, work =>
          fails ? Promise.reject(new StorageError('full', 'The disk is full.')) : database.write(work),
        ),
        clock,
        log: recording(lines),
      });
      fails = true;
      for (let i = 0; i < 60; i++) assert.equal((await limiter.count(caller())).outcome, 'accepted');
      assert.equal((await limiter.count(caller())).outcome, 'limited');
      assert.equal(limiter.health().day, 'memory');
      assert.equal(lines.length, 1);
      fails = false;
      while (limiter.health().day === 'memory') await pause(10);
      assert.equal(lines.length, 2);
      assert.ok((await database.all(dayRows, {}))[0]!.reserved >= 60);
    });

    test('delays only the first request when a flush stalls', async () => {
      const { database, clock } = await begin(engine);
      let stalls = false;
      const limiter = await openLimiter({
        database: writing(database, work => (stalls ? new Promise(() => {}) : database.write(work))),
        clock,
        log: silent,
      });
      stalls = true;
      assert.equal((await limiter.count(caller())).outcome, 'accepted');
      assert.equal(limiter.health().day, 'memory');
      for (let i = 1; i < 60; i++) assert.equal((await soon(limiter.count(caller()))).outcome, 'accepted');
      assert.equal((await soon(limiter.count(caller()))).outcome, 'limited');
      clock.advance(3000);
      for (let i = 1; i < 20; i++) await soon(limiter.count(caller()));
      assert.equal((await limiter.count(caller())).outcome, 'banned');
      assert.equal((await soon(limiter.count(caller()))).outcome, 'banned');
    });

    test('delays only the first request when a read stalls', async () => {
      const { database, clock } = await begin(engine);
      await database.write(tx => tx.run(addDay, { day: today }));
      let stalls = false;
      const limiter = await openLimiter({
        database: {
          ...writing(database, work => database.write(work)),
          all: (q, p) => (stalls ? new Promise(() => {}) : database.all(q, p)),
        },
        clock,
        log: silent,
      });
      stalls = true;
      assert.equal((await limiter.count(caller())).outcome, 'accepted');
      assert.match(fields(await soon(limiter.count(caller()))).RateLimit!, /"day";r=998;/);
      stalls = false;
      clock.advance(1000);
      while (/"day";r=9/.test(fields(await limiter.count(caller())).RateLimit!)) await pause(10);
      while (limiter.health().day === 'memory') await pause(10);
    });
  });

  describe('bans', () => {
    /**
     * Uses up the minute, and sends `times` further requests, one per second, starting 3 s after the first rejection.
     */
    async function violate(one: Begun, times: number): Promise<Verdict> {
      for (let i = 0; i < 60; i++) await one.count();
      let last = await one.count();
      one.clock.advance(2001);
      for (let i = 0; i < times; i++) {
        if (i > 0) one.clock.advance(1000);
        last = await one.count();
      }
      return last;
    }

    test('bans the key for a minute at the 20th violation within 60 s', async () => {
      const one = await begin(engine);
      const last = fields(await violate(one, 20));
      const bannedAt = one.clock.now();
      assert.equal(last.outcome, 'banned');
      assert.equal(last['X-RateLimit-Remaining'], '0');
      assert.equal(last['X-RateLimit-Reset'], `${Math.ceil(bannedAt / 1000) + 60}`);
      assert.equal(last['Retry-After'], '61');
      const [ban] = await listBans(one.database, bannedAt);
      assert.equal(ban?.keyId, 'key');
      assert.equal(ban?.accountId, 1);
      assert.equal(ban?.step, 0);
      one.clock.advance(Number(last['X-RateLimit-Reset']) * 1000 - bannedAt - 1);
      assert.equal((await one.count()).outcome, 'banned');
      one.clock.advance(1);
      assert.equal((await one.count()).outcome, 'accepted');
    });

    test('does not ban after 19 violations or a burst of requests in flight', async () => {
      const one = await begin(engine);
      assert.equal((await violate(one, 19)).outcome, 'limited');
      const other = await begin(engine);
      for (let i = 0; i < 200; i++) await other.count();
      other.clock.advance(2000);
      for (let i = 0; i < 200; i++) assert.notEqual((await other.count()).outcome, 'banned');
    });

    test('neither extends the ban nor counts requests during it', async () => {
      const one = await begin(engine);
      const last = fields(await violate(one, 20));
      for (let i = 0; i < 50; i++) {
        one.clock.advance(1000);
        assert.equal(fields(await one.count())['X-RateLimit-Reset'], last['X-RateLimit-Reset']);
      }
      one.clock.advance(15_000);
      assert.match(fields(await one.count()).RateLimit!, /"day";r=939;/);
    });

    test('bans one key of an account, not the others', async () => {
      const one = await begin(engine);
      await violate(one, 20);
      assert.equal((await one.limiter.count(caller({ keyId: 'two' }))).outcome, 'limited');
    });

    test('does not ban a key beside another that floods the account, however many requests it had before', async () => {
      for (const before of [1, 40, 59]) {
        const one = await begin(engine);
        const count = async (keyId: string) => (await one.limiter.count(caller({ keyId }))).outcome;
        for (let i = 0; i < before; i++) await count('own');
        for (let i = before; i < 60; i++) await count('leaked');
        const outcomes = new Set<string>();
        for (let i = 0; i < 59; i++) {
          outcomes.add(await count('leaked'));
          outcomes.add(await count('own'));
          one.clock.advance(1000);
        }
        assert.deepEqual(outcomes, new Set(['limited']));
      }
    });

    test('does not ban a key on a day that another key has used too', async () => {
      const one = await begin(engine, midnight * 1000 - 3 * HOUR_MS);
      const count = async (keyId: string) =>
        (await one.limiter.count(caller({ keyId, limits: { perMinute: 60, perDay: 20 } }))).outcome;
      await count('leaked');
      one.clock.advance(HOUR_MS);
      for (let i = 1; i < 20; i++) assert.equal(await count('own'), 'accepted');
      for (let i = 0; i < 60; i++) {
        assert.equal(await count('own'), 'limited');
        one.clock.advance(1000);
      }
      one.clock.advance(24 * HOUR_MS);
      for (let i = 0; i < 21; i++) await count('own');
      one.clock.advance(3000);
      for (let i = 1; i < 20; i++) assert.equal(await count('own'), 'limited');
      assert.equal(await count('own'), 'banned');
    });

    test('bans a key that used up the account alone since the last request of another key was released', async () => {
      const one = await begin(engine);
      await one.limiter.count(caller({ keyId: 'two' }));
      one.clock.advance(30_000);
      for (let i = 0; i < 59; i++) await one.count();
      for (let i = 0; i < 20; i++) {
        assert.equal((await one.count()).outcome, 'limited');
        one.clock.advance(1000);
      }
      one.clock.advance(12_000);
      assert.equal((await one.count()).outcome, 'accepted');
      assert.equal((await one.count()).outcome, 'limited');
      one.clock.advance(2001);
      for (let i = 1; i < 20; i++) assert.equal((await one.count()).outcome, 'limited');
      assert.equal((await one.count()).outcome, 'banned');
    });

    test('does not ban a key for requests that were counted before a restart, by any key', async () => {
      const one = await begin(engine);
      for (let i = 0; i < 60; i++) await one.limiter.count(caller({ keyId: 'leaked' }));
      await one.limiter.close();
      const { limiter } = await on(one.database, one.clock);
      for (let i = 0; i < 50; i++) {
        assert.equal((await limiter.count(caller())).outcome, 'limited');
        one.clock.advance(1000);
      }
    });

    test('returns the reset of the windows if it is later than the end of the ban', async () => {
      const one = await begin(engine);
      const limits = { perMinute: 60, perDay: 60 };
      for (let i = 0; i < 60; i++) await one.count(limits);
      await one.count(limits);
      one.clock.advance(3000);
      let last = await one.count(limits);
      for (let i = 1; i < 20; i++) last = await one.count(limits);
      assert.equal(last.outcome, 'banned');
      assert.equal(fields(last)['X-RateLimit-Reset'], `${midnight}`);
      assert.equal(fields(last)['X-RateLimit-Limit'], '60');
    });

    test('lengthens each ban up to an hour and shortens it for each day without one', async () => {
      const one = await begin(engine);
      const minutes = async () => {
        const { 'Retry-After': wait, outcome } = fields(await violate(one, 20));
        assert.equal(outcome, 'banned');
        return Math.floor(Number(wait) / 60);
      };
      const wait = (ms: number) => one.clock.advance(ms);
      const seen = [];
      for (const pauseMs of [61_000, 301_000, 901_000, 3_601_000, 86_400_000 + 3_601_000, 3 * 86_400_000 + 901_000]) {
        seen.push(await minutes());
        wait(pauseMs);
      }
      seen.push(await minutes());
      assert.deepEqual(seen, [1, 5, 15, 60, 60, 15, 1]);
    });

    test('keeps bans across restarts and kills', async () => {
      const one = await begin(engine);
      await violate(one, 20);
      const killed = await one.reopen();
      assert.equal((await killed.limiter.count(caller())).outcome, 'banned');
      await killed.limiter.close();
      assert.equal((await (await one.reopen()).limiter.count(caller())).outcome, 'banned');
    });

    test('lifts a ban with effect on the next request, idempotently', async () => {
      const one = await begin(engine);
      await violate(one, 20);
      assert.equal(await one.database.write(tx => liftBan(tx, 'key')), true);
      assert.equal(await one.database.write(tx => liftBan(tx, 'key')), false);
      assert.deepEqual(await listBans(one.database, one.clock.now()), []);
      assert.equal((await one.count()).outcome, 'limited');
      one.clock.advance(60_000);
      assert.equal((await one.count()).outcome, 'accepted');
    });

    /** Returns the events about the account's bans. */
    const told = async ({ database }: Begun) =>
      (await eventsOf<BanEventData>(database, 'ban', 1)).map(({ action, accountId, data }) => ({
        action,
        accountId,
        ...data,
      }));

    test('records the start and the lifting of a ban once each, but not its expiry', async () => {
      const one = await begin(engine);
      await violate(one, 20);
      for (let i = 0; i < 30; i++) await one.count();
      for (let i = 0; i < 2; i++) await one.database.write(tx => liftBan(tx, 'key'));
      const at = (ms: number) => new Date(Math.floor(ms)).toISOString();
      const ban = {
        id: 'key',
        accountId: 1,
        deployment: 'production',
        bannedAt: at(one.clock.now()),
        until: at((Math.ceil(one.clock.now() / 1000) + 60) * 1000),
      };
      assert.deepEqual(await told(one), [
        { action: 'imposed', accountId: null, ban, ownerId: 1 },
        {
          action: 'lifted',
          accountId: null,
          ban: { ...ban, liftedAt: ban.bannedAt },
          was: { liftedAt: null },
          ownerId: 1,
        },
      ]);
      one.clock.advance(90_000);
      await violate(one, 20);
      one.clock.advance(3_600_000);
      assert.equal((await one.count()).outcome, 'accepted');
      assert.deepEqual(
        (await told(one)).map(({ action }) => action),
        ['imposed', 'lifted', 'imposed'],
      );
    });

    test('records a ban once when its write is retried, and keeps it lifted', async () => {
      const { database, clock } = await begin(engine);
      let lost = 0;
      const forgetful = writing(database, async work => {
        const result = await database.write(work);
        // Heartbeats of nodes write without a result.
        if (lost === 0 || result !== undefined || (await eventsOf(database, 'ban', 1)).length === 0) return result;
        lost--;
        await database.write(tx => liftBan(tx, 'key'));
        throw new StorageError('unavailable', 'nobody knows whether it was written');
      });
      const one = await on(forgetful, clock);
      await violate(one, 19);
      lost = 2;
      assert.equal((await one.count()).outcome, 'banned');
      while (one.limiter.health().day === 'memory') await pause(20);
      assert.deepEqual(
        (await told(one)).map(({ action }) => action),
        ['imposed', 'lifted'],
      );
      assert.equal(lost, 0);
      assert.deepEqual(await listBans(database, clock.now()), []);
    });

    test('records the start time of a ban whose first write failed', async () => {
      const { database, clock } = await begin(engine);
      let full = false;
      const one = await on(
        writing(database, work =>
          full ? Promise.reject(new StorageError('full', 'the disk is full')) : database.write(work),
        ),
        clock,
      );
      for (let i = 0; i < 60; i++) await one.count();
      full = true;
      await violate(one, 20);
      const bannedAt = clock.now();
      assert.deepEqual(await told(one), []);
      clock.advance(10_000);
      full = false;
      while (one.limiter.health().day === 'memory') await pause(20);
      const [imposed, ...others] = await told(one);
      assert.deepEqual(others, []);
      assert.deepEqual([imposed!.action, imposed!.at], ['imposed', Math.floor(bannedAt)]);
      assert.equal(imposed!.ban.bannedAt, new Date(Math.floor(bannedAt)).toISOString());
    });

    test('skips the ban of a deleted key', async () => {
      const one = await begin(engine);
      for (let i = 0; i < 61; i++) await one.limiter.count(caller({ keyId: 'gone' }));
      one.clock.advance(3000);
      let last: Verdict | undefined;
      for (let i = 0; i < 20; i++) last = await one.limiter.count(caller({ keyId: 'gone' }));
      assert.equal(last?.outcome, 'banned');
      assert.equal(one.limiter.health().day, 'durable');
      assert.deepEqual(await told(one), []);
    });
  });
});

/**
 * Requests of one account: the pause before each in milliseconds, how far the clock is set ahead in that pause, and the
 * limits of the plan at that time.
 */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 70 }).map(seconds => seconds * 1000) },
      { weight: 3, arbitrary: fc.double({ min: 0, max: 30_000, noNaN: true }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 43_200_000 }) },
    ),
    step: fc.oneof(
      { weight: 10, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 90_000 }) },
      { weight: 1, arbitrary: fc.constantFrom(3_600_000, 86_400_000) },
    ),
    limits: fc.constantFrom(
      { perMinute: 5, perDay: 20 },
      { perMinute: 5, perDay: 20 },
      { perMinute: 2, perDay: 12 },
      { perMinute: 8, perDay: 8 },
    ),
  }),
  { maxLength: 60 },
);

interface Begun {
  readonly limiter: Limiter;
  readonly database: Database;
  readonly clock: ReturnType<typeof testClock>;
  count(limits?: Limits): Promise<Verdict>;
  /** Opens another limiter on the same database, as after a restart. */
  reopen(): Promise<Begun>;
}

/** Opens a limiter at a time, on an empty database with two keys of one account. */
async function begin(engine: Engine, at = noon): Promise<Begun> {
  const clock = testClock(at);
  const database = await engine.open({ clock });
  databases.push(database);
  await database.write(async tx => {
    await tx.run(addAccount, {});
    for (const id of ['key', 'two']) await tx.run(addKey, { id });
  });
  return on(database, clock);
}

const opened: Limiter[] = [];
const databases: Database[] = [];
afterEach(async () => {
  for (const limiter of opened.splice(0)) await limiter.close();
  // The number of connections of a server is limited.
  for (const database of databases.splice(0)) await database.close();
});

async function on(database: Database, clock: ReturnType<typeof testClock>): Promise<Begun> {
  const limiter = await openLimiter({ database, clock, log: silent });
  opened.push(limiter);
  return {
    limiter,
    database,
    clock,
    count: async limits => await limiter.count(caller(limits && { limits })),
    reopen: () => on(database, clock),
  };
}

function dayLeft(verdict: Verdict): number {
  return Number(/"day";r=(\d+)/.exec(fields(verdict).RateLimit!)![1]);
}

/** Returns a result that is available without waiting for storage. */
async function soon<T>(answer: T | Promise<T>): Promise<T> {
  assert.ok(!(answer instanceof Promise), 'answered at once');
  return answer;
}

/** Returns `database` with its writes replaced. */
function writing(database: Database, write: Database['write']): Database {
  return {
    engine: database.engine,
    all: (q, p) => database.all(q, p),
    first: (q, p) => database.first(q, p),
    write,
    readTimestamp: now => database.readTimestamp(now),
    dataVersion: table => database.dataVersion(table),
    topicVersion: () => 1,
    health: () => database.health(),
    close: () => database.close(),
  };
}

function recording(lines: string[]): Log {
  const note = (...said: unknown[]) => void lines.push(String(said.at(-1)));
  return { info: note, warn: note, error: note };
}

const addAccount = query(db =>
  db.insertInto('accounts').values({ id: 1, email: 'a@example.org', name: 'A', plan: 'free', admin: 0, created_at: 0 }),
);
const addKey = query((db, p: Params<{ id: string }>) =>
  db
    .insertInto('keys')
    .values({ id: p.id, account_id: 1, deployment: 'production', hash: '', scopes: '*', created_at: 0 }),
);
const addDay = query((db, p: Params<{ day: number }>) =>
  db.insertInto('day_counts').values({
    subject: 'account production 1',
    day: p.day,
    node: 'alone',
    reserved: 500,
  }),
);
const dayRows = query(db => db.selectFrom('day_counts').select(['day', 'reserved']).orderBy('day'));
const minuteRows = query(db => db.selectFrom('minute_counts').selectAll());
