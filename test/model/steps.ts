import assert from 'node:assert/strict';
import type { Event } from '../../src/events/event.ts';
import type { PetEventData, PetReason } from '../../src/pets/change.ts';
import type { PetStatus } from '../../src/pets/pet.ts';
import type { EventKind } from '../../src/schema.ts';
import { holdVersion, orderVersion, petVersion } from '../support/versions.ts';
import type { Done, Operation } from './operation.ts';

/** Something that is read while others are at work. */
export type Read =
  | SingleRead
  /** How many animals there are in each status, less those that were there before. */
  | { readonly act: 'countByStatus' };

/** One thing that is read. */
export interface SingleRead {
  readonly act: 'getPet' | 'getHold' | 'getOrder';
  readonly actor: Operation['actor'];
  readonly id: number;
}

/** What somebody did, between two moments of all that happened, and what came of it. */
export interface Attempt {
  readonly operation: Operation | Read;
  readonly outcome: { readonly refused: string } | { readonly done: Done | Record<PetStatus, number> };
  /** When it began and when it ended: numbers that rise with every beginning and end of anybody's. */
  readonly began: number;
  readonly ended: number;
  /** Between these times, in milliseconds since the Unix epoch, it happened. */
  readonly fromMs: number;
  readonly toMs: number;
  /** For how long before its end the node that did it leaves alone what runs out. */
  readonly marginMs: number;
}

/** An event of the log of whichever kind. */
export type AnyEvent = Event<Partial<PetEventData>>;

/** A change in the order: somebody's, or the end of something that ran out. */
export interface Step {
  /** The last event of its transaction that tells of it. */
  readonly id: number;
  readonly at: number;
  readonly attempt?: Attempt;
  readonly expired?: AnyEvent;
  /** Whether it is an order that used up its hold. */
  readonly usesUp?: boolean;
  /** What it changes: no other step that has one of these may change places with it. */
  readonly things: ReadonlySet<string>;
}

/** Puts the events together with what they came from; demands that each came from something, and the other way round. */
export function stepsOf(attempts: readonly Attempt[], events: readonly AnyEvent[]): Step[] {
  const changes = new Map(attempts.filter(isChange).map(attempt => [nameOf(attempt), attempt]));
  const happened = new Map<string, AnyEvent[]>();
  const steps: Step[] = [];
  const last = new Map<string, Step>();
  const usedUp = new Set<number>();
  for (const event of events) {
    const thing = `${event.kind} ${event.subjectId}`;
    // The animals were there before.
    const before = happened.get(thing) ?? (event.kind === 'pet' && event.action !== 'created' ? [created] : []);
    const itsEvents = [...before, event];
    happened.set(thing, itsEvents);
    const name = causeOf(event, versions[event.kind as keyof typeof versions](itsEvents as never));
    if (name === 'expired') {
      steps.push({ id: event.id, at: event.at, expired: event, things: new Set([thing, ...reserved(event)]) });
    } else if (name === 'used') {
      usedUp.add(event.subjectId);
    } else {
      const attempt = changes.get(name);
      assert.ok(attempt !== undefined, `nobody did this: ${JSON.stringify(event)}`);
      const things = new Set([...(last.get(name)?.things ?? []), thing, ...reserved(event)]);
      // The holds of an account come one after the other.
      if (attempt.operation.act === 'createHold') things.add(`account ${attempt.operation.actor.accountId}`);
      // The order follows in the transaction that has the hold locked.
      const usesUp = event.action === 'placed' && usedUp.delete((attempt.operation as { holdId?: number }).holdId ?? 0);
      last.set(name, { id: event.id, at: event.at, attempt, things, usesUp });
    }
  }
  assert.equal(usedUp.size, 0, `nobody used up the hold ${[...usedUp]}`);
  for (const [name, attempt] of changes) assert.ok(last.has(name), `is not in the log: ${told(attempt)}`);
  return [...steps, ...last.values()].sort((a, b) => a.id - b.id);
}

const versions = { pet: petVersion, hold: holdVersion, order: orderVersion };
const created = { action: 'created', data: {} } as AnyEvent;

/** What an event came from: the name of an attempt, something that ran out, or an order that used up a hold. */
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

/** What a change is called, by what came of it. */
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

/** Whether somebody did what changed something. */
export function isChange({ operation, outcome }: Attempt): boolean {
  return 'done' in outcome && !/^(get|count)/.test(operation.act);
}

/** The hold and the order that an animal's change is about. */
function reserved({ data: { holdId, orderId } }: AnyEvent): string[] {
  return [...(holdId === undefined ? [] : [`hold ${holdId}`]), ...(orderId === undefined ? [] : [`order ${orderId}`])];
}

/** An attempt, as a failure tells of it. */
export function told({ operation, outcome, ...when }: Attempt): string {
  return JSON.stringify({ operation, outcome, ...when });
}
