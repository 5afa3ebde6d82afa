import { setImmediate } from 'node:timers/promises';
import { problem } from '../../errors.ts';
import { digestOf, invalidCursor, isCount, opaque, valuesIn } from '../../lib/http/pagination/cursor.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import type { Database, Reader } from '../../schema.ts';
import type { Actor } from '../event.ts';
import { lastPlace, placeBefore, putInOrder } from '../log.ts';
import { eventsBehind } from '../ordering.ts';
import { type OwnedEvent, withOwners } from '../owners.ts';
import { idAt, type PublicEvent, placeIn } from './public-event.ts';
import { knows, publicEvent, sees } from './visibility.ts';

/** Which events a reader wants. */
export interface EventFilter {
  /** Types as `pet.created`, or all of a kind as `pet.*`; every type where left out. */
  readonly types?: readonly string[] | undefined;
  /** Only what comes behind the event with this id. */
  readonly after?: string | undefined;
}

/** One page of events: it either goes on, or ends with the id behind which a reader goes on later. */
export type EventPage = { readonly events: PublicEvent[] } & (
  | { readonly next: string; readonly end?: never }
  | { readonly next?: never; readonly end: string }
);

/**
 * One page of what happened, in the one order of all events: of that what the actor may see and the filter lets through.
 *
 * Who reads all pages, and later on from the end of the last, gets every event once: nothing ever appears behind a place
 * that was read. A page looks at 20,000 events: it may be short, even empty, and still have a next one.
 * @param limit how many events at most, 1–100
 * @param cursorText where to read on, from the page before
 * @param keptMs for how long events are told
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list; `events_expired` where events behind
 *   the place are no longer told
 */
export async function listEvents(
  database: Database,
  actor: Actor,
  filter: EventFilter,
  limit: number,
  cursorText: string | undefined,
  now: number,
  keptMs: number,
): Promise<EventPage> {
  const from = cursorText === undefined ? placeOf(filter.after) : decodeCursor(filter, cursorText);
  await bestEffort(putInOrder(database));
  const end = await lastPlace(database);
  const kept = await keptFrom(database, now, keptMs);
  const after = from === undefined ? kept.place : requireKept(from, kept.place, end);

  const wanted = wantedOf(filter.types);
  const edge = Math.min(end, after + EVENTS_LOOKED_AT_MAX);
  const events: PublicEvent[] = [];
  let place = after;
  for (let size = limit + 1; place < edge; size = EVENTS_AT_ONCE) {
    const read = await eventsBehind(database, place, edge, size);
    for (const event of await withOwners(
      database,
      read.filter(({ at }) => at >= kept.since),
    )) {
      if (!wanted(event) || !sees(actor, event)) continue;
      if (events.length === limit) return { events, next: encodeCursor(filter, placeIn(events.at(-1)!.id)) };
      events.push(publicEvent(event, knows(actor, event)));
    }
    place = read.length < size ? edge : read.at(-1)!.place;
    // Embedded, nothing else runs meanwhile: let others come in between.
    if (place < edge) await setImmediate();
  }
  return edge < end ? { events, next: encodeCursor(filter, edge) } : { events, end: idAt(end) };
}

/**
 * From where on events are told: what was written down at `since` or later, all of which stands behind `place`.
 * @param keptMs for how long they are told
 */
export async function keptFrom(
  reader: Reader,
  now: number,
  keptMs: number,
): Promise<{ readonly place: number; readonly since: number }> {
  const since = now - keptMs;
  return { place: await placeBefore(reader, since), since };
}

/**
 * A place behind which a reader wants to go on.
 * @throws {Problem} `events_expired` where something behind it is no longer told, or it is of a later state of the store
 */
export function requireKept(place: number, keptFromPlace: number, end: number): number {
  if (place > end)
    throw problem('events_expired', 'The event is of a later state of the store than there is: it was restored.');
  if (place < keptFromPlace) throw problem('events_expired');
  return place;
}

/** Whether an event is of one of the types. */
export function wantedOf(
  types: readonly string[] | undefined,
): (event: Pick<OwnedEvent, 'kind' | 'action'>) => boolean {
  if (types === undefined) return () => true;
  const wanted = new Set(types);
  return ({ kind, action }) => wanted.has(`${kind}.*`) || wanted.has(`${kind}.${action}`);
}

/** The most events that a page looks at, and how many are read at once where the first few were not enough. */
const EVENTS_LOOKED_AT_MAX = 20_000;
const EVENTS_AT_ONCE = 1000;

function placeOf(id: string | undefined): number | undefined {
  return id === undefined ? undefined : placeIn(id);
}

const VERSION = 1;

function encodeCursor(filter: EventFilter, place: number): string {
  return opaque([VERSION, listOf(filter), place]);
}

function decodeCursor(filter: EventFilter, text: string): number {
  const [version, list, place] = valuesIn(text, 3) ?? [];
  if (version === VERSION && list === listOf(filter) && isCount(place)) return place;
  throw invalidCursor();
}

/** Binds a cursor to its list. */
function listOf({ types, after }: EventFilter): string {
  return digestOf([types && [...types].sort(), after]);
}
