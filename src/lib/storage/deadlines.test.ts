import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../clock.ts';
import { VisibilityDeadlines } from './deadlines.ts';

const late = () => new Error('late');

describe('Deadlines', () => {
  it('lets readers advance to just before the earliest deadline of pending work, until it ends', () => {
    const { clock, deadlines } = made();
    assert.equal(deadlines.readTimestamp(1000), 1000);
    const one = deadlines.forTransaction();
    const other = deadlines.forTransaction();
    one.requireVisibleBefore(1010, late);
    one.requireVisibleBefore(1020, late);
    other.requireVisibleBefore(1030, late);
    clock.advance(500);
    assert.deepEqual(
      [1009, 1010, 1500].map(now => deadlines.readTimestamp(now)),
      [1009, 1009, 1009],
    );
    one.end();
    assert.equal(deadlines.readTimestamp(1500), 1029);
    other.end();
    assert.equal(deadlines.readTimestamp(1500), 1500);
  });

  it('never moves readers back before a deadline that they have reached', () => {
    const { clock, deadlines } = made();
    clock.advance(10);
    const one = deadlines.forTransaction();
    assert.throws(() => one.requireVisibleBefore(1010, late), { message: 'late' });
    assert.equal(deadlines.readTimestamp(1010), 1010);
    one.requireVisibleBefore(1011, late);
    assert.equal(deadlines.readTimestamp(1011), 1010);
  });

  it('checks with a margin at the end, and only work with a deadline', () => {
    const { clock, deadlines } = made(250);
    const one = deadlines.forTransaction();
    one.check();
    one.requireVisibleBefore(1251, late);
    one.check();
    clock.advance(1);
    assert.throws(() => one.check(), { message: 'late' });
    deadlines.forTransaction().check();
  });
});

function made(marginMs = 0) {
  const clock = testClock(1000);
  return { clock, deadlines: new VisibilityDeadlines(clock, marginMs) };
}
