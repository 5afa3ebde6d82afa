import type { Clock } from '../clock.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** One kind of work that waits as rows, and how it is done. */
export interface Work<Job> {
  /** What it is called: what nudges and what is asked for its next due time say. */
  readonly name: string;
  /** How many jobs are in hand at the same time, at most. */
  readonly atOnce: number;
  /** How long it leaves everybody else alone after each time that something was taken; 0 where left out. */
  readonly restMs?: number;
  /** Done once, before anything is taken; where it fails it is tried again. */
  begin?(): Promise<void>;
  /**
   * Takes some of what is due, so that no other process does: in one short transaction either does it, or notes in its
   * rows that it is in hand for a while and answers with it.
   * @param most how many jobs may be answered with
   */
  take(most: number): Promise<Taken<Job>>;
  /**
   * Does one job, and notes in its row what came of it. One that fails is due again when the while is over.
   * @param stopping aborted when the process ends: what cannot be noted then is left to the next one
   */
  work(job: Job, stopping: AbortSignal): Promise<void>;
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
  /** Looks at one kind at once: there may be more of it. Nothing happens where there is no such kind. */
  nudge(name: string): void;
  /** Takes nothing new in hand, and waits for what is in hand, for `boundMs` at most. Safe to repeat. */
  close(boundMs: number): Promise<void>;
}

/**
 * Works off what waits, from now on, all kinds in one loop: what is due at once, and what will be when it is.
 *
 * Asks once every `lookMs` when there is nothing to do, one question for all kinds together, and sleeps until the earliest
 * time that it knows. That finds what other processes left behind; what this process adds it is nudged for. No kind waits
 * for another. What is due and cannot be had, because others have it in hand or something is ill, is tried again once
 * every `lookMs`. Several processes may share the rows. A process that is killed loses nothing: what it had in hand is due
 * again.
 * @param options.dueAt when the next of each kind is due (milliseconds since the Unix epoch, also in the past), by its name;
 *   null or absent where none waits; one cheap query
 * @param options.failed told of everything that goes wrong here, with the kind that it happened to
 */
