/** Calls a function at a deadline that moves with each statement, but sets a timer only once per call or less. */
export class DeadlineTimer {
  readonly #onLate: () => void;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #firesMs = Number.POSITIVE_INFINITY;

  constructor(onLate: () => void) {
    this.#onLate = onLate;
  }

  /** @param deadlineMs on the scale of `performance.now()`; `leftMs` is the time until then */
  set(deadlineMs: number, leftMs: number): void {
    this.#deadlineMs = deadlineMs;
    if (deadlineMs >= this.#firesMs || leftMs === Number.POSITIVE_INFINITY) return;
    clearTimeout(this.#timer);
    this.#firesMs = deadlineMs;
    // The connection keeps the process alive while it waits for a result.
    this.#timer = setTimeout(() => this.#onTimer(), Math.ceil(leftMs)).unref();
  }

  /** Removes the deadline. The timer stays for the next one, which is usually later. */
  clear(): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
  }

  #onTimer(): void {
    this.#firesMs = Number.POSITIVE_INFINITY;
    const leftMs = this.#deadlineMs - performance.now();
    if (leftMs > 0) this.set(this.#deadlineMs, leftMs);
    else this.#onLate();
  }
}
