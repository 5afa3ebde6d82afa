import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keptQueryCount, queriesByShape } from './queries-by-shape.ts';

describe('queriesByShape', () => {
  it('builds the query of a shape once, by the listed members alone', () => {
    let built = 0;
    const queryOf = queriesByShape(['byName'], ({ byName }: { byName: boolean }) => ({ byName, number: ++built }));
    const one = queryOf({ byName: true });
    const other = { byName: true, fromId: 7 };
    assert.equal(queryOf(other), one);
    assert.notEqual(queryOf({ byName: false }), one);
    assert.equal(built, 2);
  });

  it('keeps a bounded number of queries, those that were used last', () => {
    const before = keptQueryCount();
    const queryOf = queriesByShape(['size'], ({ size }: { size: number }) => ({ size }), 3);
    const first = queryOf({ size: 0 });
    for (let size = 1; size <= 10_000; size++) {
      queryOf({ size });
      assert.equal(queryOf({ size: 0 }), first);
    }
    assert.equal(keptQueryCount(), before + 3);
  });
});
