import { problem } from '../errors.ts';
import type { Actor, Event } from '../events/event.ts';
import { eventsBefore, eventsOf } from '../events/log.ts';
import { type CursorPosition, decodeCursor, encodeCursor, invalidCursor } from '../lib/http/pagination/cursor.ts';
import type { PageLinks } from '../lib/http/pagination/page-links.ts';
import { formatTime } from '../lib/time.ts';
import type { Reader } from '../schema.ts';
import type { PetEventData } from './change.ts';
import type { PetHistoryEntry, PetState } from './pet.ts';

/** One page of what happened to an animal. */
export interface HistoryPage extends PageLinks {
  readonly entries: PetHistoryEntry[];
}

/**
 * One page of what happened to an animal, oldest first, also of one that was taken out.
 *
 * Who did it, and for which hold or order, is shown to the animal's owner, to the one who did it and to admins. What has
 * run out stands in it once it was written down; see `sweepPets`.
 * @param limit how many entries at most, 1–100
 * @param cursorText where to read on, from another page of the same history
 * @throws {Problem} `pet_not_found` for an id that no animal ever had; `invalid_parameter` where the cursor is none of
 *   this history
 */
export async function petHistory(
  reader: Reader,
  actor: Actor,
  petId: number,
  limit: number,
  cursorText?: string,
): Promise<HistoryPage> {
  const [creation] = await eventsOf<PetEventData>(reader, 'pet', petId, { limit: 1 });
  if (creation === undefined) throw problem('pet_not_found', `There never was an animal ${petId}.`);
  const from = cursorText === undefined ? undefined : decodeCursor(listOf(petId), cursorText);
  if (cursorText !== undefined && from === undefined) throw invalidCursor();

  const events = await look(reader, petId, from, limit + 1);
  const more = events.length > limit;
  if (more) events.splice(from?.backward ? 0 : limit, 1);
  const knows = (event: Event<PetEventData>) =>
    actor.admin || actor.accountId === creation.accountId || actor.accountId === event.accountId;
  return {
    entries: events.map(event => entryOf(event, knows(event))),
    ...neighbours(petId, events, from, more),
  };
}

/** Some events from a place on, in the one or the other direction, oldest first in either. */
async function look(
  reader: Reader,
  petId: number,
  from: CursorPosition | undefined,
  limit: number,
): Promise<Event<PetEventData>[]> {
  if (from?.backward) return (await eventsBefore<PetEventData>(reader, 'pet', petId, from.id, limit)).reverse();
  return eventsOf<PetEventData>(reader, 'pet', petId, { after: from?.id ?? 0, limit });
}

function neighbours(
  petId: number,
  events: readonly Event<PetEventData>[],
  from: CursorPosition | undefined,
  more: boolean,
): PageLinks {
  const first = events[0]?.id ?? (from?.id ?? 0) + 1;
  const last = events.at(-1)?.id ?? (from?.id ?? 0) - 1;
  return {
    next: more || from?.backward ? encodeCursor(listOf(petId), { backward: false, id: last }) : undefined,
    previous: from && (more || !from.backward) ? encodeCursor(listOf(petId), { backward: true, id: first }) : undefined,
  };
}

/** @param known whether the caller may know who did it, and for what */
function entryOf({ id, at, action, accountId, data }: Event<PetEventData>, known: boolean): PetHistoryEntry {
  const changes = changesOf(action, data);
  return {
    id,
    at: formatTime(data.at ?? at),
    type: action as PetHistoryEntry['type'],
    ...(data.reason !== undefined && { reason: data.reason }),
    ...(Object.keys(changes).length > 0 && { changes }),
    ...(known && accountId !== null && { accountId }),
    ...(known && data.holdId !== undefined && { holdId: data.holdId }),
    ...(known && data.orderId !== undefined && { orderId: data.orderId }),
  };
}

/** What an animal began with, what changed of it, or what it was at its end. */
function changesOf(action: string, { pet, was = {} }: PetEventData): NonNullable<PetHistoryEntry['changes']> {
  const members = Object.keys(action === 'updated' ? was : pet) as (keyof PetState)[];
  const changes = members.map(member => {
    const from = action === 'updated' ? (was[member] ?? undefined) : action === 'deleted' ? pet[member] : undefined;
    const to = action === 'deleted' ? undefined : pet[member];
    return [member, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  });
  return Object.fromEntries(changes);
}

const listOf = (petId: number) => ['history', petId];
