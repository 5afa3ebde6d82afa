import { GenerationalCache } from '../access/limits/generational-cache.ts';
import { MINUTE_AGE_MS, MinuteWindow, secondOf } from '../access/limits/minute-window.ts';
import { type Clock, withoutSteps } from '../lib/clock.ts';
import { Problem } from '../lib/http/problem.ts';

/** The maximum number of clients in memory; beyond it, the counts of the least recently seen clients are dropped. */
const CLIENTS_MAX = 100_000;

/**
 * Limits the pages that one client makes this process render in any 60 seconds. A page costs up to 6 ms of the thread
 * that serves the API, and so does each turn of a scan, which also counts as a page. A page from the cache costs no
 * more than an operation.
 */
export class PageLimiter {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #windows = new GenerationalCache<string, MinuteWindow>(CLIENTS_MAX, MINUTE_AGE_MS);

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = withoutSteps(clock);
  }

  /**
   * Counts a page before it is rendered.
   * @param client an account or a network
   * @throws {Problem} `too_many_pages`
   */
  count(client: string): void {
    const now = this.#clock.now();
    const minute = this.#minuteOf(client, now);
    if (minute.total < this.#perMinute) {
      minute.add(secondOf(now));
      return;
    }
    const seconds = Math.ceil(minute.reset(this.#perMinute, secondOf(now)) - now / 1000);
    const message =
      'Too many pages were opened from your network or account in the last minute. Try again in a minute.';
    throw new Problem('too_many_pages', 429, message, { headers: ['Retry-After', `${seconds}`] });
  }

  /** Counts additional work of a page as another page, even beyond the limit. */
  add(client: string): void {
    const now = this.#clock.now();
    this.#minuteOf(client, now).add(secondOf(now));
  }

  #minuteOf(client: string, now: number): MinuteWindow {
    const minute = this.#windows.getOrInsertComputed(client, now, () => new MinuteWindow());
    minute.expire(now);
    return minute;
  }
}
