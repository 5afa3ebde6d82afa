import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from './clock.ts';

describe('the clock of a process', () => {
  it('follows the machine ahead and never back; what others compare with their clocks goes back, too', t => {
    const right = Date.now();
    const machine = t.mock.method(Date, 'now', () => right + 86_400_000);
    const clock = systemClock();
    const ahead = clock.now();
    assert.ok(ahead >= right + 86_400_000);
    machine.mock.mockImplementation(() => right);
    assert.ok(clock.now() >= ahead);
    assert.equal(clock.wall?.(), right);
  });

  it('that starts elsewhere for a rehearsal is there for everybody', () => {
    const clock = systemClock(Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.wall!() >= Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.now() < Date.parse('2030-01-01T01:00:00Z'));
  });
});
