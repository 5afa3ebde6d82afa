import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyBudget } from './body-budget.ts';

describe('BodyBudget', () => {
  it('limits each account, and reserves nothing beyond', () => {
    const bodies = new BodyBudget({ total: 100, perAccount: 10 });
    assert.equal(bodies.reserve(1, 10), true);
    assert.equal(bodies.reserve(1, 1), false);
    assert.equal(bodies.reserve(2, 10), true);
    assert.equal(bodies.used, 20);
    bodies.release(1, 4);
    assert.equal(bodies.reserve(1, 5), false);
    assert.equal(bodies.reserve(1, 4), true);
  });

  it('leaves room for further accounts however much the others want', () => {
    const bodies = new BodyBudget({ total: 1000, perAccount: 1000 });
    const shares = Array.from({ length: 9 }, (_, account) => {
      let bytes = 0;
      while (bodies.reserve(account, 1)) bytes++;
      return bytes;
    });
    assert.ok(shares[0]! >= 500);
    assert.ok(bodies.used < 1000, `${bodies.used} of 1000 are used`);
    assert.equal(bodies.reserve(10, 1), true);
    for (const [account, bytes] of shares.entries()) bodies.release(account, bytes);
    assert.equal(bodies.used, 1);
  });
});
