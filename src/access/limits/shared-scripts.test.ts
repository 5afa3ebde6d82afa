import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { type CallerOptions, countedCaller } from '../../../test/support/counted-caller.ts';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { describeUnless, long } from '../../../test/support/selection.ts';
import { ValkeyServer, withoutValkeyServer } from '../../../test/support/valkey-server.ts';
import { testClock } from '../../lib/clock.ts';
import { dayOf } from '../../lib/time.ts';
import { type Params, query } from '../../model/schema.ts';
import { type Ban, nextStep, stepMinutes } from './bans.ts';
import type { CountedCaller } from './limiter.ts';
import { secondOf } from './minute-window.ts';
import { openLimiter } from './open.ts';
import { type Reply, verdictOfReply } from './shared-reply.ts';
import { countScript, uncountScript } from './shared-scripts.ts';
import { connectValkey, type Valkey } from './valkey.ts';
import type { Verdict } from './verdict.ts';

/** The scripts, with a time set by the test instead of Valkey's. */
const [script, undo] = [countScript, uncountScript].map(text =>
  text.replace("redis.call('TIME')", '{ ARGV[#ARGV - 1], ARGV[#ARGV] }'),
) as [string, string];

/**
 * Steps: microseconds before each request, how many requests then arrive at once, the limits at that time, whether the
 * key with a budget sends them, and how many are then reversed.
 */
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
    budgeted: fc.boolean(),
    limits: fc.constantFrom({ perMinute: 5, perDay: 40 }, { perMinute: 2, perDay: 12 }, { perMinute: 8, perDay: 8 }),
  }),
  { maxLength: 30 },
);

/** Requests that end with a ban, which random steps do not always cause. */
const untilBanned = Array.from({ length: 5 }, () => {
  return { wait: 1_000_000, requests: 12, returned: 0, budgeted: false, limits: { perMinute: 2, perDay: 12 } as const };
});

const budgets = fc.constantFrom<Pick<CallerOptions, 'budget' | 'sandboxPerMinute'>>(
  { budget: { perMinute: 3, perDay: 20 } },
  { budget: { perMinute: 1 } },
  { budget: { perDay: 6 } },
  { budget: { perMinute: 9, perDay: 50 } },
  { sandboxPerMinute: 3 },
);

describeUnless(withoutValkeyServer, 'the Valkey script', () => {
  let server: ValkeyServer;
  let valkey: Valkey;
  before(async () => {
    server = await ValkeyServer.start();
    valkey = await connectValkey(server.url, () => {}, { callMs: 10_000 });
  });
  after(async () => {
    valkey.close();
    await server.kill();
  });

  onEachEngine(engine => {
    it('returns the same as a single node: windows, headers, violations, bans, reversed counts', async t => {
      // Tomorrow, because Valkey expires keys by its own time.
      let micros = Math.ceil(Date.now() / 86_400_000 + 1) * 86_400_000_000 + 250_000;
      const clock = testClock(micros / 1000);
      const database = await engine.open({ clock });
      await database.write(tx => tx.run(addAccount, {}));
      const limiter = await openLimiter({ database, clock, log: silent });
      t.after(() => limiter.close());
      let run = 0;
      let bans = 0;
      const outcomes = new Set<string>();
      await fc.assert(
        fc.asyncProperty(steps, budgets, async (sequence, budget) => {
          run++;
          const keyIds = [`key${run}`, `budgeted${run}`] as const;
          for (const id of keyIds) await database.write(tx => tx.run(addKey, { id }));
          const latest = new Map<string, Ban>();
          const accepted: { readonly caller: CountedCaller; readonly at: number }[] = [];
          for (const { wait, requests, returned, budgeted, limits } of sequence) {
            micros += wait;
            clock.advance(Math.max(0, micros / 1000 - clock.now()));
            const time = [Math.floor(micros / 1_000_000), micros % 1_000_000] as const;
            const today = Math.floor(time[0] / 86_400);
            const keyId = keyIds[Number(budgeted)]!;
            const caller = countedCaller({ keyId, accountId: run, limits, ...(budgeted && budget) });
            for (let i = 0; i < requests; i++) {
              const ban = latest.get(keyId);
              const minutes = stepMinutes(nextStep(ban, clock.now()));
              const isOwn = caller.budget?.prefix === 'key-' ? 1 : 0;
              const args = limitsOf(caller).flatMap(([, ...limits]) => [...limits, 0, 0, 0, today, 0]);
              const keys = [`${engine.name} ${keyId}`, ...windowKeys(engine.name, caller)];
              const reply = await valkey.run<Reply>(script, keys, [0, 0, minutes, isOwn, ...args, ...time]);
              const alone = await limiter.count(caller);
              assertSame(verdictOfReply(reply, caller), alone);
              outcomes.add(alone.outcome);
              if (reply[0] === 'accepted') accepted.push({ caller, at: alone.at });
              if (reply[0] !== 'newlyBanned') continue;
              bans++;
              const [, , , until, bannedAt] = reply;
              latest.set(keyId, { keyId, step: nextStep(ban, clock.now()), bannedAt, until, liftedAt: null });
              break;
            }
            for (const { caller, at } of accepted.splice(-returned, returned)) {
              const counted = [secondOf(at), dayOf(at), ...limitsOf(caller).map(([, perMinute]) => perMinute), ...time];
              const reply = await valkey.run<Reply>(undo, windowKeys(engine.name, caller), counted);
              assertSame(verdictOfReply(reply, caller), await limiter.uncount(caller, at));
            }
          }
        }),
        { numRuns: long ? 1000 : 60, examples: [[untilBanned, { budget: { perMinute: 1 } }]] },
      );
      assert.ok(bans > 0, 'some were banned');
      assert.deepEqual(outcomes, new Set(['accepted', 'limited', 'overBudget', 'overSandbox', 'banned']));
    });
  });
});

/** Returns the subjects of a caller: their names, and their limits for Lua. */
function limitsOf({ account, budget }: CountedCaller): [name: string, perMinute: number, perDay: number][] {
  return [account, ...(budget === undefined ? [] : [budget])].map(({ name, limits }) => [
    name,
    Math.min(limits.perMinute, Number.MAX_SAFE_INTEGER),
    Math.min(limits.perDay, Number.MAX_SAFE_INTEGER),
  ]);
}

function windowKeys(engine: string, caller: CountedCaller): string[] {
  return limitsOf(caller).flatMap(([name]) => [`${engine} ${name} minute`, `${engine} ${name} day`]);
}

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
