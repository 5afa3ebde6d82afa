import { type Clock, withoutSteps } from '../lib/clock.ts';

/** From which difference on Valkey's clock was set. Smaller ones are late replies and corrections by NTP. */
const STEP_MS = 5000;

/**
 * Valkey's clock, as this process knows it: it goes on between replies, whatever the wall clock of this machine does. It runs
 * backwards only when Valkey's clock was set back.
 */
export class SharedClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;
  #last = 0;
  #steppedMs = 0;
  #hasFollowed = false;
  #setAhead = 0;

  constructor(clock: Clock) {
    this.#clock = withoutSteps(clock);
  }

  now(): number {
    this.#last = Math.max(this.#last, this.#clock.now() + this.#aheadMs);
    return this.#last;
  }

  /** Returns by how many milliseconds Valkey's clock was set ahead, in whole seconds; negative if it was set back. */
  steppedMs(): number {
    return this.#steppedMs;
  }

  /** How often Valkey's clock was set ahead: the keys in it have expired since. */
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
    this.#steppedMs += Math.floor(stepMs / 1000) * 1000;
    this.#last = nowMs;
    return nowMs;
  }
}
