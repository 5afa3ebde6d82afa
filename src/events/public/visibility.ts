import type { Scope } from '../../keys/key.ts';
import { formatTime } from '../../lib/time.ts';
import { messageIdOf } from '../../messages/message.ts';
import { isComplete } from '../../orders/order.ts';
import { petValues } from '../../pets/pet.ts';
import type { EventKind } from '../../schema.ts';
import type { Actor } from '../event.ts';
import type { LoggedData, OwnedEvent } from '../owners.ts';
import { eventIdAt, type PublicEvent } from './public-event.ts';

/**
 * Reports whether an actor can see an event, by the rules of the resource itself. Everyone sees events of pets, categories
 * and organizations. The other kinds are visible to: the account that placed a hold and the owners of its pets; the account that
 * placed an order and the owner of its pet; the sender of a message, and its recipient once it is delivered; the account
 * itself, for its keys, bans and webhooks too. Admins see everything. The key of the actor needs a scope for the kind.
 */
export function canSee(actor: Actor, event: OwnedEvent): boolean {
  if (!allowsKind(actor, event.kind)) return false;
  if (actor.admin || catalogue.has(event.kind)) return true;
  const { accountId, toAccountId } = loggedResource(event);
  if (event.kind === 'message') {
    // The recipient sees the message once it is in the inbox.
    return accountId === actor.accountId || (toAccountId === actor.accountId && event.action === 'delivered');
  }
  return event.ownerIds.includes(actor.accountId!) || accountId === actor.accountId;
}

/** The kinds whose events everyone sees. */
const catalogue: ReadonlySet<EventKind> = new Set<EventKind>(['pet', 'category', 'organization']);

/** The scopes for events of each kind, of which a key needs one. */
const readScopes: Readonly<Record<EventKind, readonly Scope[]>> = {
  pet: ['pets:read', 'events:read'],
  category: ['pets:read', 'events:read'],
  organization: ['pets:read', 'events:read'],
  hold: ['orders:read'],
  order: ['orders:read'],
  message: ['messages:read'],
  account: ['account:read'],
  key: ['account:read'],
  ban: ['account:read'],
  webhook: ['webhooks:read'],
};

/** Reports whether the scopes of an actor's key allow events of a kind. */
export function allowsKind({ scopes }: Actor, kind: EventKind): boolean {
  return scopes === undefined || readScopes[kind].some(scope => scopes.has(scope));
}

/**
 * How much of an event an actor sees. The `owner` of the resource, and admins, see everything. The account that `caused`
 * the event sees itself, and the hold or order behind the event. Everyone else sees neither, and no fields that only the
 * owner sees.
 */
export type Sight = 'owner' | 'cause' | 'public';

/** Returns how much of an event an actor sees. A hold is owned by the account that placed it, an order by the owner of its pet. */
export function sightOf(actor: Actor, event: OwnedEvent): Sight {
  const owns =
    event.kind === 'hold'
      ? loggedResource(event).accountId === actor.accountId
      : event.ownerIds.includes(actor.accountId!);
  if (actor.admin || owns) return 'owner';
  return event.accountId === actor.accountId ? 'cause' : 'public';
}

/** Returns an event as the API shows it. */
export function publicEvent(event: OwnedEvent, sight: Sight): PublicEvent {
  const { kind, action, position, at, accountId, subjectId, ownerIds, data } = event;
  const showActor = sight !== 'public';
  const hidden = kind === 'pet' && sight !== 'owner' ? petValues.ownersOnly : [];
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
      id: kind === 'message' ? messageIdOf(subjectId) : subjectId,
      // The subject of key events is the account; the resource has the id of the key.
      ...resource,
      // As with `view=full`, everyone may see the owner of a pet.
      ...(kind === 'pet' && ownerIds.length > 0 && { accountId: ownerIds[0] }),
    },
    changes: changesOf(event, resource, without(data.was ?? {}, hidden)),
    ...(Object.keys(cause).length > 0 && { cause }),
  };
}

type Resource = Readonly<Record<string, unknown>>;

function loggedResource({ kind, data }: OwnedEvent): Resource {
  return (data[kind] ?? {}) as Resource;
}

/** Returns a resource without the members with these names. */
function without(resource: Resource, names: readonly string[]): Resource {
  if (!names.some(name => name in resource)) return resource;
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !names.includes(name)));
}

/** Returns the members that follow from the status, which the log leaves out. */
function derivedMembers({ kind, at, data }: OwnedEvent, status: unknown): Resource {
  if (kind === 'order' && status !== undefined) return { complete: isComplete(status) };
  if (kind === 'hold' && status !== undefined && status !== 'active') return { endedAt: formatTime(data.at ?? at) };
  return {};
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

const creations = ['created', 'placed', 'queued', 'imposed'];
/** The actions that delete a resource. */
const deletions = ['deleted', 'merged'];

/** Returns the changed members; all members of a created or deleted resource. `logged` has the previous values. */
function changesOf(event: OwnedEvent, resource: Resource, logged: Resource): PublicEvent['changes'] {
  const isCreated = creations.includes(event.action);
  const isDeleted = deletions.includes(event.action);
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
