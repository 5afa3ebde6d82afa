import { etagOf } from '../../lib/etag.ts';
import type { Problem } from '../../lib/http/problem.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { formatTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import {
  type NewOrderReturn,
  type OrderRow,
  type OrderStatus,
  orderSteps,
  petIdsOf,
  type StepName,
} from '../../model/order.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { changePet, type LockedPet, type PetCause } from '../pets/change.ts';
import { lockPets } from '../pets/lock.ts';
import { changeExpiry, endReservation } from '../pets/reservations.ts';
import { recordOrderEvent, withSteps } from './events.ts';
import { countEnded, isOpen } from './open-orders.ts';
import { getOrder } from './orders.ts';
import { type OrderWithSteps, orderColumns } from './rows.ts';

/**
 * Takes a step of an order, changes its pets and records the event. The owner of the pets and admins can take every
 * step, the placer only a cancellation. Not idempotent: a second call fails.
 * @param precondition evaluates the order's entity tag
 * @throws {Problem} `order_not_found`; `not_owner`; any error of `precondition`; `invalid_order_transition` if the
 *   order has another status or has expired
 */
export type TakeStep = (
  tx: Transaction,
  actor: Actor,
  id: number,
  body: NewOrderReturn,
  precondition?: PreconditionCheck,
) => Promise<OrderWithSteps>;

/** approveOrder approves a placed order, which then no longer expires. */
export const approveOrder: TakeStep = step('approval', async (tx, context) => {
  for (const { id } of reservedPets(context)) await changeExpiry(tx, id, null);
});

/** deliverOrder completes an approved order: its pets become sold. */
export const deliverOrder: TakeStep = step('delivery', async (tx, context) => {
  const cause = { ...context.cause, reason: 'order_delivered' } as const;
  for (const pet of reservedPets(context)) await endReservation(tx, pet, 'sold', cause);
});

/** cancelOrder cancels an order before its delivery: its pets become available again. */
export const cancelOrder: TakeStep = step('cancellation', async (tx, context) => {
  const cause = { ...context.cause, reason: 'order_cancelled' } as const;
  for (const pet of reservedPets(context)) await endReservation(tx, pet, 'available', cause);
});

/**
 * returnOrder takes back the pets of a delivered order: they become available, or pending unless `ready`. A pet that
 * was deleted, is no longer sold or was sold again does not change.
 */
export const returnOrder: TakeStep = step('return', async (tx, { pets, order, cause, body }) => {
  const status = body.ready === false ? 'pending' : 'available';
  for (const pet of pets) {
    if (pet.status !== 'sold' || (await tx.first(laterSale, { petId: pet.id, id: order.id })) !== undefined) continue;
    await changePet(tx, pet, { status }, { ...cause, reason: 'order_returned' });
  }
});

/** The locked rows of a step, and its request. */
interface StepContext {
  /** The order before the step. */
  readonly order: OrderRow;
  /** The pets without deleted ones. */
  readonly pets: readonly LockedPet[];
  readonly cause: PetCause;
  readonly body: NewOrderReturn;
}

/** Returns the function that takes a step. It locks the pets before the order, like every transaction. */
function step(name: StepName, updatePet: (tx: Transaction, context: StepContext) => Promise<void>): TakeStep {
  const { to: status, byPlacer } = orderSteps[name];
  const from: readonly OrderStatus[] = orderSteps[name].from;
  return async (tx, actor, id, body, precondition = () => {}) => {
    const placed = await getOrder(tx, actor, id, tx.now);
    const { ownerId } = placed;
    if (!actor.admin && !byPlacer && ownerId !== actor.accountId) throw problem('not_owner', NOT_OWNER);
    const pets = await lockPets(tx, petIdsOf(placed));
    const order = await lockOrder(tx, id, pets, precondition);
    if (!from.includes(order.status)) throw wrongStatus(order);
    // Readers see a placed order as expired from its expiry on.
    if (order.status === 'placed') tx.requireVisibleBefore(order.expiresAt!, () => tooLate(order));

    // A placed order skips the version that readers see after its expiry.
    const version = order.version + (order.status === 'placed' ? 2 : 1);
    const { accountId } = actor;
    const after: OrderRow = { ...order, status, expiresAt: null, version, updatedAt: tx.now };
    await tx.queue(updateOrder, after);
    await updatePet(tx, { order, pets, cause: { accountId, orderId: id }, body });
    await recordOrderEvent(tx, after, accountId, { was: order, note: body.note });
    const [taken] = await withSteps(tx, [after]);
    if (isOpen(order.status) && !isOpen(status)) await countEnded(tx, order.accountId);
    return taken!;
  };
}

