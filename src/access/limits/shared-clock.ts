import { type Clock, withoutSteps } from '../../lib/clock.ts';

/**
 * The smallest difference that counts as a step of Valkey's clock. Late replies and NTP corrections cause smaller ones.
 */
const STEP_MS = 5000;

/**
 * Valkey's clock as this process knows it. Between replies, it follows the monotonic clock of this machine. It runs
 * backwards only when Valkey's clock was set back.
 */
export class SharedClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;
  #last = 0;
  /** By how many milliseconds Valkey's clock was set ahead, in whole seconds; negative if it was set back. */
  steppedMs = 0;
  #hasFollowed = false;
  #setAhead = 0;

  constructor(clock: Clock) {
    this.#clock = withoutSteps(clock);
  }

  now(): number {
    this.#last = Math.max(this.#last, this.#clock.now() + this.#aheadMs);
    return this.#last;
  }

  /** How often Valkey's clock was set ahead, which expires keys in Valkey. */
  get setAhead(): number {
    return this.#setAhead;
  }

  /** Adjusts to Valkey's time (seconds and microseconds), and returns it in milliseconds. */
  follow(sec: number, us: number): number {
    const nowMs = sec * 1000 + us / 1000;
    const aheadMs = nowMs - this.#clock.now();
    const stepMs = aheadMs - this.#aheadMs;
    this.#aheadMs = aheadMs;
    const isFirst = !this.#hasFollowed;
    this.#hasFollowed = true;
    if (Math.abs(stepMs) < STEP_MS) return nowMs;
    if (stepMs > 0 && !isFirst) this.#setAhead++;
    this.steppedMs += Math.floor(stepMs / 1000) * 1000;
    this.#last = nowMs;
    return nowMs;
  }
}
