import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WaitEstimate } from './wait-estimate.ts';

/** Fills a queue with `count` calls. */
function queueOf(count: number): WaitEstimate {
  const queue = new WaitEstimate();
  for (let entered = 0; entered < count; entered++) queue.enter();
  return queue;
}

describe('WaitEstimate', () => {
  it('expects no wait of an empty queue, and of one that nothing has left yet', () => {
    assert.equal(queueOf(0).expectedMs(), 0);
    assert.equal(queueOf(10_000).expectedMs(), 0);
  });

  it('expects as long as the calls before need at the recent rate', () => {
    const queue = queueOf(2000);
    for (let left = 1; left <= 1000; left++) queue.leave(left * 0.5);
    assert.ok(Math.abs(queue.expectedMs() - 500) < 1, `${queue.expectedMs()} ms`);
    for (let left = 1; left <= 500; left++) queue.leave(500 + left * 4);
    assert.ok(Math.abs(queue.expectedMs() - 2000) < 20, `${queue.expectedMs()} ms`);
  });

  it('takes a stall for a pause of 20 ms', () => {
    const queue = queueOf(1200);
    for (let left = 1; left <= 200; left++) queue.leave(left);
    const before = queue.expectedMs();
    queue.leave(60_000);
    assert.ok(queue.expectedMs() - before < 350, `${before} ms, then ${queue.expectedMs()} ms`);
  });

  it('does not take the time between bursts for pauses', () => {
    const queue = queueOf(0);
    for (let burst = 1; burst <= 100; burst++) {
      for (let call = 0; call < 20; call++) queue.enter();
      for (let call = 0; call < 20; call++) queue.leave(burst * 1000 + call);
    }
    for (let call = 0; call < 100; call++) queue.enter();
    assert.ok(Math.abs(queue.expectedMs() - 100) < 5, `${queue.expectedMs()} ms`);
  });
});
