import type { Clock } from '../clock.ts';

/**
 * How long before its deadline a change must commit if other processes read: covers the commit and clock differences.
 */
export const COMMIT_MARGIN_MS = 250;

interface Deadline {
  readonly end: number;
  readonly late: () => Error;
}

export type TransactionDeadlines = ReturnType<VisibilityDeadlines['forTransaction']>;

/** The deadlines of all running transactions of this process; see `Transaction.requireVisibleBefore`. */
export class VisibilityDeadlines {
  readonly #clock: Clock;
  readonly #marginMs: number;
  readonly #running = new Set<Deadline>();
  #lastNow = 0;

  /** @param marginMs how long before its deadline a change must commit; 0 if every reader uses `readTimestamp` */
  constructor(clock: Clock, marginMs: number) {
    this.#clock = clock;
    this.#marginMs = marginMs;
  }

  /** Returns the time of the clock in whole milliseconds. It never runs backwards. */
  now(): number {
    this.#lastNow = Math.max(this.#lastNow, Math.floor(this.#clock.now()));
    return this.#lastNow;
  }

  /** Returns the latest time, at most `now`, that is before every deadline of a running transaction. */
  readonly readTimestamp = (now: number): number => {
    let timestamp = now;
    for (const { end } of this.#running) timestamp = Math.min(timestamp, end - 1);
    return timestamp;
  };

  /** Returns the deadlines of a transaction that sets one. */
  forTransaction() {
    const own: Deadline[] = [];
    return {
      /** See `Transaction.requireVisibleBefore`. */
      requireVisibleBefore: (end: number, late: () => Error) => {
        // Readers may already have used this clock's present time.
        if (this.now() >= end) throw late();
        const deadline = { end, late };
        own.push(deadline);
        this.#running.add(deadline);
      },
      /** Throws if the transaction may become visible too late. Call it last before the commit. */
      check: () => {
        if (own.length === 0) return;
        const now = this.now() + this.#marginMs;
        for (const { end, late } of own) if (now >= end) throw late();
      },
      /** Call it once the transaction is visible or rolled back. */
      end: () => {
        for (const deadline of own) this.#running.delete(deadline);
      },
    };
  }
}
