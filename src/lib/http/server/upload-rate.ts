/** The time over which the average is measured. */
export const RATE_SECONDS = 10;
/** How long an upload may be below the minimum rate before it ends. */
export const SLOW_MS = 10_000;

/** The minimum average rate of an upload, in bytes per second. */
export const BYTES_PER_SECOND_MIN = 2048;

/** Measures how fast a client sends a body. Counts only the time during which the server waits for more bytes. */
export class UploadRate {
  readonly #now: () => number;
  /** The bytes of the last ten seconds: each second at its number modulo ten. */
  readonly #bytes = new Array<number>(RATE_SECONDS).fill(0);
  #second = 0;
  #waitedMs = 0;
  #waitingSince: number | undefined;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether the server waits for bytes at the moment. */
  get isWaiting(): boolean {
    return this.#waitingSince !== undefined;
  }

  beginWait(): void {
    this.#waitingSince ??= this.#now();
  }

  endWait(): void {
    this.#waitedMs = this.#readWaitedMs();
    this.#waitingSince = undefined;
  }

  add(bytes: number): void {
    this.#forgetOld(this.#readWaitedMs());
    this.#bytes[this.#second % RATE_SECONDS]! += bytes;
  }

  /**
   * Returns the average in bytes per second, over the last ten seconds at most, if it is below the minimum.
   * @param afterMs how long the server must have waited for bytes before the average counts
   */
  belowMinimum(afterMs: number): number | undefined {
    const waitedMs = this.#readWaitedMs();
    if (waitedMs < afterMs) return undefined;
    this.#forgetOld(waitedMs);
    const measuredMs = Math.min(waitedMs, (RATE_SECONDS - 1) * 1000 + (waitedMs % 1000));
    const average = (this.#bytes.reduce((sum, bytes) => sum + bytes, 0) * 1000) / measuredMs;
    return average < BYTES_PER_SECOND_MIN ? average : undefined;
  }

  #readWaitedMs(): number {
    return this.#waitedMs + (this.#waitingSince === undefined ? 0 : this.#now() - this.#waitingSince);
  }

  #forgetOld(waitedMs: number): void {
    const second = Math.floor(waitedMs / 1000);
    while (this.#second < second) this.#bytes[++this.#second % RATE_SECONDS] = 0;
  }
}
