import type { Clock } from '../lib/clock.ts';

/** The clock of this process, adjusted to Valkey's; it never runs backwards. */
export class SharedClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    this.#last = Math.max(this.#last, this.#clock.now() + this.#aheadMs);
    return this.#last;
  }

  /** Adjusts to Valkey's time (seconds and microseconds), and returns it in milliseconds. */
  follow(sec: number, us: number): number {
    const nowMs = sec * 1000 + us / 1000;
    this.#aheadMs = nowMs - this.#clock.now();
    return nowMs;
  }
}
