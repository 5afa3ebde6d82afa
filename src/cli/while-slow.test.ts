import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silent } from '../../test/support/engines.ts';
import { StorageError } from '../lib/storage/database.ts';
import { whileSlow } from './while-slow.ts';

const never = new Promise<void>(() => {});

/** Returns a start that fails with `error` the first `failures` times, each time after `takesMs`. */
function failing(error: Error, failures: number, takesMs = 0) {
  const clock = { nowMs: 0 };
  let attempts = 0;
  return {
    clock,
    async start() {
      clock.nowMs += takesMs;
      if (++attempts <= failures) throw error;
      return attempts;
    },
    attempts: () => attempts,
  };
}

describe('whileSlow', () => {
  const slow = new StorageError('unavailable', 'The database did not respond in time.', { isSlow: true });

  it('starts again until the database responds', async () => {
    const { start } = failing(slow, 1);
    assert.equal(await whileSlow(silent, never, start), 2);
  });

  it('gives up after a minute', async t => {
    const { clock, start, attempts } = failing(slow, 9, 31_000);
    t.mock.method(performance, 'now', () => clock.nowMs);
    await assert.rejects(whileSlow(silent, never, start), slow);
    assert.equal(attempts(), 2);
  });

  it('does not start again after another error, or a signal to stop', async () => {
    const unreachable = new StorageError('unavailable', 'The database cannot be reached.');
    const other = failing(unreachable, 1);
    await assert.rejects(whileSlow(silent, never, other.start), unreachable);
    const stopping = failing(slow, 1);
    await assert.rejects(whileSlow(silent, Promise.resolve(), stopping.start), slow);
    assert.deepEqual([other.attempts(), stopping.attempts()], [1, 1]);
  });
});
