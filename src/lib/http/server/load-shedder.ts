/** A turn of the event loop that takes longer is long, in milliseconds. */
const TURN_MS = 100;
/** Work that waits longer waits too long, in milliseconds. */
const QUEUE_MS = 500;
/** How long work may wait while load is shed, in milliseconds: less, so that it is done before its clients give up. */
const QUEUE_SHEDDING_MS = 100;
/** How long the process must have been overloaded until it sheds load, in milliseconds. */
const PATIENCE_MS = 2000;

/**
 * The signs of overload: `event_loop` for long turns of the event loop, `database` for work that waits for the database.
 */
export type ShedReason = 'event_loop' | 'database';

/** What the decision depends on. */
export interface LoadSources {
  /** Returns how long the oldest work for requests has waited to begin, in milliseconds. None waits by default. */
  readonly queueAgeMs?: (() => number) | undefined;
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
 * The process is also overloaded while work waits too long at the end of every turn, for a connection to the database for
 * instance. Then requests are rejected whenever older work has waited for more than a short time, until no work has waited
 * so long for a while.
 */
export class LoadShedder {
  readonly #sources: { readonly [Name in keyof LoadSources]-?: NonNullable<LoadSources[Name]> };
  readonly #shed: Record<ShedReason, number> = { event_loop: 0, database: 0 };
  readonly #turns = new Overload(0);
  readonly #queue = new Overload(PATIENCE_MS);
  #turnStartMs: number | undefined;
  #turnEndMs = Number.NEGATIVE_INFINITY;
  #hasAccepted = false;

  constructor({ queueAgeMs, now, atEndOfTurn }: LoadSources = {}) {
    this.#sources = {
      queueAgeMs: queueAgeMs ?? (() => 0),
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
    for (const sign of [this.#turns, this.#queue]) {
      sign.update(false, fromMs);
      sign.update(false, toMs);
    }
  }

  #reasonAt(nowMs: number): ShedReason | undefined {
    if (this.#queue.lasts && this.#isQueueOld()) return 'database';
    return this.#turns.lasts && nowMs - this.#turnStartMs! >= TURN_MS ? 'event_loop' : undefined;
  }

  #isQueueOld(): boolean {
    return this.#sources.queueAgeMs() >= (this.#queue.lasts ? QUEUE_SHEDDING_MS : QUEUE_MS);
  }

  readonly #endTurn = (): void => {
    const nowMs = this.#sources.now();
    const isLong = nowMs - this.#turnStartMs! >= TURN_MS;
    this.#turnEndMs = nowMs;
    this.#turns.update(this.#hasAccepted && (isLong || this.#turns.lasts), nowMs);
    this.#queue.update(this.#isQueueOld(), nowMs);
    this.#turnStartMs = undefined;
    this.#hasAccepted = false;
  };
}

/** A sign of overload, which counts once it has lasted. */
class Overload {
  /** Whether the sign has lasted, and has not been absent for long since. */
  lasts = false;
  readonly #absenceMs: number;
  #isPresent = false;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param absenceMs how long the sign must be absent until it does not count any more */
  constructor(absenceMs: number) {
    this.#absenceMs = absenceMs;
  }

  update(isPresent: boolean, nowMs: number): void {
    if (isPresent !== this.#isPresent) {
      this.#isPresent = isPresent;
      this.#sinceMs = nowMs;
    }
    if (nowMs - this.#sinceMs >= (isPresent ? PATIENCE_MS : this.#absenceMs)) this.lasts = isPresent;
  }
}
