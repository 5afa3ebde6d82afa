import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatementCache } from './statement-cache.ts';

describe('StatementCache', () => {
  it('evicts statements that were not used lately, and keeps the others', () => {
    const evicted: string[] = [];
    const cache = new StatementCache<string>(8, statement => evicted.push(statement));
    for (let id = 0; id < 100; id++) {
      if (cache.get(0) === undefined) cache.set(0, 's0');
      if (id > 0) cache.set(id, `s${id}`);
      assert.ok(cache.size <= 8);
      assert.equal(cache.get(0), 's0');
      assert.equal(cache.get(id), `s${id}`);
    }
    assert.equal(evicted.length + cache.size, 100);
    assert.equal(new Set(evicted).size, evicted.length);
    assert.equal(cache.get(50), undefined);
  });
});
