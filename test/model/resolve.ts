import { type Actor, operator } from '../../src/model/log/event.ts';
import type { Command, RequestedStep, Tag, Which, Who } from './commands.ts';
import { endsAfter, holdAt, type Model, orderAt, petAt } from './model.ts';
import { type Account, etagOf, type Operation, type OrderView } from './operation.ts';

/** Three accounts and an admin. */
export type Callers = readonly [Account, Account, Account, Account];

/** A command in the current state: an operation with ids and callers, or another action. */
export type Action =
  | Operation
  | { readonly act: 'wait'; readonly ms: number }
  | { readonly act: 'sweep'; readonly what: 'pets' | 'holds' | 'orders' }
  | { readonly act: 'compare' };

/** Resolves a command in the current state of the model. If a resource is missing, the command creates it. */
export function resolve(command: Command, model: Model, callers: Callers, now: number): Action {
  const pet = (which: Which) => pick(model.pets, which);
  const hold = (first: Which, second: Which | undefined): Operation => {
    const petIds = [...new Set([pet(first), ...(second === undefined ? [] : [pet(second)])])];
    return { act: 'createHold', actor: callers[0], petIds };
  };
  switch (command.do) {
    case 'create':
      return { act: 'createPet', actor: callers[command.who as 0], pet: command.pet };
    case 'update':
    case 'replace':
    case 'delete': {
      const id = pet(command.pet);
      const there = petAt(model, id, now);
      const on = { actor: as(callers, command.who, there?.accountId, undefined), id, ...tagged(command.tag, there) };
      if (command.do === 'delete') return { act: 'deletePet', ...on };
      if (command.do === 'replace') return { act: 'replacePet', ...on, pet: command.by };
      return { act: 'updatePet', ...on, patch: command.patch };
    }
    case 'hold': {
      const petIds = [...new Set(command.pets.map(pet))];
      const end = command.forMs === undefined ? {} : { expiresAt: now + command.forMs };
      return { act: 'createHold', actor: callers[command.who as 0], petIds, ...end };
    }
    case 'extend':
    case 'release': {
      if (model.holds.size === 0 && command.hold >= 0) return hold(command.hold, undefined);
      const id = pick(model.holds, command.hold);
      const there = holdAt(model, id, now);
      const other = model.holds.get(id)?.ownerIds[0];
      const on = { actor: as(callers, command.who, there?.accountId, other), id, ...tagged(command.tag, there) };
      if (command.do === 'release') return { act: 'releaseHold', ...on };
      // Often up to the maximum duration, counted from the creation of the hold; seldom a millisecond longer.
      const latest = (there?.createdAt ?? now) + LONGEST_MS;
      const expiresAt = command.toMs > LONGEST_MS ? latest + 1 : Math.min(now + command.toMs, latest);
      return { act: 'extendHold', ...on, expiresAt };
    }
    case 'order':
      return { act: 'placeOrder', actor: callers[command.who as 0], petId: pet(command.pet) };
    case 'use': {
      if (model.holds.size === 0 && command.hold >= 0) return hold(command.pet, 0);
      const holdId = pick(model.holds, command.hold);
      const there = holdAt(model, holdId, now);
      const held = there?.petIds.filter(id => model.pets.get(id)?.reservation?.holdId === holdId) ?? [];
      const petId = command.fitting && held.length > 0 ? held.at(command.pet % held.length)! : pet(command.pet);
      // Only accounts place orders.
      const actor = callers.find(one => one === as(callers, command.who, there?.accountId, undefined)) ?? callers[0];
      return { act: 'placeOrder', actor, petId, holdId };
    }
    case 'step': {
      if (model.orders.size === 0 && command.order >= 0) {
        return { act: 'placeOrder', actor: callers[1], petId: pet(command.order) };
      }
      const id = pick(model.orders, command.order);
      const there = orderAt(model, id, now);
      const step = stepOf(command.step, there);
      const { accountId, ownerId } = there ?? {};
      const [right, other] = step.act === 'cancelOrder' ? [accountId, ownerId] : [ownerId, accountId];
      return { ...step, actor: as(callers, command.who, right, other), id, ...tagged(command.tag, there) };
    }
    case 'wait':
      return { act: 'wait', ms: command.ms };
    case 'waitForEnd': {
      const ends = endsAfter(model, now);
      const end = ends[command.end % ends.length] ?? now;
      return { act: 'wait', ms: Math.max(0, end - now - (command.short ? 1 : 0)) };
    }
    case 'sweep':
      return { act: 'sweep', what: command.what };
    case 'compare':
      return { act: 'compare' };
  }
}

const LONGEST_MS = 30 * 24 * 60 * 60_000;

/** An id that no resource has. */
const UNKNOWN_ID = Number.MAX_SAFE_INTEGER;

function pick(resources: ReadonlyMap<number, unknown>, which: Which): number {
  const ids = [...resources.keys()];
  return (which < 0 ? undefined : ids.at(-1 - (which % ids.length))) ?? UNKNOWN_ID;
}

function as(callers: Callers, who: Who, right: number | undefined, other: number | undefined): Actor {
  if (who === 'an allowed caller') return callers.find(({ accountId }) => accountId === right) ?? callers[3];
  if (who === 'the other party') return callers.find(({ accountId }) => accountId === other) ?? callers[1];
  return callers[who] ?? operator;
}

function tagged(tag: Tag, resource: { readonly id: number; readonly version: number } | undefined): { etag?: string } {
  if (tag === 'any' || resource === undefined) return {};
  return { etag: etagOf(tag === 'present' ? resource : { ...resource, version: resource.version - 1 }) };
}

function stepOf(step: RequestedStep, order: OrderView | undefined) {
  switch (step) {
    case 'next':
      if (order?.status === 'approved') return { act: 'deliverOrder' as const };
      return { act: order?.status === 'delivered' ? ('returnOrder' as const) : ('approveOrder' as const) };
    case 'return':
      return { act: 'returnOrder' as const };
    case 'return unready':
      return { act: 'returnOrder' as const, ready: false };
    default:
      return { act: `${step}Order` as const };
  }
}
