import type { Event } from '../events/event.ts';
import { eventsOfAll, record } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import type { Price } from '../pets/pet.ts';
import { priceOf } from '../pets/pet-rows.ts';
import type { OrderStatus, Reader, Transaction } from '../schema.ts';
import type { OrderRow, OrderWithSteps, StepName, TakenStep } from './rows.ts';

/** What the log says of an order. */
export interface OrderEventData {
  /** The order after it. */
  readonly order: OrderState;
  /** What changed: the members as they were before. */
  readonly was?: Pick<OrderState, 'status' | 'expiresAt'>;
  /** Whose animal it is; absent in what earlier releases wrote down. */
  readonly ownerId?: number;
  /** What was said with the step. */
  readonly note?: string;
  /** When it happened, where that was before it was written down: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/** An order as the log has it. */
export interface OrderState {
  readonly petId: number;
  readonly accountId: number;
  readonly status: OrderStatus;
  readonly quantity: number;
  readonly shipDate?: string;
  readonly note?: string;
  readonly price?: Price;
  readonly holdId?: number;
  readonly expiresAt?: string;
}

/**
 * Writes down that an order came to its status, in the transaction in which it did.
 * @param order as it is then
 * @param cause.accountId who did it; `null` for the operator and for what happened by itself
 * @param cause.was as it was before; left out where it was just placed
 */
export async function recordOrderEvent(
  tx: Transaction,
  order: OrderRow,
  {
    accountId,
    was,
    ...more
  }: {
    readonly accountId: number | null;
    readonly was?: Pick<OrderRow, 'status' | 'expiresAt'>;
    readonly note?: string | undefined;
    readonly at?: number;
  },
): Promise<void> {
  const data: OrderEventData = {
    order: stateOf(order),
    ownerId: order.ownerId,
    ...(was !== undefined && { was: changed(was, order) }),
    ...(more.note !== undefined && { note: more.note }),
    ...(more.at !== undefined && { at: more.at }),
  };
  await record(tx, { kind: 'order', action: order.status, subjectId: order.id, accountId, data });
}

/** Orders with the steps that they have taken, which the log alone keeps: one query for all of them. */
export async function withSteps(reader: Reader, orders: readonly OrderRow[]): Promise<OrderWithSteps[]> {
  const moved = orders.filter(({ status }) => stepsUpTo[status].length > 0);
  const events = await eventsOfAll<Partial<OrderEventData>>(
    reader,
    'order',
    moved.map(({ id }) => id),
  );
  const byOrder = Map.groupBy(events, ({ subjectId }) => subjectId);
  return orders.map(order => ({ ...order, steps: stepsOf(order, byOrder.get(order.id) ?? []) }));
}

/** The steps up to its status: one that was taken after the row was read is none of it. */
function stepsOf({ status }: OrderRow, events: readonly Event<Partial<OrderEventData>>[]): OrderWithSteps['steps'] {
  const taken: { [Name in StepName]?: TakenStep } = {};
  for (const { action, at, accountId, data } of events) {
    const name = stepsUpTo[status].find(step => actionOf[step] === action);
    if (name !== undefined) taken[name] = { at, accountId, note: data.note };
  }
  return taken;
}

const actionOf: Record<StepName, OrderStatus> = {
  approval: 'approved',
  delivery: 'delivered',
  cancellation: 'cancelled',
  return: 'returned',
};

const stepsUpTo: Record<OrderStatus, readonly StepName[]> = {
  placed: [],
  approved: ['approval'],
  delivered: ['approval', 'delivery'],
  returned: ['approval', 'delivery', 'return'],
  cancelled: ['approval', 'cancellation'],
  expired: [],
};

function changed(was: Pick<OrderRow, 'status' | 'expiresAt'>, order: OrderRow): NonNullable<OrderEventData['was']> {
  const { status, expiresAt } = was;
  return { status, ...(expiresAt !== null && expiresAt !== order.expiresAt && { expiresAt: formatTime(expiresAt) }) };
}

function stateOf(order: OrderRow): OrderState {
  const price = priceOf(order);
  return {
    petId: order.petId,
    accountId: order.accountId,
    status: order.status,
    quantity: order.quantity,
    ...(order.shipDate !== null && { shipDate: formatTime(order.shipDate) }),
    ...(order.note !== null && { note: order.note }),
    ...(price && { price }),
    ...(order.holdId !== null && { holdId: order.holdId }),
    ...(order.expiresAt !== null && { expiresAt: formatTime(order.expiresAt) }),
  };
}
