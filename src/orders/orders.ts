import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { HoldRow } from '../holds/hold.ts';
import { endIfUsed, lockActiveHold } from '../holds/holds.ts';
import type { LockedPet } from '../pets/change.ts';
import { lockPet } from '../pets/lock.ts';
import { convertHold, petReserved, reserve } from '../pets/reservations.ts';
import { insertingOne, type Params, query, type Reader, type Transaction } from '../schema.ts';
import { recordOrderEvent, withSteps } from './events.ts';
import { countOrder } from './open-orders.ts';
import type { NewOrder, NewOrderRow, OrderRow } from './order.ts';
import { canSeeOrder, type OrderWithSteps, orderColumns, orderValues } from './rows.ts';

/** How long a placed order waits for approval before it expires: seven days, in milliseconds. */
export const APPROVAL_PERIOD_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * placeOrder orders a pet at its current price, reserves it until the order ends and records `order.placed`. Of several
 * concurrent orders of a pet, one succeeds. Not safe to repeat: the second time fails.
 * @param order.holdId the account's own hold on the pet; the hold keeps its other pets
 * @param openMax the most open orders of the account
 * @throws {Problem} `pet_not_found`; `pet_reserved` if a hold or an order reserves the pet, including the account's own
 *   hold if it is not given; `invalid_status_transition` if the pet is sold or set aside; `hold_not_found`; `hold_ended`;
 *   `order_limit_exceeded`
 */
export async function placeOrder(
  tx: Transaction,
  actor: Actor & { readonly accountId: number },
  order: NewOrder,
  openMax = Number.POSITIVE_INFINITY,
): Promise<OrderWithSteps> {
  const { accountId } = actor;
  const pet = await lockPet(tx, order.petId);
  const hold = order.holdId === undefined ? undefined : await lockHoldOn(tx, actor, pet, order.holdId);
  if (hold === undefined) await requireUnreserved(tx, actor, pet);

  const expiresAt = tx.now + APPROVAL_PERIOD_MS;
  const row: NewOrderRow = {
    ...orderValues.toRow(order),
    status: 'placed',
    priceAmount: pet.priceAmount,
    priceCurrency: pet.priceCurrency,
    accountId,
    ownerId: pet.accountId,
    expiresAt,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const id = await tx.insert(insertOrder, row);
  const reservation = { orderId: id, until: expiresAt };
  if (hold === undefined) await reserve(tx, pet, reservation, accountId);
  else {
    await convertHold(tx, pet, reservation, accountId);
    await endIfUsed(tx, hold);
  }
  const placed: OrderRow = { ...row, id, version: 1 };
  await recordOrderEvent(tx, placed, accountId);
  await countOrder(tx, accountId, openMax);
  return { ...placed, steps: {} };
}

/**
 * Returns the order with this id. It is visible to its placer, to the owner of its pet and to admins.
 * @param now the time as of which the order is read
 * @throws {Problem} `order_not_found`, also if the order is not visible to the actor
 */
export async function getOrder(reader: Reader, actor: Actor, id: number, now: number): Promise<OrderWithSteps> {
  const order = await reader.first(orderById, { id, now });
  if (order === undefined || !canSeeOrder(actor, order)) throw problem('order_not_found', `There is no order ${id}.`);
  return (await withSteps(reader, [order]))[0]!;
}

/** Rejects the order of a reserved pet. If the actor's own hold reserves it, the error explains how to order from it. */
async function requireUnreserved(tx: Transaction, { accountId }: Actor, pet: LockedPet): Promise<void> {
  const { reservation } = pet;
  if (reservation === undefined) return;
  const error = petReserved(pet.id, reservation, tx.now);
  const { holdId } = reservation;
  if (holdId === null || (await tx.first(accountOfHold, { holdId }))?.accountId !== accountId) throw error;
  const message = `Animal ${pet.id} is on hold for you: send "holdId": ${holdId} with the order.`;
  throw problem('pet_reserved', message, { headers: error.headers });
}

/** Locks and returns the hold from which the pet is ordered. */
async function lockHoldOn(tx: Transaction, actor: Actor, pet: LockedPet, holdId: number): Promise<HoldRow> {
  const hold = await lockActiveHold(tx, actor, holdId);
  if (pet.reservation?.holdId === holdId) return hold;
  throw problem('hold_ended', `Hold ${holdId} does not hold animal ${pet.id}, or no longer does.`);
}

const insertOrder = query((db, p: Params<NewOrderRow>, engine) =>
  insertingOne(db.insertInto('orders').values(orderColumns.inserted(p)), engine),
);

const orderById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('orders').select(orderColumns.full(p.now)).where('id', '=', p.id),
);

const accountOfHold = query((db, p: Params<{ holdId: number }>) =>
  db.selectFrom('holds').select('account_id as accountId').where('id', '=', p.holdId),
);
