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
    it(`parses ${JSON.stringify(header)}`, () => {
      assert.deepEqual([...parsePrefer(header)], Object.entries(preferences));
    });
  }

  // A thousand times the largest header: quadratic time would not finish.
  const length = 16 * 1024 * 1024;
  for (const [name, header] of [
    ['white space behind a value', `a=b${' '.repeat(length)}@`],
    ['white space before a value', `a=${' '.repeat(length)}@ @`],
    ['white space around the sign', `a${' '.repeat(length)}=${' '.repeat(length)}@ @`],
    ['a long name', `${'a'.repeat(length)}@`],
    ['a quote without an end', `a="${'b'.repeat(length)}`],
    ['a long value', `a=${'b'.repeat(length)} @`],
  ] as const) {
    it(`parses a long header in linear time: ${name}`, { timeout: 60_000 }, () => {
      assert.ok(parsePrefer(header).size <= 1);
    });
  }
});
