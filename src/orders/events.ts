import type { Event } from '../events/event.ts';
import { eventsOfAll, record } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import type { Reader, Transaction } from '../schema.ts';
import { type OrderRow, type OrderState, type OrderStatus, orderSteps, type StepName, stepsTo } from './order.ts';
import { type OrderWithSteps, orderValues, type TakenStep } from './rows.ts';

/** The data of an order's event. */
export interface OrderEventData {
  /** The order after the change. */
  readonly order: OrderState;
  /** The previous values of the members that changed. */
  readonly was?: Pick<OrderState, 'status' | 'expiresAt'>;
  /** The owner of the pet; absent in events of earlier releases. */
  readonly ownerId?: number;
  /** The note of the step. */
  readonly note?: string;
  /** When the change took effect, if before the event was recorded: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/** The cause of an order's change. */
interface OrderCause {
  /** The account that made the change; `null` for the operator and for an expiry. */
  readonly accountId: number | null;
  /** The order before the change; absent if it was just placed. */
  readonly was?: Pick<OrderRow, 'status' | 'expiresAt'>;
  readonly note?: string | undefined;
  readonly at?: number;
}

/**
 * Records the event of an order's new status, `order.placed` for instance, in the transaction of the change.
 * @param order the order after the change
 */
export async function recordOrderEvent(tx: Transaction, order: OrderRow, cause: OrderCause): Promise<void> {
  const { accountId, was, note, at } = cause;
  const data: OrderEventData = {
    order: orderValues.stateOf(order),
    ownerId: order.ownerId,
    ...(was !== undefined && { was: previousOf(was, order) }),
    ...(note !== undefined && { note }),
    ...(at !== undefined && { at }),
  };
  await record(tx, { kind: 'order', action: order.status, subjectId: order.id, accountId, data });
}

/** Returns orders with the steps that they have taken, which only their events store. It runs one query at most. */
export async function withSteps(reader: Reader, orders: readonly OrderRow[]): Promise<OrderWithSteps[]> {
  const ids = orders.filter(({ status }) => takenSteps[status].length > 0).map(({ id }) => id);
  const events = Map.groupBy(
    await eventsOfAll<Partial<OrderEventData>>(reader, 'order', ids),
    ({ subjectId }) => subjectId,
  );
  return orders.map(order => ({ ...order, steps: stepsOf(order, events.get(order.id) ?? []) }));
}

/** Ignores steps that were taken after the row was read: they do not lead to its status. */
function stepsOf({ status }: OrderRow, events: readonly Event<Partial<OrderEventData>>[]): OrderWithSteps['steps'] {
  const taken: { [Name in StepName]?: TakenStep } = {};
  for (const { action, at, accountId, data } of events) {
    const name = takenSteps[status].find(step => orderSteps[step].to === action);
    if (name !== undefined) taken[name] = { at, accountId, note: data.note };
  }
  return taken;
}

const takenSteps: Record<OrderStatus, readonly StepName[]> = {
  placed: stepsTo('placed'),
  approved: stepsTo('approved'),
  delivered: stepsTo('delivered'),
  returned: stepsTo('returned'),
  cancelled: stepsTo('cancelled'),
  expired: stepsTo('expired'),
};

function previousOf({ status, expiresAt }: Pick<OrderRow, 'status' | 'expiresAt'>, order: OrderRow) {
  return { status, ...(expiresAt !== null && expiresAt !== order.expiresAt && { expiresAt: formatTime(expiresAt) }) };
}
