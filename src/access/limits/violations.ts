import { VIOLATION_GRACE_MS, VIOLATIONS_MAX, VIOLATIONS_MS } from '../../model/rules.ts';

/**
 * The violations of one key.
 *
 * A *violation* is a rejected request that arrives more than 2 s after the first rejection of a run, and before the
 * reset of the latest one. A run of rejections ends with the next accepted request; its violations still count.
 */
export class Violations {
  /** When the run of rejections started; NaN outside of one. */
  #firstRejection = Number.NaN;
  /** The reset of the latest rejection, in Unix seconds. */
  #allowedAt = 0;
  readonly #at: number[] = [];

  /**
   * Records a rejection at `now` (milliseconds) with the reset `allowedAt` (Unix seconds).
   * @param atFault whether it can be a violation: false if another key has used the account, or other accounts have
   *   used the limits of the sandbox
   * @returns true if this violation bans the key
   */
  recordRejection(now: number, allowedAt: number, atFault: boolean): boolean {
    if (atFault && now - this.#firstRejection > VIOLATION_GRACE_MS && now < this.#allowedAt * 1000) this.#at.push(now);
    if (Number.isNaN(this.#firstRejection)) this.#firstRejection = now;
    this.#allowedAt = allowedAt;
    while (this.#at.length > 0 && now - this.#at[0]! > VIOLATIONS_MS) this.#at.shift();
    return this.#at.length >= VIOLATIONS_MAX;
  }

  /**
   * Ends the run of rejections with an accepted request.
   * @returns true if no violation of the key counts any more
   */
  recordAccepted(now: number): boolean {
    this.#firstRejection = Number.NaN;
    return this.#at.length === 0 || now - this.#at.at(-1)! > VIOLATIONS_MS;
  }

  /** Shifts all times by a number of seconds, because the clock was set. */
  shift(seconds: number): void {
    this.#firstRejection += seconds * 1000;
    this.#allowedAt += seconds;
    for (const i of this.#at.keys()) this.#at[i]! += seconds * 1000;
  }
}

/** When requests of an account's keys were last accepted: of the latest key, and of the others. */
export class KeyUse {
  #latest: string | undefined;
  #latestAt = Number.NEGATIVE_INFINITY;
  #otherAt = Number.NEGATIVE_INFINITY;

  /** @param wasUsed whether the windows already count other requests. If no key is known, these are of another key */
  recordAccepted(keyId: string, now: number, wasUsed: boolean): void {
    if (keyId !== this.#latest) {
      this.#otherAt = this.#latest === undefined && wasUsed ? now : this.#latestAt;
      this.#latest = keyId;
    }
    this.#latestAt = now;
  }

  /** Returns when any other key last had a request accepted (milliseconds); infinity if that is unknown. */
  otherThan(keyId: string): number {
    if (this.#latest === undefined) return Number.POSITIVE_INFINITY;
    return keyId === this.#latest ? this.#otherAt : this.#latestAt;
  }

  /** Removes all keys, because another process counted requests of other keys. */
  clear(): void {
    this.#latest = undefined;
    this.#latestAt = Number.NEGATIVE_INFINITY;
  }

  shift(seconds: number): void {
    this.#latestAt += seconds * 1000;
    this.#otherAt += seconds * 1000;
  }
}
