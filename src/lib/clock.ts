/** A monotonic clock. Every stored or returned time comes from a Clock, so that tests can control it. */
export interface Clock {
  /** Returns milliseconds since the Unix epoch, with a fraction; never less than before. */
  now(): number;
  /**
   * Returns the machine's wall clock time, which may be set back; absent if `now` is the same. Use it only for values that
   * other machines compare with their own clocks immediately.
   */
  wallTime?(): number;
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
 * If the wall clock is set back, this clock runs on. If it is set ahead, or the machine slept, this clock follows within a
 * second. Unless the wall clock is set back, this clock is never ahead of it and less than a millisecond behind.
 * @param startAtMs the start of a test clock (`PETSTORE_NOW`); by default the wall clock's time
 */
export function systemClock(startAtMs?: number): SystemClock {
  let anchorMs = (startAtMs ?? Date.now()) - performance.now();
  let nextSyncMs = 0;
  function now() {
    let elapsedMs = performance.now();
    if (startAtMs === undefined && elapsedMs >= nextSyncMs) {
      nextSyncMs = elapsedMs + SYNC_MS;
      // Read the wall clock first: a pause between the two reads must not put this clock ahead.
      const wallMs = Date.now();
      elapsedMs = performance.now();
      anchorMs = Math.max(anchorMs, wallMs - elapsedMs);
    }
    return anchorMs + elapsedMs;
  }

  return {
    advanceTo(ms) {
      anchorMs = Math.max(anchorMs, ms - performance.now());
    },
    now,
    wallTime: startAtMs === undefined ? Date.now : now,
  };
}

/** A clock that moves only when a test advances it. */
export interface TestClock extends Clock {
  advance(ms: number): void;
}

/** Returns a test clock that starts at `startAtMs` (milliseconds since the Unix epoch). */
export function testClock(startAtMs: number): TestClock {
  let nowMs = startAtMs;
  return {
    now: () => nowMs,
    advance(ms) {
      if (ms < 0) throw new RangeError('a clock cannot run backwards');
      nowMs += ms;
    },
  };
}
