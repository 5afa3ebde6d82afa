import type { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { PetStatus } from '../../model/pet.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import { changePet, type LockedPet, type PetCause, type Reservation } from './change.ts';

type NewReservation = { readonly until: number | null } & ({ readonly holdId: number } | { readonly orderId: number });

/** Returns the active reservation of a pet, expired or not; `undefined` if there is none. */
export async function reservationOf(reader: Reader, petId: number): Promise<Reservation | undefined> {
  return reader.first(activeReservation, { petId });
}

/**
 * Reserves a pet for a hold or an order, and makes it pending. A unique index guarantees that only one of several
 * concurrent attempts succeeds.
 * @param pet locked in this transaction
 * @throws {Problem} `pet_reserved` if the pet is reserved; `invalid_status_transition` if it is sold or set aside
 */
export async function reserve(
  tx: Transaction,
  pet: LockedPet,
  reservation: NewReservation,
  accountId: number | null,
): Promise<LockedPet> {
  if (pet.reservation !== undefined) throw petReserved(pet.id, pet.reservation, tx.now);
  if (pet.status !== 'available') throw notAvailable(pet);
  const { until: _, ...ids } = reservation;
  const cause: PetCause = { accountId, reason: 'holdId' in ids ? 'held' : 'order_placed', ...ids };
  return changeReservation(tx, pet, reservation, { status: 'pending' }, cause);
}

/**
 * Replaces the hold that reserves a pet by an order. The pet is not available in between.
 * @param pet locked in this transaction, with an active hold
 */
export async function convertHold(
  tx: Transaction,
  pet: LockedPet,
  order: { readonly orderId: number; readonly until: number | null },
  accountId: number | null,
): Promise<LockedPet> {
  await tx.queue(deactivate, { petId: pet.id });
  const { orderId } = order;
  const holdId = pet.reservation?.holdId;
  const cause = { accountId, reason: 'order_placed', orderId, ...(holdId != null && { holdId }) } as const;
  return changeReservation(tx, pet, order, {}, cause);
}

/**
 * Ends the reservation of a pet and sets its status.
 * @param pet locked in this transaction
 */
export async function endReservation(
  tx: Transaction,
  pet: LockedPet,
  status: PetStatus,
  cause: PetCause,
): Promise<LockedPet> {
  await tx.queue(deactivate, { petId: pet.id });
  const ended = await changePet(tx, pet, { status, reservedUntil: null }, cause);
  return { ...ended, reservation: undefined };
}

/** Changes the expiry of a pet's reservation; `null` removes it. */
export async function changeExpiry(tx: Transaction, petId: number, until: number | null): Promise<void> {
  await tx.queue(updateReservation, { petId, until });
  await tx.queue(updateReservedUntil, { petId, until });
}

/** Returns the earliest time after `now` at which a reservation expires; `undefined` if none does. */
export async function nextExpiry(reader: Reader, now: number): Promise<number | undefined> {
  return (await reader.first(earliestExpiry, { now }))?.until ?? undefined;
}

/** Returns the error for a reserved pet, with the expiry of the reservation. */
export function petReserved(petId: number, { holdId, until }: Reservation, now: number): Problem {
  const state = holdId === null ? 'ordered' : 'on hold';
  const message =
    until === null
      ? `Animal ${petId} is ${state}; when it will be available is not known.`
      : `Animal ${petId} is ${state} until ${formatTime(until)}; it may be available then.`;
  const headers = until === null ? [] : ['Retry-After', String(Math.max(1, Math.ceil((until - now) / 1000)))];
  return problem('pet_reserved', message, { headers });
}

function notAvailable({ id, status }: LockedPet): Problem {
  const message =
    status === 'sold'
      ? `Animal ${id} is sold.`
      : `Animal ${id} is set aside by its owner: it is pending without a hold or an order.`;
  return problem('invalid_status_transition', message);
}

async function changeReservation(
  tx: Transaction,
  pet: LockedPet,
  { until, ...reservation }: NewReservation,
  change: { readonly status?: PetStatus },
  cause: PetCause,
): Promise<LockedPet> {
  const next: Reservation = { holdId: null, orderId: null, ...reservation, until };
  await tx.queue(insertReservation, { petId: pet.id, ownerId: pet.accountId, ...next }, inserted => {
    if (inserted === 0) return rejectReserved(tx, pet.id);
  });
  const changed = await changePet(tx, pet, { ...change, reservedUntil: until }, cause);
  return { ...changed, reservation: next };
}

async function rejectReserved(tx: Transaction, petId: number): Promise<never> {
  const other = await reservationOf(tx, petId);
  throw petReserved(petId, other ?? { holdId: null, orderId: null, until: null }, tx.now);
}

const activeReservation = query((db, p: Params<{ petId: number }>) =>
  db
    .selectFrom('reservations')
    .select(['hold_id as holdId', 'order_id as orderId', 'until'])
    .where('pet_id', '=', p.petId)
    .where('active', '=', sql.lit(1)),
);

/** Inserts nothing if the pet has an active reservation; waits for a concurrent insert first. */
const insertReservation = query((db, p: Params<Reservation & { petId: number; ownerId: number }>) =>
  db
    .insertInto('reservations')
    .values({
      pet_id: p.petId,
      owner_id: p.ownerId,
      hold_id: p.holdId,
      order_id: p.orderId,
      until: p.until,
      active: 1,
    })
    .onConflict(conflict => conflict.column('pet_id').where('active', '=', sql.lit(1)).doNothing()),
);

const deactivate = query((db, p: Params<{ petId: number }>) =>
  db.updateTable('reservations').set({ active: 0 }).where('pet_id', '=', p.petId).where('active', '=', sql.lit(1)),
);

const updateReservation = query((db, p: Params<{ petId: number; until: number | null }>) =>
  db.updateTable('reservations').set({ until: p.until }).where('pet_id', '=', p.petId).where('active', '=', sql.lit(1)),
);

const updateReservedUntil = query((db, p: Params<{ petId: number; until: number | null }>) =>
  db.updateTable('pets').set({ reserved_until: p.until }).where('id', '=', p.petId),
);

const earliestExpiry = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('pets')
    .select('reserved_until as until')
    .where('reserved_until', '>', p.now)
    .orderBy('reserved_until')
    .limit(1),
);
