/** The duration above which a turn of the event loop counts as long, in milliseconds. */
const TURN_MS = 100;
/** How long all turns must have been long before load is shed, in milliseconds. */
const TURNS_PATIENCE_MS = 2000;
/** The longest acceptable wait for the database during a burst, in milliseconds. */
const WAIT_MAX_MS = 1000;
/**
 * The longest acceptable lasting wait for the database, in milliseconds: even two calls in turn stay below the timeouts
 * of clients.
 */
const WAIT_MS = 200;
/** How long waits must exceed `WAIT_MS` before load is shed, in milliseconds. */
const WAIT_PATIENCE_MS = 500;
/** How long waits must have been below `WAIT_MS` until a burst may wait longer again, in milliseconds. */
const WAIT_ABSENCE_MS = 2000;

/**
 * The signs of overload: `event_loop` for long turns of the event loop, `database` for work that waits for the
 * database.
 */
export type ShedReason = 'event_loop' | 'database';

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
 * Decides which requests to reject because the process is overloaded.
 *
 * A turn of the event loop reads from every connection that has a request, and accepts one new connection. A request
 * waits for as long as a turn takes, and a connection in the kernel's queue waits for as many turns as there are
 * connections before it. A single long turn is a burst or a pause of the garbage collector. The process is overloaded
 * while every turn is long and accepts a connection: then it rejects the requests that a turn reads after its first
 * milliseconds, and their connections should be closed, which makes the next turns shorter. It sheds load until a turn
 * accepts no connection.
 *
 * It also rejects requests that would probably wait so long for the database that their clients give up. A burst may
 * wait longer at first: once waits have been long for a while, only short waits are accepted until waits have been
 * short for a while.
 */
export class LoadShedder {
  readonly #sources: LoadSources & Required<Pick<LoadSources, 'now' | 'atEndOfTurn'>>;
  readonly #shed: Record<ShedReason, number> = { event_loop: 0, database: 0 };
  readonly #turns = new Overload(TURNS_PATIENCE_MS, 0);
  readonly #waits = new Overload(WAIT_PATIENCE_MS, WAIT_ABSENCE_MS);
  #turnStartMs: number | undefined;
  #turnEndMs = Number.NEGATIVE_INFINITY;
  #hasAccepted = false;

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

  /** Whether connections whose requests are rejected should be closed: fewer connections make shorter turns. */
  get hasTooManyConnections(): boolean {
    return this.#turns.lasts;
  }

  /** Records that a connection was accepted. */
  noteConnection(): void {
    this.#hasAccepted = true;
  }

  /** Reports whether to reject a request that was read at `nowMs`. */
  rejects(nowMs: number): boolean {
    if (this.#turnStartMs === undefined) {
      this.#turnStartMs = nowMs;
      this.#sources.atEndOfTurn(this.#endTurn);
      // After such a long time without a request, the process was idle.
      if (nowMs - this.#turnEndMs > TURN_MS) this.#noteIdle(this.#turnEndMs, nowMs);
    }
    const waitMs = this.#sources.expectedWaitMs?.() ?? 0;
    let reason: ShedReason | undefined;
    if (waitMs >= (this.#waits.lasts ? WAIT_MS : WAIT_MAX_MS)) reason = 'database';
    else if (this.#turns.lasts && nowMs - this.#turnStartMs >= TURN_MS) reason = 'event_loop';
    if (reason !== undefined) this.#shed[reason]++;
    return reason !== undefined;
  }

  #noteIdle(fromMs: number, toMs: number): void {
    for (const sign of [this.#turns, this.#waits]) {
      sign.update(false, fromMs);
      sign.update(false, toMs);
    }
  }

  readonly #endTurn = (): void => {
    const nowMs = this.#sources.now();
    const isLong = nowMs - this.#turnStartMs! >= TURN_MS;
    this.#turnEndMs = nowMs;
    this.#turns.update(this.#hasAccepted && (isLong || this.#turns.lasts), nowMs);
    this.#waits.update((this.#sources.expectedWaitMs?.() ?? 0) >= WAIT_MS, nowMs);
    this.#turnStartMs = undefined;
    this.#hasAccepted = false;
  };
}

/** A sign of overload, which counts once it has lasted long enough. */
class Overload {
  /** Whether the sign has lasted long enough, and has not been absent for long since. */
  lasts = false;
  readonly #patienceMs: number;
  readonly #absenceMs: number;
  #isPresent = false;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /**
   * @param patienceMs how long the sign must be present until it counts
   * @param absenceMs how long it must be absent until it no longer counts
   */
  constructor(patienceMs: number, absenceMs: number) {
    this.#patienceMs = patienceMs;
    this.#absenceMs = absenceMs;
  }

  update(isPresent: boolean, nowMs: number): void {
    if (isPresent !== this.#isPresent) {
      this.#isPresent = isPresent;
      this.#sinceMs = nowMs;
    }
    if (nowMs - this.#sinceMs >= (isPresent ? this.#patienceMs : this.#absenceMs)) this.lasts = isPresent;
  }
}
