import type { OrderStatus } from '../../src/model/order.ts';
import type { NewPet, PetPatch, Price } from '../../src/model/pet.ts';
import { holdAt, type Model, type ModelPet, type ModelReservation, orderAt, reservationAt } from './model.ts';
import type { Operation } from './operation.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Applies an operation that the model allows.
 * @param id the id that the store assigned to a new resource
 */
export function apply(model: Model, operation: Operation, now: number, id: number): void {
  effects[operation.act](model, operation as never, now, id);
}

type Act = Operation['act'];
type Of<One extends Act> = Extract<Operation, { readonly act: One }>;

const effects: { readonly [One in Act]: (model: Model, operation: Of<One>, now: number, id: number) => void } = {
  createPet(model, { actor: { accountId }, pet }, now, id) {
    model.pets.set(id, { id, ...whole(pet), accountId, createdAt: now, updatedAt: now, version: 1 });
  },
  updatePet(model, { id, patch }, now) {
    const pet = touched(model, id, now);
    change(pet, patched(pet, patch), now);
  },
  replacePet(model, { id, pet }, now) {
    change(touched(model, id, now), whole(pet), now);
  },
  deletePet(model, { id }) {
    model.pets.delete(id);
  },
  createHold(model, { actor: { accountId }, petIds, expiresAt }, now, id) {
    const until = expiresAt ?? now + 15 * MINUTE_MS;
    const pets = sorted(petIds).map(petId => touched(model, petId, now));
    const owned = { petIds: pets.map(pet => pet.id), ownerIds: pets.map(pet => pet.accountId) };
    const times = { expiresAt: until, endedAt: null, createdAt: now, updatedAt: now };
    model.holds.set(id, { id, accountId, ...owned, status: 'active', version: 1, ...times });
    for (const pet of pets) reserve(pet, { holdId: id, until }, now);
  },
  extendHold(model, { id, expiresAt }, now) {
    const hold = model.holds.get(id)!;
    // A change without effect creates no version.
    if (hold.expiresAt === expiresAt) return;
    Object.assign(hold, { expiresAt, version: hold.version + 2, updatedAt: now });
    for (const pet of heldIn(model, id)) pet.reservation = { holdId: id, until: expiresAt };
  },
  releaseHold(model, { id }, now) {
    for (const pet of heldIn(model, id)) free(pet, 'available', now);
    endHold(model, id, 'released', now);
  },
  placeOrder(model, { actor: { accountId }, petId, holdId }, now, id) {
    const pet = touched(model, petId, now);
    const { accountId: ownerId, priceAmount, priceCurrency } = pet;
    const expiresAt = now + 7 * DAY_MS;
    const who = { accountId, ownerId, holdId: holdId ?? null };
    const times = { expiresAt, createdAt: now, updatedAt: now };
    model.orders.set(id, { id, petId, ...who, status: 'placed', priceAmount, priceCurrency, ...times, version: 1 });
    reserve(pet, { orderId: id, until: expiresAt }, now);
    if (holdId !== undefined && heldIn(model, holdId).length === 0) endHold(model, holdId, 'used', now);
  },
  approveOrder(model, { id }, now) {
    moveOrder(model, id, 'approved', now);
    orderedIn(model, id).reservation = { orderId: id, until: null };
  },
  deliverOrder(model, { id }, now) {
    free(orderedIn(model, id), 'sold', now);
    moveOrder(model, id, 'delivered', now);
  },
  cancelOrder(model, { id }, now) {
    free(orderedIn(model, id), 'available', now);
    moveOrder(model, id, 'cancelled', now);
  },
  returnOrder(model, { id, ready = true }, now) {
    takeBack(model, id, ready ? 'available' : 'pending', now);
    moveOrder(model, id, 'returned', now);
  },
};

/** A return leaves a pet unchanged if it was deleted, is not sold any more, or was sold again. */
function takeBack(model: Model, orderId: number, status: ModelPet['status'], now: number): void {
  const { petId } = model.orders.get(orderId)!;
  expirePet(model, petId, now);
  const pet = model.pets.get(petId);
  const later = [...model.orders.values()].filter(order => order.petId === petId && order.id > orderId);
  if (later.some(order => order.status === 'delivered' || order.status === 'returned')) return;
  if (pet?.status === 'sold') put(pet, { status, statusReason: null }, now);
}

