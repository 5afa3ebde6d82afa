/**
 * So long before an end a change that must be seen before it has to be through where other processes read beside it:
 * within this a commit comes about, and what their clocks differ by.
 */
export const COMMIT_MS = 250;

/** The ends before which changes that are under way in this process have to be seen. */
export class VisibilityDeadlines {
  readonly #clock: () => number;
  readonly #marginMs: number;
  readonly #underWay = new Set<Deadline>();

  /**
   * @param clock whole milliseconds, never less than before
   * @param marginMs how long before its end a change must be through; 0 where nobody reads but who asks `readableAt`
   */
  constructor(clock: () => number, marginMs: number) {
    this.#clock = clock;
    this.#marginMs = marginMs;
  }

  /** The latest time up to `now` at which readers know how things are: no end of what is under way has come by then. */
  readableAt(now: number): number {
    let readable = now;
    for (const { end } of this.#underWay) readable = Math.min(readable, end - 1);
    return readable;
  }

  /** Those of one transaction. */
  ofOne(): TransactionDeadlines {
    const own: Deadline[] = [];
    return {
      seenBefore: (end, late) => {
        // What readers have been told by now was told by the same clock.
        if (this.#clock() >= end) throw late();
        const deadline = { end, late };
        own.push(deadline);
        this.#underWay.add(deadline);
      },
      judge: () => {
        if (own.length === 0) return;
        const now = this.#clock() + this.#marginMs;
        for (const { end, late } of own) if (now >= end) throw late();
      },
      over: () => {
        for (const deadline of own) this.#underWay.delete(deadline);
      },
    };
  }
}

/** The ends before which one transaction has to be seen. */
export interface TransactionDeadlines {
  /** As a `Transaction` promises it. */
  seenBefore(end: number, late: () => Error): void;
  /** Throws where it cannot be sure any more that the transaction is seen in time. The last thing before the commit. */
  judge(): void;
  /** The transaction is seen, or nothing is left of it. */
  over(): void;
}

interface Deadline {
  readonly end: number;
  readonly late: () => Error;
}
