import { record } from '../events/log.ts';
import { type Params, query, type Transaction } from '../schema.ts';
import { type CountChange, updateCounts } from './counts.ts';
import type { PetRow, PetState, PreviousPetState, StoredPetRow, WrittenPetRow } from './pet.ts';
import { petColumns, petValues } from './rows.ts';

/** The hold or the order that reserves a pet. */
export interface Reservation {
  readonly holdId: number | null;
  readonly orderId: number | null;
  /** When it expires; `null` if it does not. */
  readonly until: number | null;
}

/** A pet that a transaction has locked, as of the time of the transaction. */
export interface LockedPet extends PetRow {
  /** The hold or order that reserves the pet; `undefined` where none does. */
  readonly reservation: Reservation | undefined;
}

/** The columns to change. */
export type PetChange = Partial<WrittenPetRow> & {
  /** When the reservation expires; `null` where there is none or it does not expire. */
  readonly reservedUntil?: number | null;
};

/** The cause of a change: an account, or an event of a hold or an order. */
export interface PetCause {
  /** The account that makes the change; `null` for the operator and the service itself. */
  readonly accountId: number | null;
  readonly reason?: PetReason;
  readonly holdId?: number;
  readonly orderId?: number;
  /** When the change took effect, where that was before the transaction. */
  readonly at?: number;
}

/** Why a pet changed, where its owner did not change it. */
export type PetReason =
  | 'held'
  | 'hold_released'
  | 'hold_expired'
  | 'order_placed'
  | 'order_cancelled'
  | 'order_expired'
  | 'order_delivered'
  | 'order_returned'
  | 'category_merged';

/** The data of a pet's event. */
export interface PetEventData {
  /** The pet after the change; for a deletion, before it. */
  readonly pet: PetState;
  /** The fields that changed, as they were before. */
  readonly was?: PreviousPetState;
  readonly reason?: PetReason;
  readonly holdId?: number;
  readonly orderId?: number;
  /** The owner of the pet; absent in events of earlier releases. */
  readonly ownerId?: number;
  /** When the change took effect, where that was before it was recorded: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Changes a pet, updates the counters and records `pet.updated`, all in the caller's transaction. A change of nothing has no
 * effect, unless a hold or an order is its cause. A new status clears the reason for the previous one.
 * @param pet locked in this transaction
 * @returns the pet after the change
 */
export async function changePet(
  tx: Transaction,
  pet: LockedPet,
  { reservedUntil, ...change }: PetChange,
  { at, accountId, ...cause }: PetCause,
): Promise<LockedPet> {
  const after: LockedPet = {
    ...pet,
    ...change,
    version: pet.version + versionsBy(cause, pet.reservation),
    updatedAt: at ?? tx.now,
  };
  if (after.status !== pet.status && change.statusReason === undefined) Object.assign(after, { statusReason: null });
  const was = petValues.changesOf(pet, after);
  if (was === undefined && cause.reason === undefined) return pet;

  if (reservedUntil === undefined) await tx.run(updatePet, after);
  else await tx.run(updateReservedPet, { ...after, reservedUntil });
  const moves = countChanges(pet, after);
  if (moves.length > 0) updateCounts(tx, moves);
  const data: PetEventData = {
    pet: petValues.stateOf(after),
    was: was ?? {},
    ...cause,
    ownerId: after.accountId,
    ...(at !== undefined && { at }),
  };
  await record(tx, { kind: 'pet', action: 'updated', subjectId: after.id, accountId, data });
  return after;
}

/**
 * Returns by how many versions a change advances a pet. A reserved pet skips one version: readers see it when the
 * reservation expires, before any row changes.
 */
function versionsBy({ reason }: Pick<PetCause, 'reason'>, reservation: Reservation | undefined): number {
  const expired = reason === 'hold_expired' || reason === 'order_expired';
  return reservation === undefined || expired ? 1 : 2;
}

function countChanges(before: PetRow, after: PetRow): CountChange[] {
  const changes: CountChange[] = [];
  if (before.status !== after.status) {
    changes.push({ status: before.status, by: -1 }, { status: after.status, by: 1 });
  }
  if (before.categoryId !== after.categoryId) {
    changes.push({ categoryId: before.categoryId, by: -1 }, { categoryId: after.categoryId, by: 1 });
  }
  return changes;
}

const updatePet = query((db, p: Params<PetRow>) =>
  db.updateTable('pets').set(petColumns.updated(p)).where('id', '=', p.id),
);

/** Holds and orders change no other columns, so the indexes on the others stay untouched. */
const updateReservedPet = query((db, p: Params<StoredPetRow>) =>
  db
    .updateTable('pets')
    .set(petColumns.updated(p, ['status', 'statusReason', 'version', 'updatedAt', 'reservedUntil']))
    .where('id', '=', p.id),
);