/** Ends the expired reservation of a pet at its expiry. Returns whether there was one. */
export function expirePet(model: Model, petId: number, now: number): boolean {
  const pet = model.pets.get(petId);
  if (pet?.reservation === undefined || reservationAt(pet, now) !== undefined) return false;
  const { version } = pet;
  free(pet, 'available', pet.reservation.until!);
  pet.version = version + 1;
  return true;
}

/** Marks an expired hold as expired. Returns false if it has not expired or was marked before. */
export function expireHold(model: Model, id: number, now: number): boolean {
  const hold = model.holds.get(id);
  const seen = holdAt(model, id, now);
  if (hold?.status !== 'active' || seen?.status !== 'expired') return false;
  Object.assign(hold, seen);
  return true;
}

/** Marks an expired order as expired. Returns false if it has not expired or was marked before. */
export function expireOrder(model: Model, id: number, now: number): boolean {
  const order = model.orders.get(id);
  const seen = orderAt(model, id, now);
  if (order?.status !== 'placed' || seen?.status !== 'expired') return false;
  Object.assign(order, seen);
  return true;
}

function endHold(model: Model, id: number, status: 'released' | 'used', now: number): void {
  const hold = model.holds.get(id)!;
  Object.assign(hold, { status, endedAt: now, updatedAt: now, version: hold.version + 2 });
}

function moveOrder(model: Model, id: number, status: OrderStatus, now: number): void {
  const order = model.orders.get(id)!;
  // Only a placed order can expire. Its expiry reserves the next version, which a change skips.
  const by = order.status === 'placed' ? 2 : 1;
  Object.assign(order, { status, expiresAt: null, updatedAt: now, version: order.version + by });
}

/** The pets that a hold reserves, whether it has expired or not. */
function heldIn(model: Model, id: number): ModelPet[] {
  return [...model.pets.values()].filter(pet => pet.reservation?.holdId === id);
}

function orderedIn(model: Model, id: number): ModelPet {
  return model.pets.get(model.orders.get(id)!.petId)!;
}

/** Returns a pet that is about to change, after its expiry. */
function touched(model: Model, petId: number, now: number): ModelPet {
  expirePet(model, petId, now);
  return model.pets.get(petId)!;
}

function reserve(pet: ModelPet, reservation: ModelReservation, now: number): void {
  put(pet, { reservation, ...(pet.status !== 'pending' && { status: 'pending', statusReason: null }) }, now);
}

function free(pet: ModelPet, status: ModelPet['status'], at: number): void {
  put(pet, { reservation: undefined, status, statusReason: null }, at);
}

/** Changes a pet. A change without effect creates no version. */
function change(pet: ModelPet, wanted: Partial<ModelPet>, now: number): void {
  const fresh = wanted.status !== undefined && wanted.status !== pet.status && wanted.statusReason === undefined;
  const all: Partial<ModelPet> = { ...wanted, ...(fresh && { statusReason: null }) };
  const differs = Object.entries(all).some(([member, value]) => pet[member as keyof ModelPet] !== value);
  if (differs) put(pet, all, now);
}

/** Changes a pet. While it is reserved, the next version belongs to the expiry and is skipped. */
function put(pet: ModelPet, change: Partial<ModelPet>, at: number): void {
  const by = pet.reservation === undefined ? 1 : 2;
  Object.assign(pet, change, { version: pet.version + by, updatedAt: at });
}

function patched(pet: ModelPet, { price, ...rest }: PetPatch): Partial<ModelPet> {
  if (price === undefined) return rest;
  if (price === null) return { ...rest, ...priced(null) };
  return { ...rest, priceAmount: price.amount ?? pet.priceAmount, priceCurrency: price.currency ?? pet.priceCurrency };
}

function whole({ name, categoryId, status = 'available', statusReason, price }: NewPet) {
  return { name, categoryId, status, statusReason: statusReason ?? null, ...priced(price) };
}

function priced(price: Price | null | undefined) {
  return { priceAmount: price?.amount ?? null, priceCurrency: price?.currency ?? null };
}

function sorted(ids: readonly number[]): number[] {
  return [...ids].sort((a, b) => a - b);
}
