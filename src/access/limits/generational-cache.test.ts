import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GenerationalCache } from './generational-cache.ts';
import { MinuteWindow } from './minute-window.ts';

test('never exceeds its maximum size', () => {
  const map = new GenerationalCache<string, MinuteWindow>(10_000, 61_000);
  for (let i = 0; i < 1_000_000; i++) {
    const now = i / 100;
    map.getOrInsertComputed(`${i}`, now, () => new MinuteWindow());
    if (i % 1000 === 0) assert.ok(map.size <= 10_000);
  }
});

test('keeps entries read within the maximum age and evicts the rest', () => {
  const map = new GenerationalCache<string, number>(1000, 1000);
  map.getOrInsertComputed('first', 0, () => 1);
  assert.equal(
    map.getOrInsertComputed('first', 999, () => 2),
    1,
  );
  map.getOrInsertComputed('other', 1500, () => 2);
  assert.equal(
    map.getOrInsertComputed('first', 1998, () => 2),
    1,
  );
  map.getOrInsertComputed('other', 2600, () => 2);
  assert.equal(map.peek('first'), 1);
  map.getOrInsertComputed('other', 5000, () => 2);
  map.getOrInsertComputed('other', 7000, () => 2);
  assert.equal(map.peek('first'), undefined);
});

test('keeps a frequently read key among any number of others', () => {
  const map = new GenerationalCache<string, number>(100, 1000);
  map.getOrInsertComputed('steady', 0, () => 1);
  for (let i = 0; i < 10_000; i++) {
    map.getOrInsertComputed(`${i}`, 0, () => i);
    assert.equal(
      map.getOrInsertComputed('steady', 0, () => 2),
      1,
    );
  }
});

test('yields each entry once', () => {
  const map = new GenerationalCache<string, number>(4, 1000);
  for (const key of ['a', 'b', 'c', 'a']) map.getOrInsertComputed(key, 0, () => 1);
  assert.deepEqual([...map.entries()].map(([key]) => key).sort(), ['a', 'b', 'c']);
});
