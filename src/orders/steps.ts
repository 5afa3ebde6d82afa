import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { Problem } from '../lib/http/problem.ts';
import { formatTime } from '../lib/time.ts';
import { changePet, type LockedPet } from '../pets/change-pet.ts';
import { lockPets } from '../pets/lock-pets.ts';
import type { Expectation } from '../pets/pets.ts';
import { endReservation, moveEnd } from '../pets/reservations.ts';
import { type OrderStatus, type Params, query, sql, type Transaction } from '../schema.ts';
import { recordOrderEvent, withSteps } from './events.ts';
import type { NewOrderReturn, NewOrderStep } from './order.ts';
import { getOrder } from './orders.ts';
import { type OrderRow, type OrderWithSteps, orderColumns, orderEtag } from './rows.ts';

/**
 * Approves a placed order, which then runs out no more. For the owner of the animal and for admins.
 *
 * Not safe to repeat, as no step is: a second time it is refused.
 * @param expect is given the order's entity tag
 * @throws {Problem} `order_not_found`; `not_owner` for who placed it; what `expect` throws; `invalid_order_transition`
 *   from any other state, also once the order has run out
 */
export function approveOrder(
  tx: Transaction,
  actor: Actor,
  id: number,
  { note }: NewOrderStep,
  expect: Expectation = () => {},
): Promise<OrderWithSteps> {
  return take(tx, actor, id, approval, note, expect, async pet => {
    await moveEnd(tx, kept(pet, id).id, null);
  });
}

/**
 * Notes that the animal of an approved order went to who placed it: it is sold.
 * @param expect as for `approveOrder`
 * @throws {Problem} as `approveOrder`
 */
export function deliverOrder(
  tx: Transaction,
  actor: Actor,
  id: number,
  { note }: NewOrderStep,
  expect: Expectation = () => {},
): Promise<OrderWithSteps> {
  return take(tx, actor, id, delivery, note, expect, async pet => {
    const { accountId } = actor;
    await endReservation(tx, kept(pet, id), 'sold', { accountId, reason: 'order_delivered', orderId: id });
  });
}

/**
 * Cancels an order that is not delivered yet: the animal is available again. For who placed it as well.
 * @param expect as for `approveOrder`
 * @throws {Problem} as `approveOrder`, but for `not_owner`
 */
export function cancelOrder(
  tx: Transaction,
  actor: Actor,
  id: number,
  { note }: NewOrderStep,
  expect: Expectation = () => {},
): Promise<OrderWithSteps> {
  return take(tx, actor, id, cancellation, note, expect, async pet => {
    const { accountId } = actor;
    await endReservation(tx, kept(pet, id), 'available', { accountId, reason: 'order_cancelled', orderId: id });
  });
}

/**
 * Takes the animal of a delivered order back. It is available again, or pending where it is not ready; but an animal that
 * is gone, is not sold any more, or was sold again since is left as it is.
 * @param expect as for `approveOrder`
 * @throws {Problem} as `approveOrder`
 */
export function returnOrder(
  tx: Transaction,
  actor: Actor,
  id: number,
  { note, ready = true }: NewOrderReturn,
  expect: Expectation = () => {},
): Promise<OrderWithSteps> {
  return take(tx, actor, id, giveBack, note, expect, async pet => {
    if (pet?.status !== 'sold' || (await tx.first(laterSale, { petId: pet.id, id })) !== undefined) return;
    const { accountId } = actor;
    const status = ready ? 'available' : 'pending';
    await changePet(tx, pet, { status }, { accountId, reason: 'order_returned', orderId: id });
  });
}

/** From which states an order comes to which by a step, and who may take it. */
interface Step {
  readonly from: readonly OrderStatus[];
  readonly to: OrderStatus;
  /** Whether it is for who placed the order, too. */
  readonly placer: boolean;
}

const approval: Step = { from: ['placed'], to: 'approved', placer: false };
const delivery: Step = { from: ['approved'], to: 'delivered', placer: false };
const cancellation: Step = { from: ['placed', 'approved'], to: 'cancelled', placer: true };
const giveBack: Step = { from: ['delivered'], to: 'returned', placer: false };
const steps = [approval, delivery, cancellation, giveBack];

