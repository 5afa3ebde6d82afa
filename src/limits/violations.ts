/** Requests this soon after the first rejection were in flight already, and are no violations. */
const GRACE_MS = 2000;
/** This many violations in this time ban a key. */
const VIOLATIONS_MAX = 20;
const WITHIN_MS = 60_000;

/**
 * The violations of one key.
 *
 * A *violation* is a rejected request that arrives more than 2 s after the first rejection of a run, and before the reset
 * of the latest one. A run of rejections ends with the next accepted request; its violations still count.
 */
export class Violations {
  /** When the run of rejections started; NaN outside of one. */
  #firstRejection = Number.NaN;
  /** The reset of the latest rejection, in Unix seconds. */
  #allowedAt = 0;
  readonly #at: number[] = [];

  /**
   * Records a rejection at `now` (milliseconds) with the reset `allowedAt` (Unix seconds).
   * @param atFault whether it can be a violation: not if another key has used up the account's limits, or other accounts those of the sandbox
   * @returns true if this violation bans the key
   */
  recordRejection(now: number, allowedAt: number, atFault: boolean): boolean {
    if (atFault && now - this.#firstRejection > GRACE_MS && now < this.#allowedAt * 1000) this.#at.push(now);
    if (Number.isNaN(this.#firstRejection)) this.#firstRejection = now;
    this.#allowedAt = allowedAt;
    while (this.#at.length > 0 && now - this.#at[0]! > WITHIN_MS) this.#at.shift();
    return this.#at.length >= VIOLATIONS_MAX;
  }

  /**
   * Ends the run of rejections with an accepted request.
   * @returns true if no violation counts against the key any more
   */
  recordAccepted(now: number): boolean {
    this.#firstRejection = Number.NaN;
    return this.#at.length === 0 || now - this.#at.at(-1)! > WITHIN_MS;
  }

  /** Moves everything by a number of seconds, because the clock was set. */
  shift(seconds: number): void {
    this.#firstRejection += seconds * 1000;
    this.#allowedAt += seconds;
    for (const i of this.#at.keys()) this.#at[i]! += seconds * 1000;
  }
}

/**
 * Finds the key that sent most of an account's accepted requests, by a majority vote (Boyer and Moore) that starts again
 * with the first request after a minute. Without a majority it is one of the keys.
 */
export class HeaviestKey {
  #keyId: string | undefined;
  #votes = 0;
  /** When the vote started. */
  #since = Number.NaN;

  recordAccepted(keyId: string, now: number): void {
    if (!(now - this.#since <= WITHIN_MS)) {
      this.#since = now;
      this.#votes = 0;
    } else if (keyId !== this.#keyId && this.#votes > 0) {
      this.#votes--;
      return;
    }
    this.#keyId = keyId;
    this.#votes++;
  }

  /** Reports whether it is this key, or unknown. */
  isOrUnknown(keyId: string): boolean {
    return this.#keyId === undefined || this.#keyId === keyId;
  }

  shift(seconds: number): void {
    this.#since += seconds * 1000;
  }
}
