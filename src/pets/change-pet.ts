import { record } from '../events/log.ts';
import { type Params, type PetStatus, query, type Transaction } from '../schema.ts';
import { type CountChange, count } from './pet-counts.ts';
import { type PetRow, priceOf } from './pet-rows.ts';
import type { Reservation } from './reservations.ts';

/** An animal that is locked for a change, as it is at the time of the transaction. */
export interface LockedPet extends PetRow {
  /** The hold or order that it is kept for; `undefined` where there is none in force. */
  readonly reservation: Reservation | undefined;
}

/** What of an animal changes. */
export type PetChange = Partial<
  Pick<PetRow, 'name' | 'categoryId' | 'status' | 'statusReason' | 'priceAmount' | 'priceCurrency'>
> & {
  /** When what the animal is kept for runs out; `null` where nothing does. */
  readonly reservedUntil?: number | null;
};

/** Why an animal changes: an account's wish, or what became of a hold or an order. */
export interface PetCause {
  /** Who did it; `null` for the operator and for what happened by itself. */
  readonly accountId: number | null;
  readonly reason?: PetReason;
  readonly holdId?: number;
  readonly orderId?: number;
  /** When it happened, where that was before the transaction. */
  readonly at?: number;
}

/** Why an animal's status changed, where not by a wish of its owner. */
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

/** What the log says of an animal's change. */
export interface PetEventData {
  /** The animal after the change, or as it was at its end. */
  readonly pet: PetState;
  /** What changed: the members as they were before, `null` for those that were absent. */
  readonly was?: { readonly [Member in keyof PetState]?: PetState[Member] | null };
  readonly reason?: PetReason;
  readonly holdId?: number;
  readonly orderId?: number;
  /** Whose animal it is; absent in what earlier releases wrote down. */
  readonly ownerId?: number;
  /** When it happened, where that was before it was written down: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/** An animal as the log has it. */
export interface PetState {
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
  readonly statusReason?: string;
  readonly price?: { readonly amount: number; readonly currency: string };
}

/**
 * Changes an animal, counts it and writes it down, in the caller's transaction. A change that changes nothing is none,
 * unless something became of a hold or an order.
 * @param pet the animal, locked in this transaction
 * @returns the animal as it is then
 */
export async function changePet(
  tx: Transaction,
  { reservation, ...before }: LockedPet,
  { reservedUntil, ...change }: PetChange,
  { at, ...cause }: PetCause,
): Promise<LockedPet> {
  const statusReason =
    change.status !== undefined && change.status !== before.status && change.statusReason === undefined
      ? { statusReason: null }
      : {};
  const after: PetRow = {
    ...before,
    ...change,
    ...statusReason,
    version: before.version + versionsTo(cause, reservation),
    updatedAt: at ?? tx.now,
  };
  const was = differences(stateOf(before), stateOf(after));
  if (Object.keys(was).length === 0 && cause.reason === undefined) return { ...before, reservation };

  const { createdAt: _, accountId: __, ...columns } = after;
  await tx.run(reservedUntil === undefined ? updatePet : updateReservedPet, {
    ...columns,
    reservedUntil: reservedUntil ?? null,
  });
  await count(tx, moved(before, after));
  const { accountId, ...why } = cause;
  const data: PetEventData = {
    pet: stateOf(after),
    was,
    ...why,
    ownerId: after.accountId,
    ...(at !== undefined && { at }),
  };
  await record(tx, { kind: 'pet', action: 'updated', subjectId: after.id, accountId, data });
  return { ...after, reservation };
}

/**
 * By how many versions an animal moves on. While it is kept, the next version is that of its running out, and belongs to
 * nothing else: readers may have seen it already.
 */
function versionsTo({ reason }: PetCause, reservation: Reservation | undefined): number {
  const ranOut = reason === 'hold_expired' || reason === 'order_expired';
  return reservation === undefined || ranOut ? 1 : 2;
}

/** What the log says of an animal. */
export function stateOf(row: Omit<PetRow, 'id' | 'accountId' | 'createdAt' | 'updatedAt' | 'version'>): PetState {
  const price = priceOf(row);
  return {
    name: row.name,
    categoryId: row.categoryId,
    status: row.status,
    ...(row.statusReason !== null && { statusReason: row.statusReason }),
    ...(price && { price }),
  };
}

function differences(before: PetState, after: PetState): NonNullable<PetEventData['was']> {
  const members = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof PetState>;
  return Object.fromEntries(
    [...members]
      .filter(member => JSON.stringify(before[member]) !== JSON.stringify(after[member]))
      .map(member => [member, before[member] ?? null]),
  );
}

function moved(before: PetRow, after: PetRow): CountChange[] {
  const changes: CountChange[] = [];
  if (before.status !== after.status) {
    changes.push({ status: before.status, by: -1 }, { status: after.status, by: 1 });
  }
  if (before.categoryId !== after.categoryId) {
    changes.push({ categoryId: before.categoryId, by: -1 }, { categoryId: after.categoryId, by: 1 });
  }
  return changes;
}

type PetValues = Omit<PetRow, 'createdAt' | 'accountId'> & { reservedUntil: number | null };

const updatePet = query((db, p: Params<PetValues>) =>
  db
    .updateTable('pets')
    .set({
      name: p.name,
      category_id: p.categoryId,
      status: p.status,
      status_reason: p.statusReason,
      price_amount: p.priceAmount,
      price_currency: p.priceCurrency,
      version: p.version,
      updated_at: p.updatedAt,
    })
    .where('id', '=', p.id),
);

/** Holds and orders change nothing of an animal but these. */
const updateReservedPet = query((db, p: Params<PetValues>) =>
  db
    .updateTable('pets')
    .set({
      status: p.status,
      status_reason: p.statusReason,
      version: p.version,
      updated_at: p.updatedAt,
      reserved_until: p.reservedUntil,
    })
    .where('id', '=', p.id),
);
