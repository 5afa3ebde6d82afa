import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LogThrottle } from './log-throttle.ts';

it('lets one message through, and the next after ten quiet seconds', () => {
  const episodes = new LogThrottle();
  assert.equal(episodes.shouldLog('full', 0), true);
  assert.equal(episodes.shouldLog('full', 1), false);
  assert.equal(episodes.shouldLog('stalled', 1), true);
  assert.equal(episodes.shouldLog('full', 10_000), false);
  assert.equal(episodes.shouldLog('full', 20_001), true);
});
