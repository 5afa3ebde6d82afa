import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until the condition holds, checking every 20 ms; fails after `withinMs`, by default never. */
export async function waitUntil(condition: () => unknown, withinMs = Number.POSITIVE_INFINITY): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await condition())) {
    assert.ok(performance.now() < endMs, `the condition does not hold after ${withinMs} ms: ${condition}`);
    await sleep(20);
  }
}
