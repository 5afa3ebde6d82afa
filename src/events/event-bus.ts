import { setImmediate as turn } from 'node:timers/promises';
import { giveWay } from '../lib/jobs/pacing.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { type Database, query, sql } from '../schema.ts';
import { lastPlace, putInOrder } from './log.ts';
import { eventsBehind } from './ordering.ts';
import { type OwnedEvent, withOwners } from './owners.ts';

/** What came behind a place: all of it up to another, in order. */
export interface Batch {
  readonly after: number;
  readonly upTo: number;
  readonly events: readonly OwnedEvent[];
}

/** Who is told of what comes. Each method returns at once and throws nothing. */
export interface Follower {
  /** Told of every batch, one behind the other without a gap. */
  take(batch: Batch): void;
  /** Called twice a second. */
  tick(): void;
}

/**
 * Reads the log of one database once for all who follow it in this process, while anybody does.
 *
 * It looks as soon as this process has written, and else once a second: one query. Nobody follows faster than the database
 * is read, and who is behind reads by himself, in a queue with all who do.
 */
export interface EventBus {
  /** Up to where it has told; -1 where that is not known yet. */
  readonly place: number;
  /**
   * Tells a follower of all that comes behind `place`, which may be later than now.
   * @returns ends it
   */
  follow(follower: Follower): () => void;
  /** The next events behind a place, up to the hub's own: an empty batch there. Some are remembered, others are read. */
  behind(place: number): Promise<Batch>;
  /** The place of the last event that is committed now, as far as storage takes it. */
  end(): Promise<number>;
  /** Tells nobody any more. */
  close(): Promise<void>;
}

/** Makes the hub of a database. */
export function createEventBus({ database, log }: { readonly database: Database; readonly log: Log }): EventBus {
  const followers = new Set<Follower>();
  const episodes = new LogThrottle();
  let remembered: Batch[] = [];
  let rememberedEvents = 0;
  let place = UNKNOWN;
  /** Another one each time that somebody begins to follow. */
  let session = 0;
  let dirty = false;
  let running: Promise<void> | undefined;
  let stop: (() => void) | undefined;
  let closed = false;
  let seen: number | undefined;
  let ticks = 0;
  let reading = 0;
  const waiting: (() => void)[] = [];

  return {
    get place() {
      return place;
    },
    follow(follower) {
      followers.add(follower);
      if (stop === undefined && !closed) start();
      return () => {
        followers.delete(follower);
        if (followers.size === 0) rest();
      };
    },
    async behind(from) {
      const known = from < place ? remembered.find(({ after, upTo }) => after <= from && from < upTo) : undefined;
      if (known !== undefined) return known;
      if (from >= place) return { after: from, upTo: from, events: [] };
      return inTurn(() => read(from, remembered[0]?.after ?? place));
    },
    async end() {
      await bestEffort(putInOrder(database));
      return lastPlace(database);
    },
    async close() {
      closed = true;
      followers.clear();
      rest();
      await running;
    },
  };

  function start() {
    const unwatch = database.onChange?.('events', wake);
    const timer = setInterval(tick, TICK_MS);
    stop = () => {
      unwatch?.();
      clearInterval(timer);
    };
    wake();
  }

  /** Forgets all: who follows next begins where the log is then. */
  function rest() {
    stop?.();
    stop = undefined;
    remembered = [];
    rememberedEvents = 0;
    place = UNKNOWN;
    seen = undefined;
    session++;
  }

  function tick() {
    // Once a second: others may have written.
    if (++ticks % LOOK_TICKS === 0 && mayHaveMoved()) wake();
    for (const follower of followers) follower.tick();
  }

  function mayHaveMoved(): boolean {
    try {
      const version = database.dataVersion('events');
      return version === undefined || version !== seen;
    } catch {
      // Who reads is told why.
      return true;
    }
  }

  function wake() {
    dirty = true;
    running ??= run()
      .catch(error => {
        seen = undefined;
        if (!closed && episodes.shouldLog('events')) {
          log.warn({ err: error }, 'Events cannot be read for now; who follows them hears of them later.');
        }
      })
      .finally(() => {
        running = undefined;
        if (dirty && stop !== undefined) wake();
      });
  }

  async function run() {
    for (;;) {
      await giveWay();
      if (!dirty || stop === undefined) return;
      dirty = false;
      const own = session;
      seen = database.dataVersion('events');
      const asked = await database.first(looked, {});
      if (asked?.waiting) await bestEffort(putInOrder(database));
      else if ((asked?.place ?? 0) <= place) continue;
      const end = await lastPlace(database);
      if (own !== session) continue;
      // What was there before is for those who read by themselves; now they know how far.
      if (place === UNKNOWN) await tell({ after: end, upTo: end, events: [] });
      while (own === session && place < end) {
        const batch = await read(place, end);
        if (own === session) await tell(batch);
      }
    }
  }

  async function read(after: number, end: number): Promise<Batch> {
    const events = await eventsBehind(database, after, end, EVENTS_AT_ONCE);
    const upTo = events.length < EVENTS_AT_ONCE ? end : events.at(-1)!.place;
    return { after, upTo, events: await withOwners(database, events) };
  }

  async function tell(batch: Batch) {
    place = batch.upTo;
    if (batch.upTo > batch.after) remembered.push(batch);
    rememberedEvents += batch.events.length;
    while (rememberedEvents > REMEMBERED_MAX || remembered.length > REMEMBERED_MAX) {
      rememberedEvents -= remembered.shift()!.events.length;
    }
    let told = 0;
    for (const follower of [...followers]) {
      if (!followers.has(follower)) continue;
      follower.take(batch);
      // Others are to be answered in between.
      if (++told % TOLD_AT_ONCE === 0) await turn();
    }
  }

  /** A few read at the same time, the others wait. */
  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (reading >= READING_MAX) await new Promise<void>(resolve => waiting.push(resolve));
    reading++;
    try {
      return await work();
    } finally {
      reading--;
      waiting.shift()?.();
      // Embedded, nothing else runs meanwhile: let others come in between.
      await turn();
    }
  }
}

const UNKNOWN = -1;
const TICK_MS = 500;
const LOOK_TICKS = 2;
const EVENTS_AT_ONCE = 100;
/** So many events are remembered for those who are a little behind. */
const REMEMBERED_MAX = 1000;
const TOLD_AT_ONCE = 250;
const READING_MAX = 2;

/** Whether there is anything new, in one query: the last place, and whether an event has none yet. */
const looked = query<Record<never, never>, { place: number | null; waiting: number | boolean }>((db, _, engine) => {
  const place = engine === 'sqlite' ? ('id' as const) : ('seq' as const);
  return db.selectNoFrom(({ selectFrom }) => [
    selectFrom('events')
      .select(sql<number>`${sql.ref(place)}`.as('place'))
      .where(place, 'is not', null)
      .orderBy(place, 'desc')
      .limit(1)
      .as('place'),
    sql<number | boolean>`${engine === 'sqlite' ? sql`0` : sql`exists(select 1 from events where seq is null)`}`.as(
      'waiting',
    ),
  ]);
});
