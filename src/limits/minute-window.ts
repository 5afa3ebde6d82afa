/** The window's length. */
const SECONDS = 60;

/**
 * The second in which a request that comes at `now` (milliseconds) counts: rounded up, so that it comes back no sooner
 * than 60 s later.
 */
export function secondOf(now: number): number {
  // First to whole milliseconds: a division of the fraction could round it away.
  return Math.ceil(Math.ceil(now) / 1000);
}

/**
 * The requests that one account or address has counted in the last 60 seconds.
 *
 * A request counts in the second `ceil(time)` and comes back at that + 60: never more than the limit in any 60 s, an
 * exact Reset, and at most 61 counters however large the limit is (decision "limits").
 */
export class MinuteWindow {
  /** How many requests are counted, once `expire` was called for the moment. */
  total = 0;
  /** Seconds and their counts in turn, oldest first. */
  readonly pairs: number[] = [];
  /** Requests count in no second before this one: what earlier seconds hold is counted elsewhere too. */
  fence = 0;

  /** Lets go of what has come back by `now` (milliseconds, never before an earlier one). */
  expire(now: number): void {
    const { pairs } = this;
    while (pairs.length > 0 && (pairs[0]! + SECONDS) * 1000 <= now) {
      this.total -= pairs[1]!;
      pairs.shift();
      pairs.shift();
    }
  }

  /** Counts requests in a second, or in the latest one counted where that is later. */
  add(second: number, requests = 1): void {
    const { pairs } = this;
    this.total += requests;
    if (pairs.length > 0 && pairs[pairs.length - 2]! >= Math.max(second, this.fence)) {
      pairs[pairs.length - 1]! += requests;
    } else pairs.push(Math.max(second, this.fence), requests);
  }

  /** The seconds from `from` on with their counts in turn. */
  since(from: number): number[] {
    const { pairs } = this;
    let i = pairs.length;
    while (i > 0 && pairs[i - 2]! >= from) i -= 2;
    return pairs.slice(i);
  }

  /** As `since`, to be counted elsewhere from now on: what is counted here afterwards counts in later seconds. */
  handOver(from: number): number[] {
    const handed = this.since(from);
    if (handed.length > 0) this.fence = handed.at(-2)! + 1;
    return handed;
  }

  /**
   * The Unix second at which the first counted request comes back, and where nothing is left of `limit`, at which a
   * request will be accepted: later than the first where a plan was lowered below what is counted.
   *
   * Where nothing is counted yet, as though a request came in `second`.
   */
  reset(limit: number, second: number): number {
    const { pairs } = this;
    let left = this.total;
    for (let i = 0; i < pairs.length; i += 2) {
      left -= pairs[i + 1]!;
      if (left < limit) return pairs[i]! + SECONDS;
    }
    return second + SECONDS;
  }
}