/** Locks an order and returns it as of the time after the lock. */
async function lockOrder(
  tx: Transaction,
  id: number,
  pets: readonly LockedPet[],
  precondition: PreconditionCheck,
): Promise<OrderRow> {
  const row = (await tx.first(lockedOrder, { id }))!;
  tx.refreshNow(row.updatedAt);
  const placed = row.status === 'placed';
  const expired: OrderRow = { ...row, status: 'expired', updatedAt: row.expiresAt!, version: row.version + 1 };
  const order = placed && row.expiresAt! <= tx.now ? expired : row;
  precondition(etagOf(order));
  // While this transaction waited for the pets, the order may have expired and another transaction may have reserved
  // them.
  return order.status === 'placed' && !reservesAll(order, pets) ? expired : order;
}

function reservedPets({ pets, order }: StepContext): readonly LockedPet[] {
  if (reservesAll(order, pets)) return pets;
  throw new Error(`order ${order.id} is open but does not reserve its pets`);
}

function reservesAll(order: OrderRow, pets: readonly LockedPet[]): boolean {
  return pets.length > 0 && pets.every(({ reservation }) => reservation?.orderId === order.id);
}

const NOT_OWNER = 'The animal belongs to another account; only that account or an admin can take this step.';

/** The error that names the order's status and the steps that it allows. */
function wrongStatus({ id, status, updatedAt }: OrderRow): Problem {
  const steps: readonly { from: readonly OrderStatus[]; to: OrderStatus }[] = Object.values(orderSteps);
  const next = steps.filter(({ from }) => from.includes(status)).map(({ to }) => to);
  const state = status === 'expired' ? `expired at ${formatTime(updatedAt)}` : `is ${status}`;
  const allowed = next.length > 0 ? `it can be ${next.join(' or ')} now` : 'no step can follow';
  return problem('invalid_order_transition', `Order ${id} ${state}; ${allowed}.`);
}

function tooLate({ id, expiresAt }: OrderRow): Problem {
  const message = `Order ${id} expires at ${formatTime(expiresAt!)}, too soon to change it.`;
  return problem('invalid_order_transition', message);
}

/**
 * The order as stored, even if its expiry has passed. The row lock is for orders whose pet was deleted. SQLite needs no
 * lock, because it runs one write at a time.
 */
const lockedOrder = query((db, p: Params<{ id: number }>, engine) => {
  const order = db.selectFrom('orders').select(orderColumns.stored()).where('id', '=', p.id);
  return engine === 'postgres' ? order.forUpdate() : order;
});

const updateOrder = query((db, p: Params<OrderRow>) =>
  db
    .updateTable('orders')
    .set(orderColumns.updated(p, ['status', 'expiresAt', 'version', 'updatedAt']))
    .where('id', '=', p.id),
);

/** A later delivered order of the same pet. */
const laterSale = query((db, p: Params<{ petId: number; id: number }>) =>
  db
    .selectFrom('reservations')
    .innerJoin('orders', 'orders.id', 'reservations.order_id')
    .select('orders.id')
    .where('reservations.pet_id', '=', p.petId)
    .where('reservations.order_id', '>', p.id)
    .where('orders.status', 'in', ['delivered', 'returned'])
    .limit(1),
);
