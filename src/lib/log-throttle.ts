/** How long nothing may have happened for what comes next to be a new episode. */
const QUIET_MS = 10_000;

/** Tells the beginning of an episode from what happens in it, so that a log says a thing once and not a thousand times. */
export class LogThrottle {
  readonly #lastMs = new Map<string, number>();

  /**
   * Notes that something happens; whether an episode begins with it: whether it has not happened for ten seconds.
   * @param kind one of a small number of words
   * @param nowMs milliseconds that never run backwards
   */
  begins(kind: string, nowMs = performance.now()): boolean {
    const lastMs = this.#lastMs.get(kind) ?? Number.NEGATIVE_INFINITY;
    this.#lastMs.set(kind, nowMs);
    return nowMs - lastMs > QUIET_MS;
  }
}
