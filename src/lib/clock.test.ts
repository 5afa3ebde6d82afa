import assert from 'node:assert/strict';
import os from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { systemClock, withoutSteps } from './clock.ts';

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

  it('tells steps of the wall clock from time that has passed, also while the machine slept', t => {
    const machine = controlMachine(t);
    const clock = systemClock();
    const elapsed = withoutSteps(clock);
    const startMs = elapsed.now();
    const passed = () => Math.round(elapsed.now() - startMs);
    machine.awakeMs += 5000;
    assert.deepEqual([passed(), clock.steppedMs], [5000, 0]);
    machine.aheadMs += 3_600_000;
    machine.awakeMs += 1000;
    assert.deepEqual([passed(), clock.steppedMs], [6000, 3_600_000]);
    machine.asleepMs += 3_600_000;
    machine.awakeMs += 1000;
    assert.deepEqual([passed(), clock.steppedMs], [3_607_000, 3_600_000]);
    machine.asleepMs += 60_000;
    machine.aheadMs += 5500;
    machine.awakeMs += 1000;
    assert.deepEqual([passed(), clock.steppedMs], [3_668_500, 3_605_000]);
    assert.equal(Math.round(clock.now()), machine.wallMs());
  });

  it('takes the wall clock set back, and then right again, for no step', t => {
    const machine = controlMachine(t);
    const clock = systemClock();
    const startMs = clock.now();
    for (const aheadMs of [-3_600_000, 0, -3_600_000, 0]) {
      machine.aheadMs = aheadMs;
      machine.awakeMs += 1000;
      clock.now();
    }
    assert.deepEqual([Math.round(clock.now() - startMs), clock.steppedMs], [4000, 0]);
  });

  it('is not misled by many small corrections', t => {
    const machine = controlMachine(t);
    const clock = systemClock();
    for (let i = 0; i < 3600; i++) {
      machine.awakeMs += 1000;
      machine.aheadMs += 0.5;
      clock.now();
    }
    assert.equal(clock.steppedMs, 0);
  });

  it('starts at the given time for both readings', () => {
    const clock = systemClock(Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.wallTime!() >= Date.parse('2030-01-01T00:00:00Z'));
    assert.ok(clock.now() < Date.parse('2030-01-01T01:00:00Z'));
  });
});

/** Puts the machine's clocks under control: the wall clock, and the clocks that nobody can set. */
function controlMachine(t: TestContext) {
  const machine = {
    /** Milliseconds since boot that the machine was awake, and asleep. */
    awakeMs: 5_000_000,
    asleepMs: 10_000,
    /** The error of the wall clock, in milliseconds. */
    aheadMs: 0,
    wallMs: () => Math.floor(1_800_000_000_000 + machine.awakeMs + machine.asleepMs + machine.aheadMs),
  };
  t.mock.method(performance, 'now', () => machine.awakeMs - 5_000_000);
  t.mock.method(os, 'uptime', () => Math.floor((machine.awakeMs + machine.asleepMs) / 10) / 100);
  t.mock.method(Date, 'now', machine.wallMs);
  return machine;
}
