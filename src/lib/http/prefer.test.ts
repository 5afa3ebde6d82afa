import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePrefer } from './prefer.ts';

describe('parsePrefer', () => {
  const cases: [string | undefined, Record<string, string>][] = [
    [undefined, {}],
    ['', {}],
    ['handling=strict', { handling: 'strict' }],
    ['Handling = Strict', { handling: 'Strict' }],
    ['handling="strict"', { handling: 'strict' }],
    ['respond-async', { 'respond-async': '' }],
    ['respond-async, wait=10', { 'respond-async': '', wait: '10' }],
    ['count=exact; x=y, handling=lenient', { count: 'exact', handling: 'lenient' }],
    ['count=exact,count=none', { count: 'exact' }],
    [', ,count=exact,,', { count: 'exact' }],
    ['count=""', { count: '' }],
    ['=x, "x", a b, ä', {}],
    ['__proto__=x', { ['__proto__']: 'x' }],
  ];
  for (const [header, preferences] of cases) {
    it(`reads ${JSON.stringify(header)}`, () => {
      assert.deepEqual([...parsePrefer(header)], Object.entries(preferences));
    });
  }
});
