import assert from 'node:assert/strict';
import type { Event } from '../../src/model/log/event.ts';
import type { PetReason, PetStatus } from '../../src/model/pet.ts';
import type { EventKind } from '../../src/model/schema.ts';
import type { PetEventData } from '../../src/store/pets/change.ts';
import { holdVersion, orderVersion, petVersion } from '../support/versions.ts';
import type { Done, Operation } from './operation.ts';

/** A read that runs concurrently. */
export type Read =
  | SingleRead
  /** Counts pets by status, less those that existed before. */
  | { readonly act: 'countByStatus' };

/** A read of one resource. */
export interface SingleRead {
  readonly act: 'getPet' | 'getHold' | 'getOrder';
  readonly actor: Operation['actor'];
  readonly id: number;
}

/** An operation or a read, its start and end, and its outcome. */
export interface Attempt {
  readonly operation: Operation | Read;
  readonly outcome: { readonly error: string } | { readonly done: Done | Record<PetStatus, number> };
  /** Sequence numbers of its start and its end among all operations. */
  readonly began: number;
  readonly ended: number;
  /** The range of times at which it happened, in milliseconds since the Unix epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How long before an expiry its node rejects changes. */
  readonly marginMs: number;
}

/** An event of any kind. */
export type AnyEvent = Event<Partial<PetEventData>>;

/** A change in the order of the log: an operation or an expiry. */
export interface Step {
  /** The last event of its transaction. */
  readonly id: number;
  readonly at: number;
  readonly attempt?: Attempt;
  readonly expired?: AnyEvent;
  /** Whether an order used up its hold. */
  readonly usesUp?: boolean;
  /** The resources that it changes. Steps with a common resource keep their order. */
  readonly resources: ReadonlySet<string>;
}

/** Matches events with the operations that caused them, and asserts that every event and every change has its match. */
export function stepsOf(attempts: readonly Attempt[], events: readonly AnyEvent[]): Step[] {
  const changes = new Map(attempts.filter(isChange).map(attempt => [nameOf(attempt), attempt]));
  const happened = new Map<string, AnyEvent[]>();
  const steps: Step[] = [];
  const last = new Map<string, Step>();
  const usedUp = new Set<number>();
  for (const event of events) {
    const resource = `${event.kind} ${event.subjectId}`;
    // The pets existed before.
    const before = happened.get(resource) ?? (event.kind === 'pet' && event.action !== 'created' ? [created] : []);
    const itsEvents = [...before, event];
    happened.set(resource, itsEvents);
    const name = causeOf(event, versions[event.kind as keyof typeof versions](itsEvents as never));
    if (name === 'expired') {
      steps.push({ id: event.id, at: event.at, expired: event, resources: new Set([resource, ...reserved(event)]) });
    } else if (name === 'used') {
      usedUp.add(event.subjectId);
    } else {
      const attempt = changes.get(name);
      assert.ok(attempt !== undefined, `no operation caused this event: ${JSON.stringify(event)}`);
      const resources = new Set([...(last.get(name)?.resources ?? []), resource, ...reserved(event)]);
      // The holds of an account are ordered.
      if (attempt.operation.act === 'createHold') resources.add(`account ${attempt.operation.actor.accountId}`);
      // The event of the order follows in the same transaction, which has locked the hold.
      const usesUp = event.action === 'placed' && usedUp.delete((attempt.operation as { holdId?: number }).holdId ?? 0);
      last.set(name, { id: event.id, at: event.at, attempt, resources, usesUp });
    }
  }
  assert.equal(usedUp.size, 0, `no order used up the hold ${[...usedUp]}`);
  for (const [name, attempt] of changes) assert.ok(last.has(name), `has no event: ${describeAttempt(attempt)}`);
  return [...steps, ...last.values()].sort((a, b) => a.id - b.id);
}

const versions = { pet: petVersion, hold: holdVersion, order: orderVersion };
const created = { action: 'created', data: {} } as AnyEvent;

/** Returns the cause of an event: the name of an attempt, `expired`, or `used` for a hold that an order used up. */
function causeOf({ kind, action, subjectId, data }: AnyEvent, version: number): string {
  if (action === 'expired' || action === 'used') return action;
  const { reason, holdId, orderId } = data;
  if (reason === 'hold_expired' || reason === 'order_expired') return 'expired';
  if (reason !== undefined) {
    const [of, what] = reasons[reason]!;
    return `${of} ${of === 'hold' ? holdId : orderId} ${what}`;
  }
  return `${kind} ${subjectId} ${action === 'updated' || action === 'extended' ? version : action}`;
}

const reasons: { readonly [Reason in PetReason]?: readonly [EventKind, string] } = {
  held: ['hold', 'created'],
  hold_released: ['hold', 'released'],
  order_placed: ['order', 'placed'],
  order_delivered: ['order', 'delivered'],
  order_cancelled: ['order', 'cancelled'],
  order_returned: ['order', 'returned'],
};

/** Returns the name of a change, from its outcome. */
function nameOf({ operation, outcome }: Attempt): string {
  const { id, version } = (outcome as { done: { id: number; version: number } | undefined }).done ?? {};
  switch (operation.act) {
    case 'createPet':
      return `pet ${id} created`;
    case 'updatePet':
    case 'replacePet':
      return `pet ${id} ${version}`;
    case 'deletePet':
      return `pet ${operation.id} deleted`;
    case 'createHold':
      return `hold ${id} created`;
    case 'extendHold':
      return `hold ${id} ${version}`;
    case 'releaseHold':
      return `hold ${id} released`;
    default:
      return `order ${id} ${actions[operation.act as keyof typeof actions]}`;
  }
}

const actions = {
  placeOrder: 'placed',
  approveOrder: 'approved',
  deliverOrder: 'delivered',
  cancelOrder: 'cancelled',
  returnOrder: 'returned',
};

/** Reports whether an attempt changed something. */
export function isChange({ operation, outcome }: Attempt): boolean {
  return 'done' in outcome && !/^(get|count)/.test(operation.act);
}

/** The hold and the order that a change of a pet is about. */
function reserved({ data: { holdId, orderId } }: AnyEvent): string[] {
  return [...(holdId === undefined ? [] : [`hold ${holdId}`]), ...(orderId === undefined ? [] : [`order ${orderId}`])];
}

/** Formats an attempt for an error message. */
export function describeAttempt({ operation, outcome, ...when }: Attempt): string {
  return JSON.stringify({ operation, outcome, ...when });
}
