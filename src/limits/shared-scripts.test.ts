import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { onEachEngine, silent } from '../../test/support/engines.ts';
import { describeUnless, long } from '../../test/support/selection.ts';
import { ValkeyServer, withoutValkeyServer } from '../../test/support/valkey-server.ts';
import { testClock } from '../lib/clock.ts';
import { type Params, query } from '../schema.ts';
import { type Ban, nextStep, stepMinutes } from './bans.ts';
import { dayOf } from './day-counts.ts';
import { secondOf } from './minute-window.ts';
import { openLimiter } from './open.ts';
import { type Reply, verdictOfReply } from './shared-limiter.ts';
import { countScript, uncountScript } from './shared-scripts.ts';
import { connectValkey, type Valkey } from './valkey.ts';
import type { Verdict } from './verdict.ts';

/** The scripts, with the time that the test says in place of Valkey's. */
const script = countScript.replace("redis.call('TIME')", '{ KEYS[4], KEYS[5] }');
const undo = uncountScript.replace("redis.call('TIME')", '{ KEYS[3], KEYS[4] }');

/** Microseconds before each request, how many come then at once, the limits by then, and how many are then taken back. */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000_000 }) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 70 }).map(seconds => seconds * 1_000_000) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 43_200_000 }).map(ms => ms * 1000) },
    ),
    requests: fc.integer({ min: 1, max: 12 }),
    returned: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
    ),
    limits: fc.constantFrom({ perMinute: 5, perDay: 40 }, { perMinute: 2, perDay: 12 }, { perMinute: 8, perDay: 8 }),
  }),
  { maxLength: 30 },
);

describeUnless(withoutValkeyServer, 'the Valkey script', () => {
  let server: ValkeyServer;
  let valkey: Valkey;
  before(async () => {
    server = await ValkeyServer.start();
    valkey = await connectValkey(server.url, () => {}, 10_000);
  });
  after(async () => {
    valkey.close();
    await server.kill();
  });

  onEachEngine(engine => {
    it('returns exactly what a single node does: windows, headers, violations, bans, counts taken back', async () => {
      // Tomorrow, because Valkey lets keys go by its own time.
      let micros = Math.ceil(Date.now() / 86_400_000 + 1) * 86_400_000_000 + 250_000;
      const clock = testClock(micros / 1000);
      const database = await engine.open({ clock });
      await database.write(tx => tx.run(addAccount, {}));
      const limiter = await openLimiter({ database, clock, log: silent });
      let run = 0;
      let bans = 0;
      await fc.assert(
        fc.asyncProperty(steps, async sequence => {
          const keyId = `key ${++run}`;
          await database.write(tx => tx.run(addKey, { id: keyId }));
          const keys = ['minute', 'day', 'key'].map(part => `${engine.name} ${run} ${part}`);
          let ban: Ban | undefined;
          const accepted: number[] = [];
          for (const { wait, requests, returned, limits } of sequence) {
            micros += wait;
            clock.advance(Math.max(0, micros / 1000 - clock.now()));
            const [sec, us] = [Math.floor(micros / 1_000_000), micros % 1_000_000];
            const minutes = stepMinutes(nextStep(ban, clock.now()));
            const args = [limits.perMinute, limits.perDay, 0, 0, minutes, 0, 0, 0, Math.floor(sec / 86_400)];
            for (let i = 0; i < requests; i++) {
              const reply = await valkey.run<Reply>(script, [...keys, `${sec}`, `${us}`], args);
              const alone = await limiter.count({ keyId, accountId: run, deployment: 'production', limits });
              assertSame(verdictOfReply(reply, limits), alone);
              if (reply[0] === 'accepted') accepted.push(alone.at);
              if (reply[0] !== 'newlyBanned') continue;
              bans++;
              const step = nextStep(ban, clock.now());
              ban = { keyId, step, bannedAt: reply[8], until: reply[7], liftedAt: null };
              break;
            }
            for (const at of accepted.splice(-returned, returned)) {
              const counted = [limits.perMinute, secondOf(at), dayOf(at)];
              const reply = await valkey.run<Reply>(undo, [keys[0]!, keys[1]!, `${sec}`, `${us}`], counted);
              const alone = await limiter.uncount({ keyId, accountId: run, deployment: 'production', limits }, at);
              assertSame(verdictOfReply(reply, limits), alone);
            }
          }
        }),
        { numRuns: long ? 1000 : 60 },
      );
      await limiter.close();
      assert.ok(bans > 0, 'some were banned');
    });
  });
});

/** The time of a verdict may differ by a rounding error. */
function assertSame({ at: _, ...shared }: Verdict, { at: __, ...alone }: Verdict): void {
  assert.deepEqual(shared, alone);
}

const addAccount = query(db =>
  db.insertInto('accounts').values({ id: 1, email: 'a@example.org', name: 'A', plan: 'free', admin: 0, created_at: 0 }),
);
const addKey = query((db, p: Params<{ id: string }>) =>
  db
    .insertInto('keys')
    .values({ id: p.id, account_id: 1, deployment: 'production', hash: '', scopes: '*', created_at: 0 }),
);
