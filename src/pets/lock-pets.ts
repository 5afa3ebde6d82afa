import { problem } from '../errors.ts';
import { type Params, type Query, query, type Transaction } from '../schema.ts';
import type { LockedPet } from './change-pet.ts';
import type { PetRow } from './pet-rows.ts';
import { endReservation, reservationOf } from './reservations.ts';

/**
 * Locks animals for a change until the transaction ends, in the order of their ids, so that nobody waits for somebody
 * who waits for him. What they were kept for and has run out by then is ended first.
 * @returns the animals in that order; those that do not exist are left out
 */
export async function lockPets(tx: Transaction, ids: readonly number[]): Promise<LockedPet[]> {
  const ordered = [...new Set(ids)].sort((a, b) => a - b);
  const values = Object.fromEntries(ordered.map((id, index) => [`id${index}`, id]));
  const rows = await tx.all(lock(ordered.length), values);
  tx.refreshNow(Math.max(0, ...rows.map(({ updatedAt }) => updatedAt)));
  const locked: LockedPet[] = [];
  for (const { reservedUntil, ...row } of rows) {
    const reservation = row.status === 'pending' ? await reservationOf(tx, row.id) : undefined;
    const pet = { ...row, reservation };
    const runOut = reservedUntil !== null && reservedUntil <= tx.now;
    locked.push(runOut ? await expire(tx, pet, reservedUntil) : pet);
  }
  return locked;
}

/**
 * One animal, locked.
 * @throws {Problem} `pet_not_found`
 */
export async function lockPet(tx: Transaction, id: number): Promise<LockedPet> {
  const [pet] = await lockPets(tx, [id]);
  if (pet === undefined) throw problem('pet_not_found', `There is no animal ${id}.`);
  return pet;
}

/** Ends what has run out, at the moment at which it did. */
function expire(tx: Transaction, pet: LockedPet, at: number): Promise<LockedPet> {
  const { holdId = null, orderId = null } = pet.reservation ?? {};
  const reason = orderId === null ? 'hold_expired' : 'order_expired';
  return endReservation(tx, pet, 'available', {
    accountId: null,
    reason,
    at,
    ...(holdId !== null && { holdId }),
    ...(orderId !== null && { orderId }),
  });
}

type LockValues = Record<`id${number}`, number>;
const locks = new Map<number, Query<LockValues, PetRow & { reservedUntil: number | null }>>();

function lock(count: number): Query<LockValues, PetRow & { reservedUntil: number | null }> {
  let found = locks.get(count);
  if (found === undefined) {
    found = query((db, p: Params<LockValues>, engine) => {
      const rows = db
        .selectFrom('pets')
        .select([
          'id',
          'name',
          'category_id as categoryId',
          'status',
          'status_reason as statusReason',
          'price_amount as priceAmount',
          'price_currency as priceCurrency',
          'account_id as accountId',
          'created_at as createdAt',
          'updated_at as updatedAt',
          'version',
          'reserved_until as reservedUntil',
        ])
        .where(
          'id',
          'in',
          Array.from({ length: count }, (_, index) => p[`id${index}`]!),
        )
        .orderBy('id');
      return engine === 'postgres' ? rows.forUpdate() : rows;
    });
    locks.set(count, found);
  }
  return found;
}
