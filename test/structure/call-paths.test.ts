import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type CalledFunction, callsOf, countCalls } from '../support/call-counts.ts';

/** The most named functions of `src/` that a warm request may call. `node bench/count-functions.ts` lists them. */
const functionsMax = { 'GET /pets/{petId}': 58, 'POST /pets': 140, 'POST /store/orders': 144 } as const;

describe('a warm request calls few functions', () => {
  let called: ReadonlyMap<string, CalledFunction[]>;
  before(async () => {
    called = await countCalls();
  });

  for (const [request, max] of Object.entries(functionsMax)) {
    test(`${request}: at most ${max}`, () => {
      const { length } = called.get(request)!;
      assert.ok(length <= max, `${length} functions`);
    });
  }

  test('/animals: at most 800 calls for a page of 24 animals', () => {
    const calls = callsOf(called.get('/animals')!);
    assert.ok(calls <= 800, `${calls} calls`);
  });
});
