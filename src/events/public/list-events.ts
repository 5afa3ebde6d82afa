import { decodeListToken, encodeListToken, invalidCursor, isCount } from '../../lib/http/pagination/cursor.ts';
import { type PageRequest, SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { requireScanRoom, startScan } from '../../lib/http/pagination/scan-queue.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { withLongValues } from '../../model/log/long-values.ts';
import { assignPositions, eventsAfter, lastPosition, positionBefore } from '../../model/log/ordering.ts';
import { type OwnedEvent, withOwners } from '../../model/log/owners.ts';
import { eventIdAt, type PublicEvent, positionOf } from '../../model/public-event.ts';
import type { Database, Reader } from '../../model/schema.ts';
import { canSee, publicEvent, sightOf } from './visibility.ts';

export interface EventFilter {
  /** Types such as `pet.created`, or all types of a kind such as `pet.*`; all types by default. */
  readonly types?: readonly string[] | undefined;
  /** Only events after the event with this id. */
  readonly after?: string | undefined;
}

interface EventPage {
  readonly events: PublicEvent[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** On the last page: the event id after which to continue later. */
  readonly end?: string;
}

/**
 * Returns one page of the events that the actor can see and the filter selects, in the total order of all events.
 *
 * A client that reads all pages, and later continues from the end of the last one, gets every event exactly once. A
 * page scans at most 20,000 events; it can be short or empty and still have a next page.
 * @param retentionMs how long events are kept
 * @throws {Problem} `invalid_parameter` for a cursor of another list; `events_expired` when events after the position
 *   are no longer kept; `overloaded`
 */
export async function listEvents(
  database: Database,
  actor: Actor,
  filter: EventFilter,
  { limit, cursor, request }: PageRequest,
  now: number,
  retentionMs: number,
): Promise<EventPage> {
  if (filter.types !== undefined) requireScanRoom(request);
  const from = startOf(filter, cursor);
  await bestEffort(assignPositions(database));
  const end = await lastPosition(database);
  const retained = await retentionStart(database, now, retentionMs);
  let position = from === undefined ? retained.position : requireRetained(from, retained.position, end);

  const scanEnd = Math.min(end, position + SCAN_LIMIT);
  const events: PublicEvent[] = [];
  if (position < scanEnd) await read(POSITIONS_FIRST, limit);
  if (position < scanEnd && events.length < limit) {
    using scan = startScan(request);
    while (position < scanEnd && events.length < limit && (await scan.turn())) {
      await read(POSITIONS_PER_TURN, EVENTS_PER_TURN);
    }
  }
  return position < end
    ? { events, next: encodeListToken(listOf(filter), [position]) }
    : { events, end: eventIdAt(end) };

  /** Reads further events until the page is full: at most `size` events from at most `positions` positions. */
  async function read(positions: number, size: number): Promise<void> {
    const upTo = Math.min(scanEnd, position + positions);
    const batch = await eventsAfter(database, position, upTo, size, filter.types);
    const kept = batch.filter(({ at }) => at >= retained.since);
    for (const event of await withOwners(database, await withLongValues(database, kept))) {
      if (!canSee(actor, event)) continue;
      events.push(publicEvent(event, sightOf(actor, event)));
      if (events.length < limit) continue;
      position = event.position;
      return;
    }
    position = batch.length < size ? upTo : batch.at(-1)!.position;
  }
}

/**
 * Returns the start of the retention period: events after `position` were all recorded at `since` or later.
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
 * @throws {Problem} `events_expired` when later events are no longer kept, or the position is after the end of the log
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

/** The number of positions of the first read of a scan, and of each later one. */
const POSITIONS_FIRST = 500;
const POSITIONS_PER_TURN = 2000;
/** The number of events that a later read decodes, which takes longer than skipping them. */
const EVENTS_PER_TURN = 500;

/** Returns the position after which a page starts; `undefined` for the start of the log. */
function startOf(filter: EventFilter, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return filter.after === undefined ? undefined : positionOf(filter.after);
  const [position] = decodeListToken(listOf(filter), cursor, 1) ?? [];
  if (isCount(position)) return position;
  throw invalidCursor();
}

const listOf = ({ types, after }: EventFilter) => [types && [...types].sort(), after];
