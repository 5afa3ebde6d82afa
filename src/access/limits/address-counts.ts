import { addressPerMinute } from '../../model/plan.ts';
import { GenerationalCache } from './generational-cache.ts';
import { MINUTE_AGE_MS, MinuteWindow, secondOf } from './minute-window.ts';
import { addressWindows, type Verdict, verdictOf } from './verdict.ts';

/**
 * The maximum number of addresses in memory; beyond it, the counts of the least recently seen addresses are dropped.
 */
const ADDRESSES_MAX = 100_000;

const EMPTY_WINDOW = new MinuteWindow();

/** The requests without a valid key of the last minute, by address. Times are milliseconds of a monotonic clock. */
export class AddressCounts {
  readonly #minutes = new GenerationalCache<string, MinuteWindow>(ADDRESSES_MAX, MINUTE_AGE_MS);
  #limit: number = addressPerMinute;
  /** The first second that Valkey has not counted. */
  #fence = 0;
  /** The value of the clock's `steppedMs` to which the windows were shifted. */
  #steppedMs = 0;

  /** Counts a request, unless the limit is reached. */
  count(address: string, now: number): Verdict {
    const minute = this.minute(address, now);
    const fits = minute.total < this.#limit;
    if (fits) minute.add(secondOf(now));
    return this.#verdict(fits ? 'accepted' : 'limited', minute, now);
  }

  status(address: string, now: number): Verdict {
    const minute = this.#minutes.peek(address) ?? EMPTY_WINDOW;
    minute.expire(now);
    return this.#verdict('accepted', minute, now);
  }

  has(address: string, now: number): boolean {
    const minute = this.#minutes.peek(address);
    minute?.expire(now);
    return minute !== undefined && minute.total > 0;
  }

  /** Records how many requests Valkey has counted for an address by `second`. */
  record(address: string, second: number, total: number, now: number): void {
    const minute = this.minute(address, now);
    if (total > minute.total) minute.add(second, total - minute.total);
  }

  /** Returns the window of an address; adds an empty window if there is none. */
  minute(address: string, now: number): MinuteWindow {
    const minute = this.#minutes.getOrInsertComputed(address, now - this.#steppedMs, () => new MinuteWindow());
    minute.startAt(this.#fence);
    minute.expire(now);
    return minute;
  }

  *minutes(): Generator<readonly [address: string, minute: MinuteWindow]> {
    for (const [address, minute] of this.#minutes.entries()) {
      minute.startAt(this.#fence);
      yield [address, minute];
    }
  }

  /** From now on, enforces one of `nodes` equal shares of the limit. */
  share(nodes: number): void {
    this.#limit = Math.max(1, Math.floor(addressPerMinute / nodes));
  }

  /** Stops counting requests in seconds before `fence`, which Valkey has counted. */
  startAt(fence: number): void {
    this.#fence = fence;
  }

  /** Shifts all windows by a number of seconds, because the clock was set. */
  shift(seconds: number): void {
    this.#steppedMs += seconds * 1000;
    if (this.#fence > 0) this.#fence += seconds;
    for (const [, minute] of this.#minutes.entries()) minute.shift(seconds);
  }

  #verdict(outcome: 'accepted' | 'limited', minute: MinuteWindow, now: number): Verdict {
    const left = Math.max(0, this.#limit - minute.total);
    return verdictOf(outcome, addressWindows(this.#limit, now, left, minute.reset(this.#limit, secondOf(now))));
  }
}
