import type { Actor } from '../../src/model/log/event.ts';
import type { PetStatus } from '../../src/model/pet.ts';
import type { HoldView, OrderView, PetView } from './operation.ts';

/** The expected state of the store, in maps. As in the store, an expiry is applied by the next change. */
export interface Model {
  /** The maximum number of pets that an account can hold. */
  readonly heldMax: number;
  readonly pets: Map<number, ModelPet>;
  readonly holds: Map<number, ModelHold>;
  readonly orders: Map<number, ModelOrder>;
}

/** A pet and its reservation. */
export type ModelPet = Writable<PetView> & { reservation?: ModelReservation | undefined };

/** The hold or order that reserves a pet, expired or not. */
export interface ModelReservation {
  readonly holdId?: number;
  readonly orderId?: number;
  /** When it expires; `null` if it does not. */
  readonly until: number | null;
}

/** A hold. `status` ignores its expiry. */
export type ModelHold = Writable<HoldView>;

/** An order. `status` ignores its expiry. */
export type ModelOrder = Writable<OrderView>;

/** Returns the model of an empty store. */
export function emptyModel(heldMax: number): Model {
  return { heldMax, pets: new Map(), holds: new Map(), orders: new Map() };
}

/** The active reservation of a pet. */
export function reservationAt({ reservation }: ModelPet, now: number): ModelReservation | undefined {
  return reservation !== undefined && (reservation.until === null || reservation.until > now) ? reservation : undefined;
}

/** A pet as it is visible at a time: an expired reservation has no effect. */
export function petAt(model: Model, id: number, now: number): PetView | undefined {
  const pet = model.pets.get(id);
  if (pet === undefined) return undefined;
  const { reservation, ...row } = pet;
  if (reservation === undefined || reservationAt(pet, now) !== undefined) return row;
  return { ...row, status: 'available', statusReason: null, version: row.version + 1, updatedAt: reservation.until! };
}

/** A hold as it is visible to those who can see it. */
export function holdAt(model: Model, id: number, now: number): HoldView | undefined {
  const hold = model.holds.get(id);
  if (hold?.status !== 'active' || hold.expiresAt > now) return hold;
  const { expiresAt: end, version } = hold;
  return { ...hold, status: 'expired', endedAt: end, updatedAt: end, version: version + 1 };
}

/** An order as it is visible to those who can see it. */
export function orderAt(model: Model, id: number, now: number): OrderView | undefined {
  const order = model.orders.get(id);
  if (order?.status !== 'placed' || order.expiresAt! > now) return order;
  return { ...order, status: 'expired', updatedAt: order.expiresAt!, version: order.version + 1 };
}

/** The number of pets in each status. */
export function countsAt(model: Model, now: number): Record<PetStatus, number> {
  const counts = { available: 0, pending: 0, sold: 0 };
  for (const id of model.pets.keys()) counts[petAt(model, id, now)!.status]++;
  return counts;
}

/** The number of pets that an account holds. */
export function heldBy(model: Model, accountId: number, now: number): number {
  return [...model.pets.values()].filter(pet => {
    const holdId = reservationAt(pet, now)?.holdId;
    return holdId !== undefined && model.holds.get(holdId)!.accountId === accountId;
  }).length;
}

/** The distinct expiry times of all active reservations, earliest first. */
export function endsAfter(model: Model, now: number): number[] {
  const ends = [...model.pets.values()].map(pet => reservationAt(pet, now)?.until ?? now).filter(end => end > now);
  return [...new Set(ends)].sort((a, b) => a - b);
}

/** Reports whether an actor can see a hold: its holder, the owners of its pets, admins. */
export function canSeeHold(model: Model, { accountId, admin }: Actor, id: number): boolean {
  const hold = model.holds.get(id);
  return hold !== undefined && (admin || hold.accountId === accountId || hold.ownerIds.includes(accountId!));
}

/** Reports whether an actor can see an order: its placer, the owner of the pet, admins. */
export function canSeeOrder(model: Model, { accountId, admin }: Actor, id: number): boolean {
  const order = model.orders.get(id);
  return order !== undefined && (admin || order.accountId === accountId || order.ownerId === accountId);
}

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };
