/** A pause between two calls that takes longer is a stall, and counts as one of this length, in milliseconds. */
const STALL_MS = 20;
/** How much one pause changes the mean. */
const WEIGHT = 1 / 64;

/**
 * Estimates how long a new call will wait in a queue: as long as the calls before it need at the recent rate. A stall changes
 * the estimate little, since it says nothing about the calls after it.
 */
export class WaitEstimate {
  #waiting = 0;
  /** The mean time from one call that leaves the queue to the next, in milliseconds; too short until some have left it. */
  #pauseMs = 0;
  /** When the last call left while others waited, in milliseconds. */
  #lastLeftMs: number | undefined;

  /** Records that a call begins to wait. */
  enter(): void {
    this.#waiting++;
  }

  /** Records that a call has waited long enough, at `nowMs`. */
  leave(nowMs: number): void {
    this.#waiting--;
    if (this.#lastLeftMs !== undefined) {
      this.#pauseMs += (Math.min(nowMs - this.#lastLeftMs, STALL_MS) - this.#pauseMs) * WEIGHT;
    }
    this.#lastLeftMs = this.#waiting === 0 ? undefined : nowMs;
  }

  /** Returns how long a call that enters now will probably wait, in milliseconds. */
  expectedMs(): number {
    return this.#waiting * this.#pauseMs;
  }
}
