import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsOf, plans } from './plan.ts';

test('has the plans of the contract', () => {
  assert.deepEqual(
    Object.values(plans).map(({ title, limits }) => [title, limits?.perMinute, limits?.perDay]),
    [
      ['Free', 60, 1_000],
      ['Pro', 300, 10_000],
      ['Business', 1_000, 100_000],
      ['Enterprise', undefined, undefined],
    ],
  );
});

test('returns the limits of the plan, on Enterprise those of the account', () => {
  assert.deepEqual(limitsOf({ plan: 'pro', per_minute: null, per_day: null }), { perMinute: 300, perDay: 10_000 });
  assert.deepEqual(limitsOf({ plan: 'enterprise', per_minute: 7, per_day: 70 }), { perMinute: 7, perDay: 70 });
});
