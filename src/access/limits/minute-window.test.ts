import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { long } from '../../../test/support/selection.ts';
import { MinuteWindow, secondOf } from './minute-window.ts';

const start = Date.UTC(2026, 2, 4, 12);
const runs = { numRuns: long ? 20_000 : 1000 };

/**
 * Pauses between requests in milliseconds: mostly short, often whole seconds, sometimes a fraction of a millisecond.
 */
const pauses = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 3000 }),
    fc.integer({ min: 0, max: 70 }).map(seconds => seconds * 1000),
    fc.double({ min: 0, max: 2, noNaN: true }),
    fc.double({ min: 0, max: 90_000, noNaN: true }),
  ),
  { maxLength: 200 },
);

test('matches a naive log of all requests and returns the exact reset', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), pauses, (limit, waits) => {
      const minute = new MinuteWindow();
      const accepted: number[] = [];
      let now = start;
      for (const wait of waits) {
        now += wait;
        minute.expire(now);
        const counted = accepted.filter(at => (secondOf(at) + 60) * 1000 > now);
        assert.equal(minute.total, counted.length);
        assert.ok(minute.pairs.length <= 2 * 61);
        if (minute.total < limit) {
          minute.add(secondOf(now));
          accepted.push(now);
          counted.push(now);
        }
        const backAt = secondOf(counted[0]!) + 60;
        assert.equal(minute.reset(limit, secondOf(now)), backAt);
        assert.ok(backAt * 1000 > now);
      }
      for (const [i, at] of accepted.entries()) {
        const within = accepted.slice(i).filter(later => later - at < 60_000);
        assert.ok(within.length <= limit, 'never more than the limit in any 60 seconds');
      }
    }),
    runs,
  );
});

test('returns the first second at which a lowered limit accepts a request', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), pauses, (lowered, waits) => {
      const minute = new MinuteWindow();
      let now = start;
      for (const wait of waits) {
        now += wait;
        minute.expire(now);
        minute.add(secondOf(now));
      }
      if (minute.total < lowered) return;
      const reset = minute.reset(lowered, secondOf(now));
      minute.expire(reset * 1000 - 1);
      assert.ok(minute.total >= lowered, 'refuses until then');
      minute.expire(reset * 1000);
      assert.ok(minute.total < lowered, 'accepts then');
    }),
    runs,
  );
});

test('counts a request in the next full second', () => {
  assert.equal(secondOf(10_000), 10);
  assert.equal(secondOf(10_000.0002), 11);
  assert.equal(secondOf(1_772_625_600_000), 1_772_625_600);
  assert.equal(secondOf(1_772_625_600_000 + 2 ** -12), 1_772_625_601);
});

test('transfers the counts from a second on, once', () => {
  const minute = new MinuteWindow();
  minute.add(10, 3);
  minute.firstSecond = 12;
  minute.add(11, 2);
  assert.deepEqual(minute.transfer(12), [12, 2]);
  assert.deepEqual(minute.transfer(minute.firstSecond), []);
  minute.add(12);
  assert.deepEqual(minute.transfer(minute.firstSecond), [13, 1]);
  assert.equal(minute.total, 6);
});

test('matches a naive log when requests are taken back', () => {
  const steps = fc.array(
    fc.record({ wait: fc.integer({ min: 0, max: 30_000 }), returned: fc.option(fc.nat({ max: 5 })) }),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), steps, (limit, sequence) => {
      const minute = new MinuteWindow();
      const accepted: number[] = [];
      let now = start;
      for (const { wait, returned } of sequence) {
        now += wait;
        minute.expire(now);
        if (returned !== null && returned < accepted.length) {
          const [at] = accepted.splice(accepted.length - 1 - returned, 1);
          minute.remove(secondOf(at!), now);
        } else if (minute.total < limit) {
          minute.add(secondOf(now));
          accepted.push(now);
        }
        const counted = accepted.filter(at => (secondOf(at) + 60) * 1000 > now);
        assert.equal(minute.total, counted.length);
        assert.equal(minute.reset(limit, secondOf(now)), secondOf(counted[0] ?? now) + 60);
      }
    }),
    runs,
  );
});
