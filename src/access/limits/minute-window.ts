const SECONDS = 60;
/** After this time every request has left the minute window. */
export const MINUTE_AGE_MS = 61_000;

/**
 * Returns the second in which a request at `now` (milliseconds) counts: rounded up, so that it leaves the window no
 * sooner than 60 s later.
 */
export function secondOf(now: number): number {
  // Round to whole milliseconds first: the division could round the fraction away.
  return Math.ceil(Math.ceil(now) / 1000);
}

/**
 * A sliding window: the requests of one subject or address in the last 60 seconds.
 *
 * A request counts in the second `ceil(time)` and leaves the window at that + 60. So no 60 seconds have more requests
 * than the limit, Reset is exact, and there are at most 61 counters for any limit (docs/decisions/rate-limits.md).
 */
export class MinuteWindow {
  /** The number of requests in the window, as of the last call of `expire`. */
  total = 0;
  /** Seconds and their counts in turn, oldest first. */
  readonly pairs: number[] = [];
  /** The first second in which this process counts; Valkey has the earlier ones. */
  firstSecond: number;

  constructor(firstSecond = 0) {
    this.firstSecond = firstSecond;
  }

  /** Stops counting requests in seconds before `second`, which Valkey has counted. */
  startAt(second: number): void {
    if (this.firstSecond < second) this.firstSecond = second;
  }

  /** Removes the requests that have left the window by `now` (milliseconds; must not run backwards). */
  expire(now: number): void {
    const { pairs } = this;
    while (pairs.length > 0 && (pairs[0]! + SECONDS) * 1000 <= now) {
      this.total -= pairs[1]!;
      pairs.shift();
      pairs.shift();
    }
  }

  /** Counts requests in a second, or in the latest counted second if that is later. */
  add(second: number, requests = 1): void {
    const { pairs } = this;
    const counted = Math.max(second, this.firstSecond);
    this.total += requests;
    if (pairs.length > 0 && pairs[pairs.length - 2]! >= counted) pairs[pairs.length - 1]! += requests;
    else pairs.push(counted, requests);
  }

  /**
   * Removes a request that was added in `second`; has no effect once it has left the window by `now` (milliseconds).
   */
  remove(second: number, now: number): void {
    const { pairs } = this;
    if ((second + SECONDS) * 1000 <= now) return;
    let i = 0;
    // It may be counted in a later second; see `add`.
    while (i < pairs.length && pairs[i]! < second) i += 2;
    if (i === pairs.length) return;
    this.total--;
    if (--pairs[i + 1]! === 0) pairs.splice(i, 2);
  }

  /** Shifts all requests by a number of seconds, because the clock was set. */
  shift(seconds: number): void {
    const { pairs } = this;
    for (let i = 0; i < pairs.length; i += 2) pairs[i]! += seconds;
    if (this.firstSecond > 0) this.firstSecond += seconds;
  }

  /** Returns the pairs from the second `from` on: seconds and their counts in turn. */
  since(from: number): number[] {
    const { pairs } = this;
    let i = pairs.length;
    while (i > 0 && pairs[i - 2]! >= from) i -= 2;
    return pairs.slice(i);
  }

  /** Returns the same as `since`, for counts that move to Valkey: later requests count in later seconds. */
  transfer(from: number): number[] {
    const handed = this.since(from);
    if (handed.length > 0) this.firstSecond = handed.at(-2)! + 1;
    return handed;
  }

  /**
   * Returns the Unix second at which the oldest request leaves the window. If `limit` is used up, returns the second at
   * which a request will be accepted, which is later if the plan was lowered below the count.
   *
   * An empty window counts as if a request arrived in `second`.
   */
  reset(limit: number, second: number): number {
    const { pairs } = this;
    let left = this.total;
    for (let i = 0; i < pairs.length; i += 2) {
      left -= pairs[i + 1]!;
      if (left < limit) return pairs[i]! + SECONDS;
    }
    return Math.max(second, this.firstSecond) + SECONDS;
  }
}
