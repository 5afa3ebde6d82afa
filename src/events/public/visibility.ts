import { formatTime } from '../../lib/time.ts';
import { messageIdOf } from '../../messages/message.ts';
import { isComplete } from '../../orders/rows.ts';
import type { Actor } from '../event.ts';
import type { LoggedData, OwnedEvent } from '../owners.ts';
import { idAt, type PublicEvent } from './public-event.ts';

/**
 * Whether somebody may see an event: everybody those of animals and categories; a hold's who placed it and the owners of
 * its animals; an order's who placed it and the owner of the animal; a message's who wrote it, and once it has arrived to whom;
 * an account's, its keys' and their bans' that account; admins all.
 * As it is with the things themselves.
 */
export function sees(actor: Actor, event: OwnedEvent): boolean {
  if (actor.admin || event.kind === 'pet' || event.kind === 'category') return true;
  const { accountId, toAccountId } = loggedOf(event);
  if (event.kind === 'message') {
    // It is not the recipient's business before it is in the inbox.
    return accountId === actor.accountId || (toAccountId === actor.accountId && event.action === 'delivered');
  }
  return event.ownerIds.includes(actor.accountId!) || accountId === actor.accountId;
}

/**
 * Whether somebody is told who did it, and for which hold or order: the owner of the thing, the one who did it, and
 * admins. A hold belongs to who placed it; an order is the business of the animal's owner.
 */
export function knows(actor: Actor, event: OwnedEvent): boolean {
  if (actor.admin || event.accountId === actor.accountId) return true;
  return event.kind === 'hold'
    ? loggedOf(event).accountId === actor.accountId
    : event.ownerIds.includes(actor.accountId!);
}

/**
 * An event as it is told.
 * @param known whether who did it is told, and for what
 */
export function publicEvent(event: OwnedEvent, known: boolean): PublicEvent {
  const { kind, action, place, at, accountId, subjectId, ownerIds, data } = event;
  const thing = thingOf(event);
  const cause = causeOf(data, known);
  return {
    id: idAt(place),
    type: `${kind}.${action}` as PublicEvent['type'],
    time: formatTime(data.at ?? at),
    sequence: place,
    ...(known && accountId !== null && { accountId }),
    data: {
      id: kind === 'message' ? messageIdOf(subjectId) : subjectId,
      // A key has its own id, and the account's is the one that the log goes by.
      ...thing,
      // As with `view=full`, everybody may know whose animal it is.
      ...(kind === 'pet' && ownerIds.length > 0 && { accountId: ownerIds[0] }),
    },
    changes: changesOf(event, thing),
    ...(Object.keys(cause).length > 0 && { cause }),
  };
}

type Thing = Readonly<Record<string, unknown>>;

function loggedOf({ kind, data }: OwnedEvent): Thing {
  return (data[kind] ?? {}) as Thing;
}

/** The thing as it was then, whole. */
function thingOf(event: OwnedEvent): Thing {
  const logged = loggedOf(event);
  return { ...logged, ...following(event, logged['status']) };
}

/** The members that follow from the status that a thing came to or had, and so are not in the log. */
function following({ kind, at, data }: OwnedEvent, status: unknown): Thing {
  if (kind === 'order' && status !== undefined) return { complete: isComplete(status) };
  if (kind === 'hold' && status !== undefined && status !== 'active') return { endedAt: formatTime(data.at ?? at) };
  return {};
}

function causeOf(data: LoggedData, known: boolean): NonNullable<PublicEvent['cause']> {
  const { reason, holdId, orderId, intoId, keyId, note } = data;
  return {
    ...(reason !== undefined && { reason }),
    ...(known && holdId !== undefined && { holdId }),
    ...(known && orderId !== undefined && { orderId }),
    ...(intoId !== undefined && { intoId }),
    ...(keyId !== undefined && { keyId }),
    ...(note !== undefined && { note }),
  };
}

/** With these a thing begins. */
const beginnings = ['created', 'placed', 'queued', 'imposed'];
/** With these it is no more. */
const ends = ['deleted', 'merged'];

/** What a thing began with, what changed of it, or what it was at its end. */
function changesOf(event: OwnedEvent, thing: Thing): PublicEvent['changes'] {
  const begins = beginnings.includes(event.action);
  const gone = ends.includes(event.action);
  const logged = event.data.was ?? {};
  const was: Thing = { ...logged, ...following(event, logged['status']) };
  const followed = Object.keys(following(event, thing['status'])).filter(member => was[member] !== thing[member]);
  const changed = new Set([...Object.keys(logged), ...followed]);
  const members = (begins || gone ? Object.keys(thing) : [...changed]).filter(member => member !== 'id');
  const changes = members.map(member => {
    const from = begins ? undefined : gone ? thing[member] : (was[member] ?? undefined);
    const to = gone ? undefined : thing[member];
    return [member, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  });
  return Object.fromEntries(changes);
}
