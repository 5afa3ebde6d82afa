/** This long after the first refusal, what is still in flight is no violation. */
const GRACE_MS = 2000;
/** So many violations within so long ban a key. */
export const violationsMax = 20;
export const violationsWithinMs = 60_000;

/**
 * How one key takes being refused.
 *
 * A *violation* is a refused request that came more than 2 s after the first refusal of the episode, and before the
 * moment that the latest refusal named. An episode ends with the next accepted request; its violations do not.
 */
export class Violations {
  /** When the episode began; NaN outside of one. */
  #firstRefusal = Number.NaN;
  /** The Unix second that the latest refusal named. */
  #allowedAt = 0;
  readonly #at: number[] = [];

  /**
   * Takes note of a refusal at `now` (milliseconds) that names `allowedAt` (Unix seconds).
   * @returns true when this is the violation that bans the key; all is forgotten then
   */
  refused(now: number, allowedAt: number): boolean {
    if (now - this.#firstRefusal > GRACE_MS && now < this.#allowedAt * 1000) this.#at.push(now);
    if (Number.isNaN(this.#firstRefusal)) this.#firstRefusal = now;
    this.#allowedAt = allowedAt;
    while (this.#at.length > 0 && now - this.#at[0]! > violationsWithinMs) this.#at.shift();
    return this.#at.length >= violationsMax;
  }

  /**
   * Ends the episode with an accepted request.
   * @returns whether nothing is left that could count against the key
   */
  accepted(now: number): boolean {
    this.#firstRefusal = Number.NaN;
    return this.#at.length === 0 || now - this.#at.at(-1)! > violationsWithinMs;
  }
}
