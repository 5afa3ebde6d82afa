import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

const TIMEOUT_MS = 240_000;

/** Waits until a condition holds; fails after four minutes by default. */
export async function waitUntil(condition: () => unknown, everyMs = 10, timeoutMs = TIMEOUT_MS): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(performance.now() < end, 'the condition is not met in time');
    await pause(everyMs);
  }
}
