import { setImmediate as nextTurn } from 'node:timers/promises';
import { problem } from '../../errors.ts';
import { decodeListToken, encodeListToken, invalidCursor, isCount } from '../../lib/http/pagination/cursor.ts';
import type { PageRequest } from '../../lib/http/pagination/paginate.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import type { Database, Reader } from '../../schema.ts';
import type { Actor } from '../event.ts';
import { assignPositions, eventsAfter, lastPosition, positionBefore } from '../ordering.ts';
import { type OwnedEvent, withOwners } from '../owners.ts';
import { eventIdAt, type PublicEvent, positionOf } from './public-event.ts';
import { canSee, canSeeActor, publicEvent } from './visibility.ts';

export interface EventFilter {
  /** Types such as `pet.created`, or all types of a kind such as `pet.*`; all types by default. */
  readonly types?: readonly string[] | undefined;
  /** Only events after the one with this id. */
  readonly after?: string | undefined;
}

export interface EventPage {
  readonly events: PublicEvent[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
  /** On the last page: the event id after which to continue later. */
  readonly end?: string;
}

/**
 * Returns one page of the events that the actor can see and the filter selects, in the total order of all events.
 *
 * A client that reads all pages, and later continues from the end of the last one, gets every event once. A page scans at
 * most 20,000 events; it can be short or empty and still have a next page.
 * @param retentionMs how long events are kept
 * @throws {Problem} `invalid_parameter` for a cursor of another list; `events_expired` when events after the position are
 *   no longer kept
 */
export async function listEvents(
  database: Database,
  actor: Actor,
  filter: EventFilter,
  { limit, cursor }: PageRequest,
  now: number,
  retentionMs: number,
): Promise<EventPage> {
  const from = startOf(filter, cursor);
  await bestEffort(assignPositions(database));
  const end = await lastPosition(database);
  const retained = await retentionStart(database, now, retentionMs);
  let position = from === undefined ? retained.position : requireRetained(from, retained.position, end);

  const isSelected = typeFilter(filter.types);
  const scanEnd = Math.min(end, position + SCAN_LIMIT);
  const events: PublicEvent[] = [];
  for (let size = limit + 1; position < scanEnd; size = BATCH_SIZE) {
    const batch = await eventsAfter(database, position, scanEnd, size);
    const kept = batch.filter(event => event.at >= retained.since && isSelected(event));
    for (const event of await withOwners(database, kept)) {
      if (!canSee(actor, event)) continue;
      if (events.length === limit) return { events, next: encodePosition(filter, positionOf(events.at(-1)!.id)) };
      events.push(publicEvent(event, canSeeActor(actor, event)));
    }
    position = batch.length < size ? scanEnd : batch.at(-1)!.position;
    // Reads of the embedded engine block the event loop: let other requests run in between.
    if (position < scanEnd) await nextTurn();
  }
  return scanEnd < end ? { events, next: encodePosition(filter, scanEnd) } : { events, end: eventIdAt(end) };
}

/**
 * Returns the start of the retention period: all events recorded at `since` or later, which follow `position`.
 * @param retentionMs how long events are kept
 */
export async function retentionStart(
  reader: Reader,
  now: number,
  retentionMs: number,
): Promise<{ readonly position: number; readonly since: number }> {
  const since = now - retentionMs;
  return { position: await positionBefore(reader, since), since };
}

/**
 * Returns a position to continue from.
 * @throws {Problem} `events_expired` when later events are no longer kept, or the position is later than the log
 */
export function requireRetained(position: number, retainedFrom: number, end: number): number {
  if (position > end) {
    throw problem('events_expired', 'The event is newer than the store, which was restored from an older backup.');
  }
  if (position < retainedFrom) throw problem('events_expired');
  return position;
}

/** Returns the predicate that selects events of the given types. */
export function typeFilter(
  types: readonly string[] | undefined,
): (event: Pick<OwnedEvent, 'kind' | 'action'>) => boolean {
  if (types === undefined) return () => true;
  const selected = new Set(types);
  return ({ kind, action }) => selected.has(`${kind}.*`) || selected.has(`${kind}.${action}`);
}

/** The number of events that a page scans, and the size of a batch after the first. */
const SCAN_LIMIT = 20_000;
const BATCH_SIZE = 1000;

/** Returns the position after which a page starts; `undefined` for the start of the log. */
function startOf(filter: EventFilter, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return filter.after === undefined ? undefined : positionOf(filter.after);
  const [position] = decodeListToken(listOf(filter), cursor, 1) ?? [];
  if (isCount(position)) return position;
  throw invalidCursor();
}

const listOf = ({ types, after }: EventFilter) => [types && [...types].sort(), after];

function encodePosition(filter: EventFilter, position: number): string {
  return encodeListToken(listOf(filter), [position]);
}
