import { problem, requireEither } from '../../model/errors.ts';
import { petColumns } from '../../model/pet.ts';
import { amongNumbers, type Params, query, type Transaction } from '../../model/schema.ts';
import type { LockedPet } from './change.ts';
import { endReservation, reservationOf } from './reservations.ts';

/**
 * Locks pets until the transaction ends, by ascending id so that transactions cannot deadlock, and ends their expired
 * reservations.
 * @returns the pets by ascending id, without those that do not exist
 */
export async function lockPets(tx: Transaction, ids: readonly number[]): Promise<LockedPet[]> {
  for (const id of ids) tx.claim?.(`pet ${id}`);
  const rows =
    ids.length === 1 ? await tx.all(lockOne, { id: ids[0]! }) : await tx.all(lockSome, { ids: JSON.stringify(ids) });
  tx.refreshNow(rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), 0));
  const locked: LockedPet[] = [];
  for (const row of rows) {
    const reservation = row.status === 'pending' ? await reservationOf(tx, row.id) : undefined;
    const pet = { ...row, reservation };
    const { reservedUntil } = row;
    const expired = reservedUntil !== null && reservedUntil <= tx.now;
    locked.push(expired ? await expire(tx, pet, reservedUntil) : pet);
  }
  return locked;
}

/** Locks pets like `lockPets`; throws `pet_not_found` unless all of them exist. */
export async function lockEveryPet(tx: Transaction, ids: readonly number[]): Promise<LockedPet[]> {
  const pets = await lockPets(tx, ids);
  const found = new Set(pets.map(({ id }) => id));
  const missing = ids.filter(id => !found.has(id)).sort((a, b) => a - b);
  if (missing.length === 0) return pets;
  const noun = missing.length === 1 ? 'is no animal' : 'are no animals';
  throw problem('pet_not_found', `There ${noun} ${missing.join(', ')}.`);
}

/**
 * Returns the ids of the pets in the body of a hold or an order.
 * @throws {Problem} `invalid_body` unless it has either `petId` or `petIds`
 */
export function requestedIds({
  petId,
  petIds,
}: {
  readonly petId?: number;
  readonly petIds?: readonly number[];
}): readonly number[] {
  if (petId !== undefined && petIds === undefined) return [petId];
  requireEither({ petId, petIds }, 'petId', 'petIds');
  return petIds!;
}

/** Locks one pet like `lockPets`; throws `pet_not_found`. */
export async function lockPet(tx: Transaction, id: number): Promise<LockedPet> {
  return (await lockEveryPet(tx, [id]))[0]!;
}

/** Ends an expired reservation as of its expiry. */
function expire(tx: Transaction, pet: LockedPet, at: number): Promise<LockedPet> {
  const { holdId = null, orderId = null } = pet.reservation ?? {};
  return endReservation(tx, pet, 'available', {
    accountId: null,
    reason: orderId === null ? 'hold_expired' : 'order_expired',
    at,
    ...(holdId !== null && { holdId }),
    ...(orderId !== null && { orderId }),
  });
}

const lockOne = query((db, p: Params<{ id: number }>, engine) => {
  const rows = db.selectFrom('pets').select(petColumns.stored()).where('id', '=', p.id);
  return engine === 'postgres' ? rows.forUpdate() : rows;
});

const lockSome = query((db, p: Params<{ ids: string }>, engine) => {
  const rows = db
    .selectFrom('pets')
    .select(petColumns.stored())
    .where(({ ref }) => amongNumbers(ref('id'), p.ids, engine))
    .orderBy('id');
  return engine === 'postgres' ? rows.forUpdate() : rows;
});
