/** The length of a stall, in milliseconds: a longer pause between two calls counts as this long. */
const STALL_MS = 20;
/** How much one pause changes the mean. */
const WEIGHT = 1 / 64;

/**
 * Estimates how long a new call will wait in a queue: the number of calls before it times the recent pause between
 * calls. A stall changes the estimate little, since it does not slow the calls after it.
 */
export class WaitEstimate {
  #waiting = 0;
  /** The mean time between two calls that leave the queue, in milliseconds; too short until some have left it. */
  #pauseMs = 0;
  /** When the last call left while others waited, in milliseconds. */
  #lastLeftMs: number | undefined;

  /** Records that a call has entered the queue. */
  enter(): void {
    this.#waiting++;
  }

  /** Records that a call has left the queue at `nowMs`. */
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