/**
 * Takes a step. The animal is locked first: whatever becomes of it and of its orders comes one after the other.
 * @param follow what becomes of the animal; `undefined` is one that is gone
 */
async function take(
  tx: Transaction,
  actor: Actor,
  id: number,
  step: Step,
  note: string | undefined,
  expect: Expectation,
  follow: (pet: LockedPet | undefined) => Promise<void>,
): Promise<OrderWithSteps> {
  const { petId, ownerId } = await getOrder(tx, actor, id, tx.now);
  if (!actor.admin && !step.placer && ownerId !== actor.accountId) throw notOwner();
  const [pet] = await lockPets(tx, [petId]);
  const before = await lockOrder(tx, id);
  expect(orderEtag(before));
  // While this waited for the animal, the order may have run out for somebody who came later: then it has.
  const gone = before.status === 'placed' && pet?.reservation?.orderId !== id;
  if (gone) throw wrongState({ ...before, status: 'expired', updatedAt: before.expiresAt! });
  if (!step.from.includes(before.status)) throw wrongState(before);
  // From its end on everybody sees that a placed order has expired.
  if (before.status === 'placed') tx.requireVisibleBefore(before.expiresAt!, () => tooLate(before));

  const { to: status } = step;
  const after: OrderRow = {
    ...before,
    status,
    expiresAt: null,
    // The next version of a placed order is that of its running out; readers may have seen it.
    version: before.version + (before.status === 'placed' ? 2 : 1),
    updatedAt: tx.now,
  };
  await tx.run(moveOrder, { id, status, version: after.version, now: tx.now });
  await follow(pet);
  await recordOrderEvent(tx, after, { accountId: actor.accountId, was: before, note });
  return (await withSteps(tx, [after]))[0]!;
}

/** The animal, which an order that is under way keeps. */
function kept(pet: LockedPet | undefined, orderId: number): LockedPet {
  if (pet?.reservation?.orderId === orderId) return pet;
  throw new Error(`order ${orderId} is under way and keeps no animal`);
}

function notOwner(): Problem {
  const message = 'The animal belongs to another account; only that account or an admin takes this step.';
  return problem('not_owner', message);
}

/** The refusal that says how far the order is, and what can follow. */
function wrongState({ id, status, updatedAt }: OrderRow): Problem {
  const follows = steps.filter(({ from }) => from.includes(status)).map(({ to }) => to);
  const state = status === 'expired' ? `expired at ${formatTime(updatedAt)}` : `is ${status}`;
  const next = follows.length > 0 ? `it can be ${follows.join(' or ')} now` : 'nothing can follow that';
  return problem('invalid_order_transition', `Order ${id} ${state}; ${next}.`);
}

function tooLate({ id, expiresAt }: OrderRow): Problem {
  const message = `Order ${id} expires at ${formatTime(expiresAt!)}; it is too late to change that.`;
  return problem('invalid_order_transition', message);
}

/** An order, locked, as it is once it is. */
async function lockOrder(tx: Transaction, id: number): Promise<OrderRow> {
  const order = (await tx.first(lockedOrder, { id }))!;
  tx.refreshNow(order.updatedAt);
  if (order.status !== 'placed' || order.expiresAt! > tx.now) return order;
  return { ...order, status: 'expired', updatedAt: order.expiresAt!, version: order.version + 1 };
}

/** As it is stored, its end passed or not. */
const lockedOrder = query((db, p: Params<{ id: number }>, engine) => {
  const never = sql.lit(0);
  const order = db.selectFrom('orders').select(orderColumns(never)).where('id', '=', p.id);
  // Where the animal is gone there was nothing to lock; on the embedded engine writes come one by one.
  return engine === 'postgres' ? order.forUpdate() : order;
});

const moveOrder = query((db, p: Params<{ id: number; status: OrderStatus; version: number; now: number }>) =>
  db
    .updateTable('orders')
    .set({ status: p.status, expires_at: null, version: p.version, updated_at: p.now })
    .where('id', '=', p.id),
);

/** An order of the animal that came after another one and was delivered. */
const laterSale = query((db, p: Params<{ petId: number; id: number }>) =>
  db
    .selectFrom('orders')
    .select('id')
    .where('pet_id', '=', p.petId)
    .where('id', '>', p.id)
    .where('status', 'in', ['delivered', 'returned'])
    .limit(1),
);
