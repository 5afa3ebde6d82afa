import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Limiter } from '../../src/access/limits/limiter.ts';
import { openLimiter } from '../../src/access/limits/open.ts';
import { systemClock, type TestClock, testClock } from '../../src/lib/clock.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { countedCaller, verdictFields } from '../support/counted-caller.ts';
import { onEachEngine, silent } from '../support/engines.ts';
import { describeUnless } from '../support/selection.ts';
import { newSteppedClock, withoutSteppedClock } from '../support/stepped-clock.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';

describeUnless(withoutValkeyServer, 'when a clock is set, with Valkey', () => {
  describe('and a real server', { skip: withoutSteppedClock }, () =>
    onEachEngine(engine => {
      async function begin(
        work: (node: Limiter, valkey: ValkeyServer, set: (ms: number) => void, clock: TestClock) => Promise<void>,
      ) {
        const wall = newSteppedClock();
        const valkey = await ValkeyServer.startWith(wall.environment);
        const clock = testClock(Date.now());
        const database = await engine.open({ clock: systemClock() });
        const node = await openLimiter({ database, clock, log: silent, valkeyUrl: valkey.url });
        try {
          await work(node, valkey, wall.set, clock);
        } finally {
          await node.close();
          await valkey.kill();
        }
      }
      const count = async (node: Limiter) => verdictFields(await node.count(countedCaller()));
      async function useUp(node: Limiter) {
        for (let i = 0; i < 60; i++) assert.equal((await count(node)).outcome, 'accepted');
        await assertLimited(node);
      }
      async function assertLimited(node: Limiter) {
        const { outcome, 'Retry-After': wait } = await count(node);
        assert.equal(outcome, 'limited');
        assert.ok(Number(wait) >= 1 && Number(wait) <= 61, `retry after ${wait} s`);
      }

      it('keeps the minute of a node whose own clock is set ahead, also while Valkey is away', () =>
        begin(async (node, valkey, _set, clock) => {
          await useUp(node);
          clock.step(HOUR_MS);
          await assertLimited(node);
          await valkey.kill();
          await assertLimited(node);
          clock.step(HOUR_MS);
          await assertLimited(node);
          clock.advance(62_000);
          assert.equal((await count(node)).outcome, 'accepted');
        }));

      it('locks nobody out when the clock of Valkey is set back', () =>
        begin(async (node, valkey, set, clock) => {
          await useUp(node);
          set(-HOUR_MS);
          await assertLimited(node);
          await valkey.kill();
          await assertLimited(node);
          clock.advance(62_000);
          assert.equal((await count(node)).outcome, 'accepted');
        }));

      it('gives no fresh minute when the clock of Valkey is set ahead', () =>
        begin(async (node, _valkey, set) => {
          await useUp(node);
          set(HOUR_MS);
          // The reply to one request shows that the clock was set.
          assert.match((await count(node)).outcome!, /^(accepted|limited)$/);
          await assertLimited(node);
          while (node.health().counts === 'local') await pause(20);
          await assertLimited(node);
        }));
    }),
  );
});
