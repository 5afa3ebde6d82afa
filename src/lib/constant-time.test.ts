import assert from 'node:assert/strict';
import { it } from 'node:test';
import { equalsInConstantTime } from './constant-time.ts';

it('compares texts of any length', () => {
  for (const text of ['', 'a', 'ab', 'é', '\u0000']) assert.equal(equalsInConstantTime(text, text), true, text);
  for (const [actual, expected] of [
    ['', 'a'],
    ['a', ''],
    ['a', 'b'],
    ['a', 'aa'],
    // As many bytes of UTF-8, or as many characters.
    ['é', 'ab'],
    ['é', 'e'],
  ] as const) {
    assert.equal(equalsInConstantTime(actual, expected), false, `${actual} ${expected}`);
  }
});
