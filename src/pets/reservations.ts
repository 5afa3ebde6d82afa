import { problem } from '../errors.ts';
import type { Problem } from '../lib/http/problem.ts';
import { formatTime } from '../lib/time.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { changePet, type LockedPet, type PetCause } from './change.ts';
import type { PetStatus } from './pet.ts';

/** The hold or the order that an animal is kept for. */
export interface Reservation {
  readonly holdId: number | null;
  readonly orderId: number | null;
  /** When it runs out; `null` where it does not. */
  readonly until: number | null;
}

/** The hold or order in force on an animal, its end passed or not; `undefined` where there is none. */
export async function reservationOf(reader: Reader, petId: number): Promise<Reservation | undefined> {
  return reader.first(inForce, { petId });
}

/**
 * Keeps an animal for a hold or an order: it is pending from then on, and nobody else gets it.
 *
 * A unique index decides, whatever this process believes: of all that try at once one succeeds.
 * @param pet locked in this transaction
 * @throws {Problem} `pet_reserved` while another hold or order is in force, `invalid_status_transition` when it is sold
 *   or was set aside
 */
export async function reserve(
  tx: Transaction,
  pet: LockedPet,
  what: { readonly until: number | null } & ({ readonly holdId: number } | { readonly orderId: number }),
  accountId: number | null,
): Promise<LockedPet> {
  if (pet.reservation !== undefined) throw petReserved(pet.id, pet.reservation, tx.now);
  if (pet.status !== 'available') throw notAvailable(pet);
  const cause: PetCause =
    'holdId' in what
      ? { accountId, reason: 'held', holdId: what.holdId }
      : { accountId, reason: 'order_placed', orderId: what.orderId };
  await claim(tx, pet, what);
  const kept = await changePet(tx, pet, { status: 'pending', reservedUntil: what.until }, cause);
  return { ...kept, reservation: reservationFor(what) };
}

/**
 * Passes an animal on from the hold that it is kept for to an order, in one step: nobody can come between.
 * @param pet locked in this transaction, with the hold in force
 */
export async function convertHold(
  tx: Transaction,
  pet: LockedPet,
  order: { readonly orderId: number; readonly until: number | null },
  accountId: number | null,
): Promise<LockedPet> {
  await tx.run(endInForce, { petId: pet.id });
  await claim(tx, pet, order);
  const holdId = pet.reservation?.holdId;
  const cause: PetCause = {
    accountId,
    reason: 'order_placed',
    orderId: order.orderId,
    ...(holdId != null && { holdId }),
  };
  const kept = await changePet(tx, pet, { reservedUntil: order.until }, cause);
  return { ...kept, reservation: reservationFor(order) };
}

/**
 * Ends the hold or order that an animal is kept for; the animal gets a new status.
 * @param pet locked in this transaction
 */
export async function endReservation(
  tx: Transaction,
  pet: LockedPet,
  status: PetStatus,
  cause: PetCause,
): Promise<LockedPet> {
  await tx.run(endInForce, { petId: pet.id });
  const free = await changePet(tx, pet, { status, reservedUntil: null }, cause);
  return { ...free, reservation: undefined };
}

/** Moves the end of the hold or order that an animal is kept for; to `null` it runs out no more. */
export async function changeExpiry(tx: Transaction, petId: number, until: number | null): Promise<void> {
  await tx.run(moveReservation, { petId, until });
  await tx.run(moveReservedUntil, { petId, until });
}

/** The earliest moment after `now` at which a hold or an order runs out; `undefined` where none does. */
export async function nextExpiry(reader: Reader, now: number): Promise<number | undefined> {
  return (await reader.first(nextEnd, { now }))?.until ?? undefined;
}

/** The refusal that says until when an animal is kept for somebody else. */
export function petReserved(petId: number, { holdId, until }: Reservation, now: number): Problem {
  const what = holdId === null ? 'ordered' : 'on hold';
  const message =
    until === null
      ? `Animal ${petId} is ${what}; when it may be free is not known.`
      : `Animal ${petId} is ${what} until ${formatTime(until)}; it may be free then.`;
  const headers = until === null ? [] : ['Retry-After', String(Math.max(1, Math.ceil((until - now) / 1000)))];
  return problem('pet_reserved', message, { headers });
}

function notAvailable({ id, status }: LockedPet): Problem {
  const message =
    status === 'sold' ? `Animal ${id} is sold.` : `Animal ${id} is set aside by its owner: pending, and not on hold.`;
  return problem('invalid_status_transition', message);
}

/** Puts the row in that the unique index takes once for each animal. */
async function claim(
  tx: Transaction,
  pet: LockedPet,
  what: { readonly until: number | null } & ({ readonly holdId: number } | { readonly orderId: number }),
): Promise<void> {
  const claimed = await tx.run(insertReservation, {
    petId: pet.id,
    ownerId: pet.accountId,
    ...reservationFor(what),
  });
  if (claimed > 0) return;
  const other = await reservationOf(tx, pet.id);
  throw petReserved(pet.id, other ?? { holdId: null, orderId: null, until: null }, tx.now);
}

function reservationFor(
  what: { readonly until: number | null } & ({ readonly holdId: number } | { readonly orderId: number }),
): Reservation {
  return {
    holdId: 'holdId' in what ? what.holdId : null,
    orderId: 'orderId' in what ? what.orderId : null,
    until: what.until,
  };
}

const inForce = query((db, p: Params<{ petId: number }>) =>
  db
    .selectFrom('reservations')
    .select(['hold_id as holdId', 'order_id as orderId', 'until'])
    .where('pet_id', '=', p.petId)
    .where('active', '=', sql.lit(1)),
);

/** Waits for another transaction that puts one in at the same time, and then gives way to it. */
const insertReservation = query(
  (
    db,
    p: Params<{ petId: number; ownerId: number; holdId: number | null; orderId: number | null; until: number | null }>,
  ) =>
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

const endInForce = query((db, p: Params<{ petId: number }>) =>
  db.updateTable('reservations').set({ active: 0 }).where('pet_id', '=', p.petId).where('active', '=', sql.lit(1)),
);

const moveReservation = query((db, p: Params<{ petId: number; until: number | null }>) =>
  db.updateTable('reservations').set({ until: p.until }).where('pet_id', '=', p.petId).where('active', '=', sql.lit(1)),
);

const moveReservedUntil = query((db, p: Params<{ petId: number; until: number | null }>) =>
  db.updateTable('pets').set({ reserved_until: p.until }).where('id', '=', p.petId),
);

const nextEnd = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('pets')
    .select('reserved_until as until')
    .where('reserved_until', '>', p.now)
    .orderBy('reserved_until')
    .limit(1),
);
