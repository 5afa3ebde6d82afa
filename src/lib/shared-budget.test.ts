import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SharedBudget } from './shared-budget.ts';

describe('SharedBudget', () => {
  it('limits each client, and reserves nothing beyond', () => {
    const budget = new SharedBudget<number>({ total: 100, perClient: 10 });
    assert.equal(budget.reserve(1, 10), true);
    assert.equal(budget.reserve(1, 1), false);
    assert.equal(budget.reserve(2, 10), true);
    assert.equal(budget.used, 20);
    budget.release(1, 4);
    assert.equal(budget.reserve(1, 5), false);
    assert.equal(budget.reserve(1, 4), true);
  });

  it('leaves room for further clients however much the others want', () => {
    const budget = new SharedBudget<number>({ total: 1000 });
    const shares = Array.from({ length: 9 }, (_, client) => {
      let amount = 0;
      while (budget.reserve(client, 1)) amount++;
      return amount;
    });
    assert.ok(shares[0]! >= 500);
    assert.ok(budget.used < 1000, `${budget.used} of 1000 are used`);
    assert.equal(budget.reserve(10, 1), true);
    for (const [client, amount] of shares.entries()) budget.release(client, amount);
    assert.equal(budget.used, 1);
  });
});