export function workOff(
  works: readonly Work<unknown>[],
  options: {
    readonly clock: Clock;
    readonly lookMs: number;
    dueAt(): MaybePromise<Readonly<Record<string, number | null>>>;
    failed(error: unknown, name?: string): void;
  },
): Worker {
  const { clock, lookMs, dueAt, failed } = options;
  const lines = new Map(works.map(work => [work.name, lineOf(work)]));
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let nextLookMs = lookedMs;
  let timer: NodeJS.Timeout | undefined;

  turn();
  return {
    nudge(name) {
      const line = lines.get(name);
      if (line === undefined) return;
      nudgeLine(line);
      turn();
    },
    async close(boundMs) {
      stopping.abort();
      clearTimeout(timer);
      const bound = Promise.withResolvers<void>();
      const end = setTimeout(bound.resolve, boundMs);
      await Promise.race([allDone(), bound.promise]);
      clearTimeout(end);
    },
  };

  async function allDone(): Promise<void> {
    await Promise.all([looking, ...[...lines.values()].map(line => line.taking)]);
    await Promise.all([...lines.values()].flatMap(line => [...line.inHand]));
  }

  /** Begins whatever is to be done now, and sleeps until there is more. All that ends comes by here. */
  function turn(): void {
    if (stopping.signal.aborted) return;
    clearTimeout(timer);
    if (looking === undefined && performance.now() >= nextLookMs) {
      looking = look().then(() => {
        looking = undefined;
        turn();
      });
    }
    let waitMs = looking === undefined ? nextLookMs - performance.now() : Number.POSITIVE_INFINITY;
    for (const line of lines.values()) {
      const aheadMs = aheadOf(line);
      if (aheadMs > 0) {
        waitMs = Math.min(waitMs, aheadMs);
        continue;
      }
      line.taking = take(line).then(() => {
        line.taking = undefined;
        turn();
      });
    }
    if (waitMs < Number.POSITIVE_INFINITY) timer = setTimeout(turn, Math.max(1, Math.ceil(waitMs))).unref();
  }

  async function look(): Promise<void> {
    lookedMs = performance.now();
    nextLookMs = lookedMs + lookMs;
    const takes = new Map(Array.from(lines.values(), line => [line, line.takes]));
    try {
      const due = await dueAt();
      for (const [line, before] of takes) {
        // What was taken meanwhile may be among what was seen.
        if (line.takes !== before || line.taking !== undefined) lookSoon();
        else line.dueAt = due[line.work.name] ?? null;
      }
    } catch (error) {
      if (!stopping.signal.aborted) failed(error);
    }
  }

  /** The next due time is not known any more. */
  function lookSoon(): void {
    nextLookMs = Math.min(nextLookMs, lookedMs + LOOKS_APART_MS);
  }

  /** In how many milliseconds something of it can be taken, as far as is known. */
  function aheadOf({ work, taking, inHand, wanted, dueAt, restsUntilMs }: Line): number {
    // Whatever ends comes by again.
    if (taking !== undefined || inHand.size >= work.atOnce) return Number.POSITIVE_INFINITY;
    const aheadMs = wanted ? 0 : dueAt === null ? Number.POSITIVE_INFINITY : dueAt - clock.now();
    return Math.max(aheadMs, restsUntilMs - performance.now());
  }

  async function take(line: Line): Promise<void> {
    const { work, inHand } = line;
    const most = work.atOnce - inHand.size;
    const wasDue = line.dueAt !== null && line.dueAt <= clock.now();
    if (wasDue) line.dueAt = null;
    line.wanted = false;
    line.takes++;
    try {
      if (!line.begun) await work.begin?.();
      line.begun = true;
      const { rows, jobs } = await work.take(most);
      for (const job of jobs) start(line, job);
      if (rows > 0) {
        // As many as asked for, or done with being taken: there may be more. Else the next due time is to be asked for.
        if (jobs.length === 0 || jobs.length >= most) line.wanted = true;
        else lookSoon();
        rest(line, work.restMs ?? 0);
        line.busy = true;
      } else if (line.busy) {
        line.busy = false;
        lookSoon();
      } else if (wasDue && !line.wanted) {
        rest(line, lookMs);
      }
    } catch (error) {
      line.wanted = true;
      rest(line, lookMs);
      if (!stopping.signal.aborted) failed(error, work.name);
    }
  }

  function start(line: Line, job: unknown): void {
    const { work, inHand } = line;
    const done = work
      .work(job, stopping.signal)
      .catch(error => {
        if (!stopping.signal.aborted) failed(error, work.name);
      })
      .then(() => {
        inHand.delete(done);
        // It may be what others waited for.
        nudgeLine(line);
        turn();
      });
    inHand.add(done);
  }
}

/** Looks are so far apart also where one thing after another becomes due. */
const LOOKS_APART_MS = 20;

/** How it stands with one kind of work. */
interface Line {
  readonly work: Work<unknown>;
  readonly inHand: Set<Promise<void>>;
  begun: boolean;
  /** Whether to take, whatever is known to be due. */
  wanted: boolean;
  /** When the next is due, as far as is known. */
  dueAt: number | null;
  /** Nothing is taken until then, on the scale of `performance.now()`. */
  restsUntilMs: number;
  /** Whether something was there when it was taken from last. */
  busy: boolean;
  taking: Promise<void> | undefined;
  /** Counts the times that it was taken from. */
  takes: number;
}

function lineOf(work: Work<unknown>): Line {
  const begun = work.begin === undefined;
  const none = { dueAt: null, restsUntilMs: Number.NEGATIVE_INFINITY, busy: false, taking: undefined, takes: 0 };
  return { work, inHand: new Set(), begun, wanted: !begun, ...none };
}

function nudgeLine(line: Line): void {
  line.wanted = true;
  line.restsUntilMs = Number.NEGATIVE_INFINITY;
}

function rest(line: Line, ms: number): void {
  line.restsUntilMs = performance.now() + ms;
}
