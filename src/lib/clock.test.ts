import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from './clock.ts';

describe('systemClock', () => {
  it('follows the wall clock ahead but never back, while `wall` follows both', t => {
    const right = Date.now();
    const machine = t.mock.method(Date, 'now', () => right + 86_400_000);
    const clock = systemClock();
    const ahead = clock.now();
    assert.ok(ahead >= right + 86_400_000);
    machine.mock.mockImplementation(() => right);
    assert.ok(clock.now() >= ahead);
    assert.equal(clock.wallTime?.(), right);
  });

  it('is accurate although the process was paused while reading, and follows every step ahead', t => {
    let machineMs = 5_000_000.75;
    let heldUpMs = 50;
    t.mock.method(performance, 'now', () => machineMs - 5_000_000);
    t.mock.method(Date, 'now', () => {
      const wallMs = Math.floor(machineMs + aheadMs);
      machineMs += heldUpMs;
      heldUpMs = 0;
      return wallMs;
    });
    let aheadMs = 0;
    const clock = systemClock();
    const isRight = () => {
      const behindMs = machineMs + aheadMs - clock.now();
      assert.ok(behindMs >= 0 && behindMs < 1, `${behindMs} ms behind`);
    };
    isRight();
    aheadMs = 40;
    machineMs += 1000;
    isRight();
    heldUpMs = 50;
    machineMs += 1000;
    const led = clock.now() - (machineMs + aheadMs);
    assert.ok(led <= 0, `${led} ms ahead`);
  });

  it('starts at the given time for both readings', () => {
    const clock = systemClock(Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.wallTime!() >= Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.now() < Date.parse('2030-01-01T01:00:00Z'));
  });
});
