import type { Actor } from '../../src/events/event.ts';
import type { PetStatus } from '../../src/pets/pet.ts';
import type { HoldView, OrderView, PetView } from './operation.ts';

/** The store as it should be, in plain maps. What has run out stays in it until something touches it, as in the store. */
export interface Model {
  /** How many animals the holds of one account may have together. */
  readonly heldMax: number;
  readonly pets: Map<number, ModelPet>;
  readonly holds: Map<number, ModelHold>;
  readonly orders: Map<number, ModelOrder>;
}

/** An animal, and what it is kept for. */
export type ModelPet = Writable<PetView> & { kept?: Kept | undefined };

/** The hold or the order that an animal is kept for, its end passed or not. */
export interface Kept {
  readonly holdId?: number;
  readonly orderId?: number;
  /** When it runs out; `null` where it does not. */
  readonly until: number | null;
}

/** A hold; `status` says nothing of its end. */
export type ModelHold = Writable<HoldView>;

/** An order; `status` says nothing of its end. */
export type ModelOrder = Writable<OrderView>;

/** A model of a store in which nothing is. */
export function emptyModel(heldMax: number): Model {
  return { heldMax, pets: new Map(), holds: new Map(), orders: new Map() };
}

/** The hold or order in force on an animal at a time. */
export function keptAt({ kept }: ModelPet, now: number): Kept | undefined {
  return kept !== undefined && (kept.until === null || kept.until > now) ? kept : undefined;
}

/** An animal as everybody sees it at a time: what has run out by then counts as gone. */
export function petAt(model: Model, id: number, now: number): PetView | undefined {
  const pet = model.pets.get(id);
  if (pet === undefined) return undefined;
  const { kept, ...row } = pet;
  if (kept === undefined || keptAt(pet, now) !== undefined) return row;
  return { ...row, status: 'available', statusReason: null, version: row.version + 1, updatedAt: kept.until! };
}

/** A hold as those see it who may. */
export function holdAt(model: Model, id: number, now: number): HoldView | undefined {
  const hold = model.holds.get(id);
  if (hold?.status !== 'active' || hold.expiresAt > now) return hold;
  const { expiresAt: end, version } = hold;
  return { ...hold, status: 'expired', endedAt: end, updatedAt: end, version: version + 1 };
}

/** An order as those see it who may. */
export function orderAt(model: Model, id: number, now: number): OrderView | undefined {
  const order = model.orders.get(id);
  if (order?.status !== 'placed' || order.expiresAt! > now) return order;
  return { ...order, status: 'expired', updatedAt: order.expiresAt!, version: order.version + 1 };
}

/** How many animals there are in each status. */
export function countsAt(model: Model, now: number): Record<PetStatus, number> {
  const counts = { available: 0, pending: 0, sold: 0 };
  for (const id of model.pets.keys()) counts[petAt(model, id, now)!.status]++;
  return counts;
}

/** How many animals the holds of an account keep for it. */
export function heldBy(model: Model, accountId: number, now: number): number {
  return [...model.pets.values()].filter(pet => {
    const holdId = keptAt(pet, now)?.holdId;
    return holdId !== undefined && model.holds.get(holdId)!.accountId === accountId;
  }).length;
}

/** The ends of all that is in force, each once, the earliest first. */
export function endsAfter(model: Model, now: number): number[] {
  const ends = [...model.pets.values()].map(pet => keptAt(pet, now)?.until ?? now).filter(end => end > now);
  return [...new Set(ends)].sort((a, b) => a - b);
}

/** Whether a hold is there for somebody: its holder, the owners of its animals, admins. */
export function seesHold(model: Model, { accountId, admin }: Actor, id: number): boolean {
  const hold = model.holds.get(id);
  return hold !== undefined && (admin || hold.accountId === accountId || hold.ownerIds.includes(accountId!));
}

/** Whether an order is there for somebody: who placed it, the owner of its animal, admins. */
export function seesOrder(model: Model, { accountId, admin }: Actor, id: number): boolean {
  const order = model.orders.get(id);
  return order !== undefined && (admin || order.accountId === accountId || order.ownerId === accountId);
}

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };
