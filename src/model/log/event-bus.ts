import { setImmediate as nextTurn } from 'node:timers/promises';
import { yieldToRequests } from '../../lib/jobs/pacing.ts';
import type { Log } from '../../lib/log.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import type { Database } from '../schema.ts';
import { withLongValues } from './long-values.ts';
import { assignPositions, eventsAfter, lastPosition, logEnd } from './ordering.ts';
import { type OwnedEvent, withOwners } from './owners.ts';

/** The position of a bus that has not read the end of the log yet. */
const UNKNOWN = -1;
const TICK_MS = 500;
const TICKS_PER_CHECK = 2;
const BATCH_SIZE = 100;
/** The number of recent events in memory, for subscribers that are slightly behind. */
const RECENT_MAX = 1000;
const SUBSCRIBERS_PER_TURN = 250;
const READERS_MAX = 2;

/** All events after one position up to and including another, in order. */
export interface Batch {
  readonly after: number;
  readonly upTo: number;
  readonly events: readonly OwnedEvent[];
}

/** A subscriber of the event bus. Its methods return immediately and do not throw. */
export interface Subscriber {
  /** Receives every batch; consecutive batches have no gap. */
  receive(batch: Batch): void;
  /** Called twice a second. */
  tick(): void;
}

/**
 * The event bus of one database: reads the event log once for all subscribers of this process. Idle without
 * subscribers.
 *
 * It reads after every write of this process. For writes of other processes it polls once a second, with one query. A
 * subscriber that falls behind reads the log itself with `readAfter`.
 */
export class EventBus {
  readonly #database: Database;
  readonly #log: Log;
  readonly #throttle = new LogThrottle();
  readonly #subscribers = new Set<Subscriber>();
  readonly #readers = createSemaphore({ perKey: READERS_MAX, total: READERS_MAX });
  #recent: Batch[] = [];
  #recentEvents = 0;
  #position = UNKNOWN;
  /** Increases when the last subscriber leaves, so that reads in progress are discarded. */
  #session = 0;
  /** Whether there may be events that have not been read. */
  #dirty = false;
  #running: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  #closed = false;
  #dataVersion: number | undefined;
  #ticks = 0;

  constructor({ database, log }: { readonly database: Database; readonly log: Log }) {
    this.#database = database;
    this.#log = log;
  }

  /** The position up to which subscribers have received events; -1 while it is unknown. */
  get position(): number {
    return this.#position;
  }

  /**
   * Subscribes to the events after the current `position` of the bus. If that is -1, the first batch is empty and its
   * `upTo` is the position.
   * @returns a function that unsubscribes
   */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    if (this.#stop === undefined && !this.#closed) this.#start();
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#reset();
    };
  }

  /** Returns the next events after a position; an empty batch if the bus has not read beyond `position`. */
  async readAfter(position: number): Promise<Batch> {
    const recent =
      position < this.#position && this.#recent.find(({ after, upTo }) => after <= position && position < upTo);
    if (recent) return recent;
    if (position >= this.#position) return { after: position, upTo: position, events: [] };
    const slot = this.#readers.acquire('log');
    await slot.ready;
    try {
      return await this.#read(position, this.#recent[0]?.after ?? this.#position);
    } finally {
      slot.release();
      await nextTurn(); // Reads of the embedded engine block the event loop.
    }
  }

  /** Returns the position of the last committed event; an earlier one if positions cannot be assigned at present. */
  async lastPosition(): Promise<number> {
    await bestEffort(assignPositions(this.#database));
    return lastPosition(this.#database);
  }

  /** Removes all subscribers. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#subscribers.clear();
    this.#reset();
    await this.#running;
  }

  #start(): void {
    const unwatch = this.#database.onChange?.('events', () => this.#wake());
    const timer = setInterval(() => this.#tick(), TICK_MS);
    this.#stop = () => {
      unwatch?.();
      clearInterval(timer);
    };
    this.#wake();
  }

  /** Resets the bus: the next subscriber starts at the end of the log. */
  #reset(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#recent = [];
    this.#recentEvents = 0;
    this.#position = UNKNOWN;
    this.#dataVersion = undefined;
    this.#session++;
  }

  #tick(): void {
    // Check once a second, because other processes may have written.
    if (++this.#ticks % TICKS_PER_CHECK === 0 && this.#mayHaveChanged()) this.#wake();
    for (const subscriber of this.#subscribers) subscriber.tick();
  }

  #mayHaveChanged(): boolean {
    try {
      const version = this.#database.dataVersion('events');
      return version === undefined || version !== this.#dataVersion;
    } catch {
      return true; // The read reports the error.
    }
  }

  #wake(): void {
    this.#dirty = true;
    this.#running ??= this.#run()
      .catch(error => this.#reportFailure(error))
      .finally(() => {
        this.#running = undefined;
        if (this.#dirty && this.#stop !== undefined) this.#wake();
      });
  }

  #reportFailure(error: unknown): void {
    this.#dataVersion = undefined;
    if (this.#closed || !this.#throttle.shouldLog('events')) return;
    this.#log.warn({ err: error }, 'Events cannot be read at present; subscribers receive them later.');
  }

  async #run(): Promise<void> {
    for (;;) {
      await yieldToRequests();
      if (!this.#dirty || this.#stop === undefined) return;
      this.#dirty = false;
      await this.#publishNew(this.#session);
    }
  }

  async #publishNew(session: number): Promise<void> {
    this.#dataVersion = this.#database.dataVersion('events');
    const { position, unordered } = await logEnd(this.#database);
    if (unordered) await bestEffort(assignPositions(this.#database));
    else if (position <= this.#position) return;
    const end = await lastPosition(this.#database);
    if (session !== this.#session) return;
    // Subscribers read earlier events themselves; the empty batch contains the position.
    if (this.#position === UNKNOWN) await this.#publish({ after: end, upTo: end, events: [] });
    while (session === this.#session && this.#position < end) {
      const batch = await this.#read(this.#position, end);
      if (session === this.#session) await this.#publish(batch);
    }
  }

  async #read(after: number, end: number): Promise<Batch> {
    const events = await eventsAfter(this.#database, after, end, BATCH_SIZE);
    const upTo = events.length < BATCH_SIZE ? end : events.at(-1)!.position;
    return { after, upTo, events: await withOwners(this.#database, await withLongValues(this.#database, events)) };
  }

  async #publish(batch: Batch): Promise<void> {
    this.#remember(batch);
    let sent = 0;
    for (const subscriber of [...this.#subscribers]) {
      if (!this.#subscribers.has(subscriber)) continue;
      subscriber.receive(batch);
      // Let requests be served in between.
      if (++sent % SUBSCRIBERS_PER_TURN === 0) await nextTurn();
    }
  }

  #remember(batch: Batch): void {
    this.#position = batch.upTo;
    if (batch.upTo > batch.after) this.#recent.push(batch);
    this.#recentEvents += batch.events.length;
    while (this.#recentEvents > RECENT_MAX || this.#recent.length > RECENT_MAX) {
      this.#recentEvents -= this.#recent.shift()!.events.length;
    }
  }
}
