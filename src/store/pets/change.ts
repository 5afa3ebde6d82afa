import type { PreviousOf, WrittenRowOf } from '../../lib/fields/field.ts';
import type { NewEvent } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { type PetFields, type PetReason, type PetRow, type PetState, petColumns, petValues } from '../../model/pet.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { updateWords } from '../search/word-index.ts';
import { updateCounts } from './counts.ts';
import { updateFacets } from './facets.ts';

/** The hold or the order that reserves a pet. */
export interface Reservation {
  readonly holdId: number | null;
  readonly orderId: number | null;
  /** When it expires; `null` if it does not. */
  readonly until: number | null;
}

/** A pet that a transaction has locked, as of the time of the transaction. */
export interface LockedPet extends PetRow {
  /** When the reservation expires; `null` without a reservation or an expiry. */
  readonly reservedUntil: number | null;
  /** The hold or order that reserves the pet; `undefined` if none does. */
  readonly reservation: Reservation | undefined;
}

export type PetChange = Partial<WrittenRowOf<PetFields>> & {
  /** When the reservation expires; `null` without a reservation or an expiry. */
  readonly reservedUntil?: number | null;
  /** A list of `StoredPhoto` as JSON. */
  readonly photos?: string | null;
};

/** The cause of a change: an account, and a reason if the service makes the change. */
export interface PetCause {
  /** The account that makes the change; `null` for the operator and the service itself. */
  readonly accountId: number | null;
  readonly reason?: PetReason;
  readonly holdId?: number;
  readonly orderId?: number;
  /** When the change took effect, if before the transaction. */
  readonly at?: number;
}

export interface PetEventData extends Omit<PetCause, 'accountId'> {
  /** The pet after the change; for a deletion, before it. */
  readonly pet: PetState;
  /** The previous values of the changed fields. */
  readonly was?: PreviousOf<PetFields>;
  /** The owner of the pet; absent in events of earlier releases. */
  readonly ownerId?: number;
}

export function petEvent(
  action: 'created' | 'updated' | 'deleted',
  accountId: number | null,
  pet: PetRow,
  details?: Omit<PetEventData, 'pet' | 'ownerId'>,
): NewEvent {
  const data: PetEventData = { pet: petValues.stateOf(pet), ...details, ownerId: pet.accountId };
  const automatic = details !== undefined && isExpiry(details);
  return { kind: 'pet', action, subjectId: pet.id, accountId, data, automatic };
}

/**
 * Changes a pet, updates the counters and records `pet.updated`, all in the caller's transaction. A change without
 * differences has no effect, unless its cause has a reason. A new status clears the reason for the previous one.
 * @param pet locked in this transaction
 * @returns the pet after the change
 */
export async function changePet(
  tx: Transaction,
  pet: LockedPet,
  change: PetChange,
  { accountId, ...cause }: PetCause,
): Promise<LockedPet> {
  // A reserved pet advances by two versions: once its reservation expires, reads show `version + 1` although no row has
  // changed, and the change must differ from that.
  const versions = pet.reservation === undefined || isExpiry(cause) ? 1 : 2;
  const after: LockedPet = {
    ...pet,
    ...change,
    version: pet.version + versions,
    updatedAt: cause.at ?? tx.now,
  };
  if (after.status !== pet.status && change.statusReason === undefined) Object.assign(after, { statusReason: null });
  const was = petValues.changesOf(pet, after);
  if (was === undefined && cause.reason === undefined) return pet;

  await tx.queue(change.reservedUntil === undefined ? updatePet : updateReservedPet, after);
  for (const counted of ['status', 'categoryId'] as const) {
    if (pet[counted] === after[counted]) continue;
    updateCounts(tx, { [counted]: pet[counted] }, -1);
    updateCounts(tx, { [counted]: after[counted] }, 1);
  }
  updateFacets(tx, pet, after);
  await updateWords(tx, pet, after);
  await record(tx, petEvent('updated', accountId, after, { was: was ?? {}, ...cause }));
  return after;
}

function isExpiry({ reason }: Pick<PetCause, 'reason'>): boolean {
  return reason === 'hold_expired' || reason === 'order_expired';
}

/** The version of a changed pet, for statements that change several pets; see `changePet`. */
export const nextVersion = sql<number>`version +
  case when exists(select 1 from reservations where reservations.pet_id = pets.id and active = 1) then 2 else 1 end`;

const updatePet = query((db, p: Params<PetRow>) =>
  db.updateTable('pets').set(petColumns.updated(p)).where('id', '=', p.id),
);

/** Holds and orders change only these columns, so that the indexes of other columns need no update. */
const updateReservedPet = query((db, p: Params<LockedPet>) =>
  db
    .updateTable('pets')
    .set(petColumns.updated(p, ['status', 'statusReason', 'version', 'updatedAt', 'reservedUntil']))
    .where('id', '=', p.id),
);
