import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../clock.ts';
import { VisibilityDeadlines } from './deadlines.ts';

const late = () => new Error('late');

describe('Deadlines', () => {
  it('lets readers come to a moment before the earliest end of what is under way, until that is over', () => {
    const { clock, deadlines } = made();
    assert.equal(deadlines.readableAt(1000), 1000);
    const one = deadlines.ofOne();
    const other = deadlines.ofOne();
    one.seenBefore(1010, late);
    one.seenBefore(1020, late);
    other.seenBefore(1030, late);
    clock.advance(500);
    assert.deepEqual(
      [1009, 1010, 1500].map(now => deadlines.readableAt(now)),
      [1009, 1009, 1009],
    );
    one.over();
    assert.equal(deadlines.readableAt(1500), 1029);
    other.over();
    assert.equal(deadlines.readableAt(1500), 1500);
  });

  it('does not take readers back before an end that they have come to', () => {
    const { clock, deadlines } = made();
    clock.advance(10);
    const one = deadlines.ofOne();
    assert.throws(() => one.seenBefore(1010, late), { message: 'late' });
    assert.equal(deadlines.readableAt(1010), 1010);
    one.seenBefore(1011, late);
    assert.equal(deadlines.readableAt(1011), 1010);
  });

  it('judges at last with a margin, and only what has an end', () => {
    const { clock, deadlines } = made(250);
    const one = deadlines.ofOne();
    one.judge();
    one.seenBefore(1251, late);
    one.judge();
    clock.advance(1);
    assert.throws(() => one.judge(), { message: 'late' });
    deadlines.ofOne().judge();
  });
});

function made(marginMs = 0) {
  const clock = testClock(1000);
  return { clock, deadlines: new VisibilityDeadlines(() => clock.now(), marginMs) };
}
