import { WaitEstimate } from '../../wait-estimate.ts';

/**
 * How long a turn of the event loop starts requests, in milliseconds: both those that it reads and those that wait. Then
 * it reads again, so that a request which is rejected, or a health check, has its response soon.
 */
const TURN_MS = 10;
/** The same in a turn that has accepted a connection: each turn accepts only one. */
const ACCEPTING_TURN_MS = 0.25;
/** The longest acceptable wait during a burst, in milliseconds. */
const BURST_WAIT_MS = 1000;
/**
 * The longest acceptable lasting waits, in milliseconds. A request may wait for the database twice, and stays below the
 * timeouts of clients. The wait for the event loop is that in a turn that accepts a connection, since others then wait in
 * the kernel, and nobody knows how many.
 */
const LASTING_WAIT_MS = { database: 200, event_loop: 100 } as const;
/** How long waits must be longer than that before load is shed, in milliseconds. */
const PATIENCE_MS = { database: 500, event_loop: 2000 } as const;
/** How long waits must have been shorter until a burst may wait longer again, in milliseconds. */
const ABSENCE_MS = 2000;

/** How many connections a turn of the event loop begins to read from again. */
const RESUMED_MAX = 256;

/** Without a request for so long, the process was idle, in milliseconds. */
const IDLE_MS = 100;

/** What a request would wait for: the event loop, or a connection to the database. */
export type ShedReason = keyof typeof LASTING_WAIT_MS;

/** A pause in which nothing is read from a connection. */
export interface ReadPause {
  /** When it began, in milliseconds. */
  readonly fromMs: number;
  /** When it ended. */
  toMs?: number;
  /** Reads from the connection again. */
  readonly resume: () => void;
}

/** The measurements that the decision uses. */
export interface LoadSources {
  /** Returns how long a new request will probably wait for the database, in milliseconds; 0 by default. */
  readonly expectedWaitMs?: (() => number) | undefined;
  /** Returns the time in milliseconds. */
  readonly now?: () => number;
  /** Runs a callback at the end of the turn of the event loop. */
  readonly atEndOfTurn?: (callback: () => void) => void;
}

/**
 * Decides whether a request starts at once, waits or is rejected.
 *
 * A turn of the event loop reads from every connection that has a request, so with many connections a turn could take
 * seconds, in which nothing else is read. Therefore it starts requests for a few milliseconds only. The others wait in the
 * order of their arrival. After the response to such a request, nothing is read from its connection until it is the turn
 * of the connection, because requests that wait in the kernel cost nothing.
 *
 * A request is rejected if it would probably wait so long, for its start or for the database, that its client gives up. A
 * burst may wait longer at first: once waits have been long for a while, only short waits are accepted until waits have
 * been short for a while.
 */
export class LoadShedder {
  readonly #sources: LoadSources & Required<Pick<LoadSources, 'now' | 'atEndOfTurn'>>;
  readonly #shed: Record<ShedReason, number> = { event_loop: 0, database: 0 };
  readonly #limits = { event_loop: new WaitLimit('event_loop'), database: new WaitLimit('database') };
  readonly #waiting: (() => void)[] = [];
  readonly #paused: ReadPause[] = [];
  readonly #estimate = new WaitEstimate();
  #turnStartMs: number | undefined;
  #turnEndMs = Number.NEGATIVE_INFINITY;
  #turnMs = TURN_MS;

  constructor({
    expectedWaitMs,
    now = performance.now.bind(performance),
    atEndOfTurn = setImmediate,
  }: LoadSources = {}) {
    this.#sources = { expectedWaitMs, now, atEndOfTurn };
  }

  /** How many requests were rejected, by reason. */
  get shed(): Readonly<Record<ShedReason, number>> {
    return this.#shed;
  }

  /** Records that a connection was accepted. */
  noteConnection(): void {
    this.#turnMs = ACCEPTING_TURN_MS;
  }

