import { type Page, type PageRequest, paginate } from '../../lib/http/pagination/paginate.ts';
import { formatTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { Actor, Event } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { withLongValues } from '../../model/log/long-values.ts';
import { type PetHistoryEntry, type PetState, petValues } from '../../model/pet.ts';
import type { Reader } from '../../model/schema.ts';
import type { PetEventData } from './change.ts';

/**
 * Returns one page of the changes of a pet, oldest first, even if it is deleted.
 *
 * The account, the hold and the order of a change are visible to the pet's owner at that time, to that account and to
 * admins. Private fields are visible to the owner and admins. An expiry is listed once it is recorded; see
 * `expireReservations`.
 * @throws {Problem} `pet_not_found` for an id that was never assigned; `invalid_parameter` for a cursor of another list
 */
export async function petHistory(
  reader: Reader,
  actor: Actor,
  petId: number,
  page: PageRequest,
): Promise<Page<PetHistoryEntry>> {
  const [creation] = await eventsOf<PetEventData>(reader, 'pet', petId, { rows: 1 });
  if (creation === undefined) throw problem('pet_not_found', `There never was an animal ${petId}.`);
  const { rows, ...links } = await paginate<Event<PetEventData>>({
    list: ['history', petId],
    page,
    rows: async scan => withLongValues(reader, await eventsOf<PetEventData>(reader, 'pet', petId, scan)),
  });
  return {
    rows: rows.map(event => {
      const owns = actor.admin || (event.data.ownerId ?? creation.accountId) === actor.accountId;
      return entryOf(event, owns, owns || event.accountId === actor.accountId);
    }),
    ...links,
  };
}

/**
 * @param owns whether the caller may see every field
 * @param visible whether the caller may see the account, the hold and the order of the change
 */
function entryOf(
  { id, at, action, accountId, data }: Event<PetEventData>,
  owns: boolean,
  visible: boolean,
): PetHistoryEntry {
  const changes = changesOf(action, data, owns ? [] : petValues.ownersOnly);
  return {
    id,
    at: formatTime(data.at ?? at),
    type: action as PetHistoryEntry['type'],
    ...(data.reason !== undefined && { reason: data.reason }),
    ...(Object.keys(changes).length > 0 && { changes }),
    ...(visible && accountId !== null && { accountId }),
    ...(visible && data.holdId !== undefined && { holdId: data.holdId }),
    ...(visible && data.orderId !== undefined && { orderId: data.orderId }),
  };
}

/**
 * Returns the first values of a new pet, the last values of a deleted pet, or the changes of an update; without
 * `hidden`.
 */
function changesOf(
  action: string,
  { pet, was = {} }: PetEventData,
  hidden: readonly string[],
): NonNullable<PetHistoryEntry['changes']> {
  const members = Object.keys(action === 'updated' ? was : pet) as (keyof PetState)[];
  const visible = hidden.length === 0 ? members : members.filter(member => !hidden.includes(member));
  const changes = visible.map(member => {
    const from = action === 'updated' ? (was[member] ?? undefined) : action === 'deleted' ? pet[member] : undefined;
    const to = action === 'deleted' ? undefined : pet[member];
    return [member, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  });
  return Object.fromEntries(changes);
}
