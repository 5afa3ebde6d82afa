import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GenerationalCache } from './generational-cache.ts';
import { MinuteWindow } from './minute-window.ts';

test('never exceeds its maximum size', () => {
  const map = new GenerationalCache<string, MinuteWindow>(10_000, 61_000);
  for (let i = 0; i < 1_000_000; i++) {
    const now = i / 100;
    if (map.get(`${i}`, now) === undefined) map.set(`${i}`, new MinuteWindow(), now);
    if (i % 1000 === 0) assert.ok(map.size <= 10_000);
  }
});

test('keeps entries read within the maximum age and evicts the rest', () => {
  const map = new GenerationalCache<string, number>(1000, 1000);
  map.get('first', 0);
  map.set('first', 1, 0);
  assert.equal(map.get('first', 999), 1);
  assert.equal(map.get('other', 1500), undefined);
  assert.equal(map.get('first', 1998), 1);
  assert.equal(map.get('other', 2600), undefined);
  assert.equal(map.peek('first'), 1);
  map.get('other', 5000);
  map.get('other', 7000);
  assert.equal(map.peek('first'), undefined);
});

test('keeps a frequently read key among any number of others', () => {
  const map = new GenerationalCache<string, number>(100, 1000);
  map.set('steady', 1, 0);
  for (let i = 0; i < 10_000; i++) {
    map.set(`${i}`, i, 0);
    assert.equal(map.get('steady', 0), 1);
  }
});

test('yields each entry once', () => {
  const map = new GenerationalCache<string, number>(4, 1000);
  for (const key of ['a', 'b', 'c']) map.set(key, 1, 0);
  map.get('a', 0);
  assert.deepEqual([...map.entries()].map(([key]) => key).sort(), ['a', 'b', 'c']);
});