  /**
   * Decides about a request that was read at `nowMs`. If it has to wait, call {@link enqueue}.
   * @param lastPause returns the last pause of its connection
   */
  admit(nowMs: number, lastPause?: () => ReadPause | undefined): 'start' | 'wait' | 'reject' {
    if (this.#turnStartMs === undefined) {
      this.#turnStartMs = nowMs;
      this.#sources.atEndOfTurn(this.#endTurn);
      // After such a long time without a request, the process was idle.
      if (nowMs - this.#turnEndMs > IDLE_MS) {
        for (const limit of Object.values(this.#limits)) limit.noteIdle(this.#turnEndMs, nowMs);
      }
    }
    const isFirst = this.#waiting.length === 0;
    let reason: ShedReason | undefined;
    if ((this.#sources.expectedWaitMs?.() ?? 0) >= this.#limits.database.maxMs) reason = 'database';
    else if (!isFirst && this.#expectedMs(nowMs, lastPause?.()) >= this.#limits.event_loop.maxMs) reason = 'event_loop';
    if (reason === undefined) return isFirst && nowMs - this.#turnStartMs < this.#turnMs ? 'start' : 'wait';
    this.#shed[reason]++;
    return 'reject';
  }

  #expectedMs(nowMs: number, pause: ReadPause | undefined): number {
    // A request that is read right after a pause has probably waited in the kernel.
    const unreadMs = pause !== undefined && pause.toMs === this.#turnEndMs ? nowMs - pause.fromMs : 0;
    return unreadMs + this.#estimate.expectedMs();
  }

  /** Calls `start` after the requests that wait already. */
  enqueue(start: () => void): void {
    this.#estimate.enter();
    this.#waiting.push(start);
  }

  /** Resumes a connection after those that are paused already. */
  enqueuePaused(pause: ReadPause): void {
    this.#paused.push(pause);
    if (this.#turnStartMs !== undefined) return;
    this.#turnStartMs = pause.fromMs;
    this.#sources.atEndOfTurn(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    const { now, atEndOfTurn, expectedWaitMs } = this.#sources;
    let nowMs = now();
    const sliceMs = Math.max(this.#turnMs, nowMs - this.#turnStartMs!);
    for (const untilMs = nowMs + sliceMs; this.#waiting.length > 0 && nowMs < untilMs; nowMs = now()) {
      this.#estimate.leave(nowMs);
      this.#waiting.shift()!();
    }
    const hasAccepted = this.#turnMs === ACCEPTING_TURN_MS;
    this.#limits.database.update(expectedWaitMs?.() ?? 0, nowMs);
    this.#limits.event_loop.update(hasAccepted ? this.#estimate.expectedMs() : 0, nowMs);
    for (const pause of this.#paused.splice(0, Math.max(RESUMED_MAX - this.#waiting.length, 0))) {
      pause.toMs = nowMs;
      pause.resume();
    }
    this.#turnEndMs = nowMs;
    this.#turnMs = TURN_MS;
    this.#turnStartMs = this.#waiting.length > 0 || this.#paused.length > 0 ? nowMs : undefined;
    if (this.#turnStartMs !== undefined) atEndOfTurn(this.#endTurn);
  };
}

/** The longest acceptable wait: that of a burst, or a shorter one once waits have been long for a while. */
class WaitLimit {
  maxMs = BURST_WAIT_MS;
  readonly #reason: ShedReason;
  #isLong = false;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(reason: ShedReason) {
    this.#reason = reason;
  }

  noteIdle(fromMs: number, toMs: number): void {
    for (const ms of [fromMs, toMs]) this.update(0, ms);
  }

  update(waitMs: number, nowMs: number): void {
    const isLong = waitMs >= LASTING_WAIT_MS[this.#reason];
    if (isLong !== this.#isLong) {
      this.#isLong = isLong;
      this.#sinceMs = nowMs;
    }
    if (nowMs - this.#sinceMs < (isLong ? PATIENCE_MS[this.#reason] : ABSENCE_MS)) return;
    this.maxMs = isLong ? LASTING_WAIT_MS[this.#reason] : BURST_WAIT_MS;
  }
}
