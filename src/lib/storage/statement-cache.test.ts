import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatementCache } from './statement-cache.ts';

describe('StatementCache', () => {
  it('evicts statements that were not used lately, and keeps the others', () => {
    const prepared: number[] = [];
    const evicted: string[] = [];
    const prepare = (id: number) => {
      prepared.push(id);
      return `s${id}`;
    };
    const cache = new StatementCache(prepare, statement => evicted.push(statement), 8);
    for (let id = 0; id < 100; id++) {
      assert.equal(cache.get(0), 's0');
      assert.equal(cache.get(id), `s${id}`);
      assert.ok(cache.size <= 8);
      assert.equal(prepared.length, id + 1);
    }
    assert.equal(evicted.length + cache.size, 100);
    assert.equal(new Set(evicted).size, evicted.length);
    cache.get(50);
    assert.equal(prepared.length, 101);
  });
});
