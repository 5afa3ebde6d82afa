import os from 'node:os';

/** A monotonic clock. Every stored or returned time comes from a Clock, so that tests can control it. */
export interface Clock {
  /** Returns milliseconds since the Unix epoch, with a fraction; never less than before. */
  now(): number;
  /**
   * Returns the machine's wall clock time, which may be set back; absent if `now` is the same. Use it only for values
   * that other machines compare with their own clocks immediately.
   */
  wallTime?(): number;
  /**
   * By how many milliseconds the wall clock was set ahead since this clock started, in whole seconds; absent if it never
   * is. `now() - steppedMs` measures how much time has passed, even if the wall clock is set.
   */
  readonly steppedMs?: number;
}

export interface SystemClock extends Clock {
  /** Advances the clock to `ms` (milliseconds since the Unix epoch) if it is behind. */
  advanceTo(ms: number): void;
}

/** How often a clock reads the wall clock. */
const SYNC_MS = 1000;

/**
 * Returns a clock that follows the machine's monotonic clock from an anchor on the wall clock.
 *
 * If the wall clock is set back, this clock runs on. If it is set ahead, or the machine slept, this clock follows
 * within a second. Unless the wall clock is set back, this clock is never ahead of it and less than a millisecond
 * behind.
 *
 * Setting the wall clock ahead is a step; sleep is not, because that time has passed. Corrections by NTP that slew the
 * clock change the monotonic clock too (Linux), and are no steps.
 * @param startAtMs the start of a test clock (`PETSTORE_NOW`); by default the wall clock's time
 */
export function systemClock(startAtMs?: number): SystemClock {
  let anchorMs = (startAtMs ?? Date.now()) - performance.now();
  let nextSyncMs = 0;
  let sleptMs = sleptSinceBootMs();

  /** Moves the anchor ahead, and records for how much of that time the machine did not sleep. */
  function moveAhead(ms: number) {
    anchorMs += ms;
    if (ms < 1000) return;
    const sleptBeforeMs = sleptMs;
    sleptMs = sleptSinceBootMs();
    clock.steppedMs += Math.max(0, Math.floor((ms - (sleptMs - sleptBeforeMs)) / 1000)) * 1000;
  }

  function now() {
    let elapsedMs = performance.now();
    if (startAtMs === undefined && elapsedMs >= nextSyncMs) {
      nextSyncMs = elapsedMs + SYNC_MS;
      // Read the wall clock first: a pause between the two reads must not put this clock ahead.
      const wallMs = Date.now();
      elapsedMs = performance.now();
      moveAhead(Math.max(0, wallMs - elapsedMs - anchorMs));
    }
    return anchorMs + elapsedMs;
  }

  const clock = {
    advanceTo(ms: number) {
      anchorMs = Math.max(anchorMs, ms - performance.now());
    },
    now,
    wallTime: startAtMs === undefined ? Date.now : now,
    steppedMs: 0,
  };
  return clock;
}

/** Returns how long the machine slept since it booted, plus a constant: only the boot clock counts sleep. */
function sleptSinceBootMs(): number {
  return os.uptime() * 1000 - performance.now();
}

/** Returns `clock` without the steps of the wall clock: use it only to measure how much time has passed. */
export function withoutSteps(clock: Clock): Clock {
  return {
    now() {
      const now = clock.now();
      return now - (clock.steppedMs ?? 0);
    },
  };
}

/** A clock that moves only when a test advances it. */
export interface TestClock extends Clock {
  steppedMs: number;
  advance(ms: number): void;
  /** Sets the wall clock ahead by `ms`. */
  step(ms: number): void;
}

/** Returns a test clock that starts at `startAtMs` (milliseconds since the Unix epoch). */
export function testClock(startAtMs: number): TestClock {
  let nowMs = startAtMs;
  return {
    now: () => nowMs,
    steppedMs: 0,
    advance(ms) {
      if (ms < 0) throw new RangeError('a clock cannot run backwards');
      nowMs += ms;
    },
    step(ms) {
      this.advance(ms);
      this.steppedMs += Math.floor(ms / 1000) * 1000;
    },
  };
}
