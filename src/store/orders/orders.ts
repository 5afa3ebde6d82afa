import type { Problem } from '../../lib/http/problem.ts';
import { invalidBody, problem } from '../../model/errors.ts';
import type { HoldRow } from '../../model/hold.ts';
import type { Actor } from '../../model/log/event.ts';
import type { NewOrder, NewOrderRow, OrderRow } from '../../model/order.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import { insertingOne, type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { endIfUsed, lockActiveHold } from '../holds/holds.ts';
import type { LockedPet, Reservation } from '../pets/change.ts';
import { areBonded, requireWholeGroups } from '../pets/groups.ts';
import { lockEveryPet, requestedIds } from '../pets/lock.ts';
import { convertHold, petReserved, reserve } from '../pets/reservations.ts';
import { recordOrderEvent, withSteps } from './events.ts';
import { countOrder } from './open-orders.ts';
import { canSeeOrder, type OrderWithSteps, orderColumns, orderValues } from './rows.ts';

/**
 * placeOrder orders a pet, or all pets of a bonded group, at their current price, reserves them until the order ends
 * and records `order.placed`. Of several concurrent orders of a pet, one succeeds. Not idempotent: a second call fails.
 * @param order.holdId the account's own hold on the pet, or on some of the group; the hold keeps its other pets
 * @param openMax the maximum number of open orders of the account
 * @throws {Problem} `invalid_body`; `pet_not_found`; `bonded_animals`; `pet_reserved` if a hold or an order reserves
 *   the pet, including the account's own hold unless `holdId` names it; `invalid_status_transition` if the pet is sold
 *   or set aside; `hold_not_found`; `hold_ended`; `order_limit_exceeded`
 */
export async function placeOrder(
  tx: Transaction,
  actor: Actor & { readonly accountId: number },
  order: NewOrder,
  openMax = Number.POSITIVE_INFINITY,
): Promise<OrderWithSteps> {
  const { accountId } = actor;
  const pets = await lockEveryPet(tx, requestedIds(order));
  if (pets.length > 1 && !areBonded(pets)) throw notBonded(pets);
  await requireWholeGroups(tx, pets);
  const { holdId } = order;
  const hold = holdId === undefined ? undefined : await lockHoldOn(tx, actor, pets, holdId);
  for (const pet of pets) {
    const { reservation } = pet;
    if (reservation !== undefined && reservation.holdId !== hold?.id) {
      throw await reservedProblem(tx, actor, pet, reservation);
    }
  }

  const expiresAt = tx.now + APPROVAL_PERIOD_MS;
  const { petIds: _, ...rest } = order;
  const ids = pets.map(pet => pet.id);
  const several = ids.length > 1 && { petIds: ids, quantity: ids.length };
  const { priceAmount, priceCurrency } = several ? totalPrice(pets) : pets[0]!;
  const row: NewOrderRow = {
    ...orderValues.toRow({ ...rest, petId: ids[0]!, ...several }),
    status: 'placed',
    priceAmount,
    priceCurrency,
    accountId,
    ownerId: pets[0]!.accountId,
    expiresAt,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const id = await tx.insert(insertOrder, row);
  const reservation = { orderId: id, until: expiresAt };
  for (const pet of pets) {
    if (pet.reservation !== undefined) await convertHold(tx, pet, reservation, accountId);
    else await reserve(tx, pet, reservation, accountId);
  }
  if (hold !== undefined) await endIfUsed(tx, hold);
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

function notBonded(pets: readonly LockedPet[]): Problem {
  const message = `The animals ${pets.map(({ id }) => id).join(', ')} are not one group of bonded animals: order each with petId.`;
  return invalidBody('/petIds', 'invalid_combination', message);
}

/** Returns the sum of the prices of pets; throws `invalid_body` if they have several currencies. */
function totalPrice(pets: readonly LockedPet[]): Pick<OrderRow, 'priceAmount' | 'priceCurrency'> {
  const priced = pets.filter(({ priceAmount }) => priceAmount !== null);
  const [{ priceCurrency } = { priceCurrency: null }] = priced;
  const priceAmount = priced.length === 0 ? null : priced.reduce((sum, pet) => sum + pet.priceAmount!, 0);
  const isExact = priceAmount === null || Number.isSafeInteger(priceAmount);
  if (isExact && priced.every(pet => pet.priceCurrency === priceCurrency)) return { priceAmount, priceCurrency };
  throw invalidBody(
    '/petIds',
    'invalid_combination',
    'The prices of the animals have no sum: they are in several currencies, or the sum is too large.',
  );
}

/**
 * Returns the error for a reserved pet. If the actor's own hold reserves it, the error explains how to order from it.
 */
async function reservedProblem(
  tx: Transaction,
  { accountId }: Actor,
  pet: LockedPet,
  reservation: Reservation,
): Promise<Problem> {
  const error = petReserved(pet.id, reservation, tx.now);
  const { holdId } = reservation;
  if (holdId === null || (await tx.first(accountOfHold, { holdId }))?.accountId !== accountId) return error;
  const message = `Animal ${pet.id} is on hold for you: send "holdId": ${holdId} with the order.`;
  return problem('pet_reserved', message, { headers: error.headers });
}

/**
 * Locks and returns the hold from which pets are ordered. It has at least one of them, because others may have joined
 * the group later.
 */
async function lockHoldOn(tx: Transaction, actor: Actor, pets: readonly LockedPet[], holdId: number): Promise<HoldRow> {
  const hold = await lockActiveHold(tx, actor, holdId);
  if (pets.some(({ reservation }) => reservation?.holdId === holdId)) return hold;
  throw problem('hold_ended', `Hold ${holdId} does not hold animal ${pets[0]!.id}, or no longer does.`);
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
