import type { Clock } from '../clock.ts';
import type { Soon } from '../soon.ts';

/** Work that waits as rows, and how it is done. */
export interface Work<Job> {
  /** When the next of it is due (milliseconds since the Unix epoch, also in the past), if any waits; one cheap query. */
  dueAt(): Soon<number | undefined>;
  /**
   * Takes what is due, so that no other process does: in one transaction either does it, or notes in its rows that it is
   * in hand for a while and answers with it.
   * @param most how many jobs may be answered with
   */
  take(most: number): Promise<Taken<Job>>;
  /** Does one job, and notes in its row what came of it. One that fails is due again when the while is over. */
  work(job: Job): Promise<void>;
}

/** What was taken. */
export interface Taken<Job> {
  /** How many rows there were: where there was none, others have what is due. */
  readonly rows: number;
  /** What is still to be done. */
  readonly jobs: readonly Job[];
}

/** Who works it off. */
export interface Worker {
  /** Looks at once: there may be more. */
  nudge(): void;
  /** Takes nothing new in hand, and waits for what is in hand, for `boundMs` at most. Safe to repeat. */
  close(boundMs: number): Promise<void>;
}

/**
 * Works off what waits, from now on: what is due at once, and what will be when it is.
 *
 * Looks once every `lookMs` when there is nothing to do, which finds what other processes left behind; what this process
 * adds it is nudged for. Several processes may share the rows. A process that is killed loses nothing: what it had in hand
 * is due again.
 * @param options.atOnce how many jobs are in hand at the same time, at most
 * @param options.failed told of everything that goes wrong here; it is tried again at the next look
 */
export function workOff<Job>(
  { dueAt, take, work }: Work<Job>,
  options: {
    readonly clock: Clock;
    readonly atOnce: number;
    readonly lookMs: number;
    failed(error: unknown): void;
  },
): Worker {
  const { clock, atOnce, lookMs, failed } = options;
  const inHand = new Set<Promise<void>>();
  let closed = false;
  let looking: Promise<void> | undefined;
  let nudged = false;
  let timer: NodeJS.Timeout | undefined;

  nudge();
  return {
    nudge,
    async close(boundMs) {
      closed = true;
      clearTimeout(timer);
      const done = (async () => {
        await looking;
        await Promise.all(inHand);
      })();
      const bound = Promise.withResolvers<void>();
      const end = setTimeout(bound.resolve, boundMs);
      await Promise.race([done, bound.promise]);
      clearTimeout(end);
    },
  };

  function nudge(): void {
    if (closed) return;
    nudged = true;
    clearTimeout(timer);
    looking ??= look();
  }

  async function look(): Promise<void> {
    let waitMs = 0;
    while (!closed && (nudged || waitMs === 0)) {
      nudged = false;
      waitMs = await takeDue();
    }
    looking = undefined;
    if (!closed) timer = setTimeout(nudge, waitMs).unref();
  }

  /** Takes what is due and may be in hand; for how many milliseconds there is nothing to do then. */
  async function takeDue(): Promise<number> {
    const free = atOnce - inHand.size;
    // Whatever ends looks for more.
    if (free <= 0) return lookMs;
    try {
      const due = await dueAt();
      if (due === undefined || closed) return lookMs;
      const aheadMs = Math.ceil(due - clock.now());
      if (aheadMs > 0) return Math.min(lookMs, aheadMs);
      const { rows, jobs } = await take(free);
      for (const job of jobs) start(job);
      return rows === 0 ? lookMs : 0;
    } catch (error) {
      if (!closed) failed(error);
      return lookMs;
    }
  }

  function start(job: Job): void {
    const done = work(job)
      .catch(failed)
      .then(() => {
        inHand.delete(done);
        nudge();
      });
    inHand.add(done);
  }
}
