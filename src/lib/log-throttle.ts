/** The quiet period after which an event is logged again. */
const QUIET_MS = 10_000;

/** Limits repeated log messages: reports only the first of a series of events of one kind. */
export class LogThrottle {
  readonly #lastMs = new Map<string, number>();

  /**
   * Records an event. Reports whether to log it: true if no event of its kind occurred for ten seconds.
   * @param kind one of a small number of kinds
   * @param nowMs monotonic time in milliseconds
   */
  shouldLog(kind: string, nowMs = performance.now()): boolean {
    const lastMs = this.#lastMs.get(kind) ?? Number.NEGATIVE_INFINITY;
    this.#lastMs.set(kind, nowMs);
    return nowMs - lastMs > QUIET_MS;
  }
}
