/** A turn of the event loop that takes longer is long, in milliseconds. */
const TURN_MS = 100;
/** How long every turn must have been long until load is shed, in milliseconds. */
const TURNS_PATIENCE_MS = 2000;
/** The longest wait for the database that a burst may cause, in milliseconds. */
const WAIT_MAX_MS = 1000;
/** The longest wait for the database that may last, in milliseconds: less than clients wait, also for two calls in turn. */
const WAIT_MS = 200;
/** How long work may have to wait for `WAIT_MS` until load is shed, in milliseconds. */
const WAIT_PATIENCE_MS = 500;
/** How long work must not have had to wait for `WAIT_MS` until a burst may wait again, in milliseconds. */
const WAIT_ABSENCE_MS = 2000;

/**
 * The signs of overload: `event_loop` for long turns of the event loop, `database` for work that waits for the database.
 */
export type ShedReason = 'event_loop' | 'database';

/** What the decision depends on. */
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
 * A turn of the event loop reads from every connection that has a request, and accepts one new connection. The length of a
 * turn is how long a request waits, and connections that wait in the kernel wait for as many turns. A single long turn is a
 * burst or a pause of the garbage collector. The process is overloaded while every turn is long and accepts a connection:
 * then the requests that a turn reads after its first milliseconds are rejected, and their connections should be closed,
 * which makes the next turns shorter. It sheds load until a turn accepts no connection.
 *
 * Requests are also rejected that would probably wait so long for the database that their clients give up. A burst may wait
 * longer than what follows it: once waits have been long for a while, they are kept short, until they have been short for a
 * while.
 */
export class LoadShedder {
  readonly #sources: { readonly [Name in keyof LoadSources]-?: NonNullable<LoadSources[Name]> };
  readonly #shed: Record<ShedReason, number> = { event_loop: 0, database: 0 };
  readonly #turns = new Overload(TURNS_PATIENCE_MS, 0);
  readonly #waits = new Overload(WAIT_PATIENCE_MS, WAIT_ABSENCE_MS);
  #turnStartMs: number | undefined;
  #turnEndMs = Number.NEGATIVE_INFINITY;
  #hasAccepted = false;

  constructor({ expectedWaitMs, now, atEndOfTurn }: LoadSources = {}) {
    this.#sources = {
      expectedWaitMs: expectedWaitMs ?? (() => 0),
      now: now ?? (() => performance.now()),
      atEndOfTurn: atEndOfTurn ?? (callback => void setImmediate(callback)),
    };
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
      // Without a request for so long, the process was idle in between.
      if (nowMs - this.#turnEndMs > TURN_MS) this.#noteIdle(this.#turnEndMs, nowMs);
    }
    const reason = this.#reasonAt(nowMs);
    if (reason !== undefined) this.#shed[reason]++;
    return reason !== undefined;
  }

  #noteIdle(fromMs: number, toMs: number): void {
    for (const sign of [this.#turns, this.#waits]) {
      sign.update(false, fromMs);
      sign.update(false, toMs);
    }
  }

  #reasonAt(nowMs: number): ShedReason | undefined {
    if (this.#sources.expectedWaitMs() >= (this.#waits.lasts ? WAIT_MS : WAIT_MAX_MS)) return 'database';
    return this.#turns.lasts && nowMs - this.#turnStartMs! >= TURN_MS ? 'event_loop' : undefined;
  }

  readonly #endTurn = (): void => {
    const nowMs = this.#sources.now();
    const isLong = nowMs - this.#turnStartMs! >= TURN_MS;
    this.#turnEndMs = nowMs;
    this.#turns.update(this.#hasAccepted && (isLong || this.#turns.lasts), nowMs);
    this.#waits.update(this.#sources.expectedWaitMs() >= WAIT_MS, nowMs);
    this.#turnStartMs = undefined;
    this.#hasAccepted = false;
  };
}

/** A sign of overload, which counts once it has lasted. */
class Overload {
  /** Whether the sign has lasted, and has not been absent for long since. */
  lasts = false;
  readonly #patienceMs: number;
  readonly #absenceMs: number;
  #isPresent = false;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /**
   * @param patienceMs how long the sign must be present until it counts
   * @param absenceMs how long it must be absent until it does not count any more
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
