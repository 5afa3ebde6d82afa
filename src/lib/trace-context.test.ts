import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseTraceparent } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const valid = `00-${traceId}-${spanId}-01`;
const parsed = { traceId, spanId, isSampled: true, traceparent: valid };

it('accepts a traceparent header of the current version, and the known part of later ones', () => {
  assert.deepEqual(parseTraceparent(valid), parsed);
  assert.deepEqual(parseTraceparent(valid.replace(/^00/, 'cc')), parsed);
  assert.deepEqual(parseTraceparent(`${valid.replace(/^00/, '01')}-more`), parsed);
});

it('reads whether the caller records the trace from the lowest flag', () => {
  const isSampled = (flags: string) => parseTraceparent(valid.replace(/01$/, flags))?.isSampled;
  assert.deepEqual(['01', '03', 'ff', '00', '02', 'fe'].map(isSampled), [true, true, true, false, false, false]);
});

it('ignores what is not a traceparent header', () => {
  for (const header of [
    undefined,
    '',
    [valid],
    `${valid}, ${valid}`,
    `${valid}-more`,
    `${valid} `,
    `${valid.replace(/^00/, '01')}more`,
    valid.replace(/^00/, 'ff'),
    valid.toUpperCase(),
    valid.replace(traceId, '0'.repeat(32)),
    valid.replace(spanId, '0'.repeat(16)),
    valid.replace('4bf9', '4bg9'),
    valid.slice(0, -1),
    valid.slice(3),
  ]) {
    assert.equal(parseTraceparent(header), undefined, String(header));
  }
});
