import { valuesFor } from '../../lib/fields/values.ts';
import { formatTime } from '../../lib/time.ts';
import type { Actor } from '../../model/log/event.ts';
import type { LoggedData, OwnedEvent } from '../../model/log/owners.ts';
import type { Noun } from '../../model/noun.ts';
import { nounEvents, nouns } from '../../model/nouns.ts';
import { eventIdAt, type PublicEvent } from '../../model/public-event.ts';
import type { EventKind } from '../../model/schema.ts';

/**
 * Reports whether an actor can see an event. The rule is that of the resource: `visibleTo` of its noun. Admins see
 * everything. The key of the actor needs a scope for the kind.
 */
export function canSee(actor: Actor, event: OwnedEvent): boolean {
  if (!allowsKind(actor, event.kind)) return false;
  const { visibleTo } = nounEvents[event.kind];
  if (actor.admin || visibleTo === 'everyone') return true;
  const { accountId, toAccountId } = loggedResource(event);
  if (accountId === actor.accountId) return true;
  return visibleTo === 'parties'
    ? event.ownerIds.includes(actor.accountId!)
    : toAccountId === actor.accountId && event.action === 'delivered' && event.data.isSpam !== true;
}

/** Reports whether the scopes of an actor's key allow events of a kind. */
export function allowsKind({ scopes }: Actor, kind: EventKind): boolean {
  return scopes === undefined || nounEvents[kind].scopes.some(scope => scopes.has(scope));
}

/**
 * How much of an event an actor sees. The `owner` of the resource, and admins, see everything. The account that
 * `caused` the event sees itself, and the hold or order behind the event. Other actors see neither, and no fields that
 * only the owner sees.
 */
export type Sight = 'owner' | 'cause' | 'public';

/** Returns how much of an event an actor sees. */
export function sightOf(actor: Actor, event: OwnedEvent): Sight {
  const owns =
    nounEvents[event.kind].belongsTo === 'account'
      ? loggedResource(event).accountId === actor.accountId
      : event.ownerIds.includes(actor.accountId!);
  if (actor.admin || owns) return 'owner';
  return event.accountId === actor.accountId ? 'cause' : 'public';
}

/** Returns an event as the API shows it. */
export function publicEvent(event: OwnedEvent, sight: Sight): PublicEvent {
  const { kind, action, position, at, accountId, subjectId, ownerIds, data } = event;
  const showActor = sight !== 'public';
  const hidden = (sight === 'owner' ? undefined : ownersOnly[kind]) ?? [];
  const logged = without(loggedResource(event), hidden);
  const resource = { ...logged, ...derivedMembers(event, logged['status']) };
  const cause = causeOf(data, showActor);
  return {
    id: eventIdAt(position),
    type: `${kind}.${action}` as PublicEvent['type'],
    time: formatTime(data.at ?? at),
    sequence: position,
    ...(showActor && accountId !== null && { accountId }),
    data: {
      id: nounEvents[kind].shownId?.(subjectId) ?? subjectId,
      // The subject of a key event is the account, so the resource has the id of the key.
      ...resource,
      // As with `view=full`, everyone may see the owner of a pet.
      ...(kind === 'pet' && ownerIds.length > 0 && { accountId: ownerIds[0] }),
    },
    changes: changesOf(event, resource, without(data.was ?? {}, hidden)),
    ...(Object.keys(cause).length > 0 && { cause }),
  };
}

/** The names of the fields that only the owner sees, of each noun with fields. */
const ownersOnly: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries<Noun>(nouns).flatMap(([kind, { table }]) =>
    table?.fields ? [[kind, valuesFor(table.fields).ownersOnly]] : [],
  ),
);

type Resource = Readonly<Record<string, unknown>>;

function loggedResource({ kind, data }: OwnedEvent): Resource {
  return (data[kind] ?? {}) as Resource;
}

/** Returns a resource without the members with these names. */
function without(resource: Resource, names: readonly string[]): Resource {
  if (!names.some(name => name in resource)) return resource;
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !names.includes(name)));
}

/** Returns the members that derive from the status, which the log omits. */
function derivedMembers({ kind, at, data }: OwnedEvent, status: unknown): Resource {
  return (status === undefined ? undefined : nounEvents[kind].derived?.(status, data.at ?? at)) ?? {};
}

function causeOf(data: LoggedData, showActor: boolean): NonNullable<PublicEvent['cause']> {
  const { reason, holdId, orderId, intoId, keyId, toAccountId, note } = data;
  return {
    ...(reason !== undefined && { reason }),
    ...(showActor && holdId !== undefined && { holdId }),
    ...(showActor && orderId !== undefined && { orderId }),
    ...(intoId !== undefined && { intoId }),
    ...(keyId !== undefined && { keyId }),
    ...(toAccountId !== undefined && { toAccountId }),
    ...(note !== undefined && { note }),
  };
}

/** Returns the changed members; for a created or deleted resource, all members. `logged` has the previous values. */
function changesOf(event: OwnedEvent, resource: Resource, logged: Resource): PublicEvent['changes'] {
  const effect = nounEvents[event.kind].actions[event.action];
  const [isCreated, isDeleted] = [effect === 'creates', effect === 'deletes'];
  const was: Resource = { ...logged, ...derivedMembers(event, logged['status']) };
  const derived = Object.keys(derivedMembers(event, resource['status'])).filter(name => was[name] !== resource[name]);
  const changed = new Set([...Object.keys(logged), ...derived]);
  const members = (isCreated || isDeleted ? Object.keys(resource) : [...changed]).filter(member => member !== 'id');
  const changes = members.map(member => {
    const from = isCreated ? undefined : isDeleted ? resource[member] : (was[member] ?? undefined);
    const to = isDeleted ? undefined : resource[member];
    return [member, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  });
  return Object.fromEntries(changes);
}
