import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { endIfUsed, lockActiveHold } from '../holds/holds.ts';
import type { HoldRow } from '../holds/rows.ts';
import { parseTime } from '../lib/time.ts';
import type { LockedPet } from '../pets/change-pet.ts';
import { lockPet } from '../pets/lock-pets.ts';
import { passOn, petReserved, reserve } from '../pets/reservations.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { recordOrderEvent, withSteps } from './events.ts';
import type { NewOrder } from './order.ts';
import { canSee, type OrderRow, type OrderWithSteps, orderColumns } from './rows.ts';

/** For how long a placed order waits for its approval. */
export const APPROVAL_PERIOD_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Orders an animal for an account, at the animal's price of this moment. It is pending from then on, until the order has
 * ended; of all that order it at once, one gets it.
 *
 * Not safe to repeat: the animal is ordered then.
 * @param order.holdId the account's own hold that the animal is in; the rest of the hold goes on
 * @throws {Problem} `pet_not_found`; `pet_reserved` while a hold or an order is in force, the account's own hold included
 *   where it is not named; `invalid_status_transition` where the animal is sold or was set aside; `hold_not_found`,
 *   `hold_ended`
 */
export async function placeOrder(
  tx: Transaction,
  actor: Actor & { readonly accountId: number },
  order: NewOrder,
): Promise<OrderWithSteps> {
  const { accountId } = actor;
  const { petId, holdId } = order;
  const pet = await lockPet(tx, petId);
  const hold = holdId === undefined ? undefined : await requireHeld(tx, actor, pet, holdId);
  if (hold === undefined) await requireNotKept(tx, actor, pet);

  const row = newRow(pet, accountId, order, tx.now);
  // The row is there before the reservation, which refers to it.
  const { id } = (await tx.first(insertOrder, row))!;
  const claim = { orderId: id, until: row.expiresAt };
  if (hold === undefined) await reserve(tx, pet, claim, accountId);
  else {
    await passOn(tx, pet, claim, accountId);
    await endIfUsed(tx, hold);
  }
  const placed: OrderRow = { id, ...row };
  await recordOrderEvent(tx, placed, { accountId });
  return { ...placed, steps: {} };
}

/**
 * The order with this id.
 * @param now a placed order that has run out by then is expired
 * @throws {Problem} `order_not_found`, also where it is none of the actor's business
 */
export async function getOrder(reader: Reader, actor: Actor, id: number, now: number): Promise<OrderWithSteps> {
  const order = await reader.first(orderById, { id, now });
  if (order === undefined || !canSee(actor, order)) throw problem('order_not_found', `There is no order ${id}.`);
  return (await withSteps(reader, [order]))[0]!;
}

/** The refusal says of one's own hold how to order from it. */
async function requireNotKept(tx: Transaction, { accountId }: Actor, pet: LockedPet): Promise<void> {
  const { reservation } = pet;
  if (reservation === undefined) return;
  const refusal = petReserved(pet.id, reservation, tx.now);
  const { holdId } = reservation;
  if (holdId === null || (await tx.first(holderOf, { holdId }))?.accountId !== accountId) throw refusal;
  const message = `Animal ${pet.id} is on hold for you: send "holdId": ${holdId} with the order to place it from there.`;
  throw problem('pet_reserved', message, { headers: refusal.headers });
}

async function requireHeld(tx: Transaction, actor: Actor, pet: LockedPet, holdId: number): Promise<HoldRow> {
  const hold = await lockActiveHold(tx, actor, holdId);
  if (pet.reservation?.holdId === holdId) return hold;
  throw problem('hold_ended', `Hold ${holdId} does not keep animal ${pet.id}, or no longer.`);
}

function newRow(
  pet: LockedPet,
  accountId: number,
  { petId, holdId, quantity, shipDate, note }: NewOrder,
  now: number,
): Omit<OrderRow, 'id'> & { readonly expiresAt: number } {
  return {
    petId,
    accountId,
    ownerId: pet.accountId,
    holdId: holdId ?? null,
    status: 'placed',
    quantity: quantity ?? 1,
    shipDate: shipDate === undefined ? null : parseTime(shipDate)!,
    note: note ?? null,
    priceAmount: pet.priceAmount,
    priceCurrency: pet.priceCurrency,
    expiresAt: now + APPROVAL_PERIOD_MS,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
}

const insertOrder = query((db, p: Params<Omit<OrderRow, 'id'>>) =>
  db
    .insertInto('orders')
    .values({
      pet_id: p.petId,
      account_id: p.accountId,
      owner_id: p.ownerId,
      hold_id: p.holdId,
      status: p.status,
      quantity: p.quantity,
      ship_date: p.shipDate,
      note: p.note,
      price_amount: p.priceAmount,
      price_currency: p.priceCurrency,
      expires_at: p.expiresAt,
      version: p.version,
      created_at: p.createdAt,
      updated_at: p.updatedAt,
    })
    .returning('id'),
);

const orderById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('orders').select(orderColumns(p.now)).where('id', '=', p.id),
);

const holderOf = query((db, p: Params<{ holdId: number }>) =>
  db.selectFrom('holds').select('account_id as accountId').where('id', '=', p.holdId),
);
