/**
 * Tells the time, and never a time before one it told earlier.
 *
 * Every time that the product stores or shows comes from the one clock that its caller was given, never from the
 * database or from `Date.now()`, so that tests can move it.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, with a fraction; never less than any value returned before. */
  now(): number;
  /**
   * The machine's own time in milliseconds since the Unix epoch, which may also be set back; left out where that is `now`.
   * For what other machines compare with their clocks at once, and nothing else.
   */
  wallTime?(): number;
}

/** The clock of a process. */
export interface SystemClock extends Clock {
  /** From now on tells no time before `ms` (milliseconds since the Unix epoch). */
  advanceTo(ms: number): void;
}

/** How often a clock compares itself with the wall clock. */
const LOOK_MS = 1000;

/**
 * A clock that runs at the speed of the machine's monotonic clock from an anchor on the wall clock.
 *
 * When the wall clock is set back, this one runs on; when it is set ahead (or the machine slept), this one follows within
 * a second. It never leads the wall clock of a machine whose time was not set back, and is behind it by less than the
 * millisecond that the wall clock's own time may lack.
 * @param startAtMs where the clock starts, for rehearsals (`PETSTORE_NOW`); left out, it is the wall clock's time
 */
export function systemClock(startAtMs?: number): SystemClock {
  let anchorMs = (startAtMs ?? Date.now()) - performance.now();
  let nextLookMs = 0;
  function now() {
    let elapsedMs = performance.now();
    if (startAtMs === undefined && elapsedMs >= nextLookMs) {
      nextLookMs = elapsedMs + LOOK_MS;
      // The wall clock first: a process that is held up between the two never takes that for a lead.
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

/** A clock that stands still until a test moves it. */
export interface TestClock extends Clock {
  /** Moves the clock ahead by `ms` milliseconds. */
  advance(ms: number): void;
}

/** A clock for tests, standing at `startAtMs` (milliseconds since the Unix epoch) until it is moved. */
export function testClock(startAtMs: number): TestClock {
  let nowMs = startAtMs;
  return {
    now: () => nowMs,
    advance(ms) {
      if (ms < 0) throw new RangeError('a clock never runs backwards');
      nowMs += ms;
    },
  };
}
