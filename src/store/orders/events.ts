import { formatTime } from '../../lib/time.ts';
import type { Event } from '../../model/log/event.ts';
import { eventsOfAll, record } from '../../model/log/log.ts';
import { type OrderRow, type OrderState, orderSteps, type StepName, stepsTo } from '../../model/order.ts';
import type { Reader, Transaction } from '../../model/schema.ts';
import { type OrderWithSteps, orderValues, type TakenStep } from './rows.ts';

export interface OrderEventData {
  readonly order: OrderState;
  /** The previous values of the members that changed. */
  readonly was?: Pick<OrderState, 'status' | 'expiresAt'> | undefined;
  /** The owner of the pet; absent in events of earlier releases. */
  readonly ownerId?: number;
  /** The note of the step. */
  readonly note?: string | undefined;
  /** When the change took effect, if before the event was recorded: milliseconds since the Unix epoch. */
  readonly at?: number | undefined;
}

/**
 * Records the event of an order's new status, such as `order.placed`, in the transaction of the change.
 * @param order the order after the change
 * @param accountId the account that made the change; `null` for the operator and for an expiry
 * @param more.was the order before the change; absent if it was just placed
 */
export async function recordOrderEvent(
  tx: Transaction,
  order: OrderRow,
  accountId: number | null,
  { was, note, at }: { was?: Pick<OrderRow, 'status' | 'expiresAt'>; note?: string | undefined; at?: number } = {},
): Promise<void> {
  const state = orderValues.stateOf(order);
  const data: OrderEventData = { order: state, ownerId: order.ownerId, was: was && previousOf(was, order), note, at };
  await record(tx, { kind: 'order', action: order.status, subjectId: order.id, accountId, data });
}

/** Returns orders with their steps, which only their events store. Runs at most one query. */
export async function withSteps(reader: Reader, orders: readonly OrderRow[]): Promise<OrderWithSteps[]> {
  const ids = orders.filter(({ status }) => stepsTo(status).length > 0).map(({ id }) => id);
  const recorded = await eventsOfAll<Partial<OrderEventData>>(reader, 'order', ids);
  const events = Map.groupBy(recorded, ({ subjectId }) => subjectId);
  return orders.map(order => ({ ...order, steps: stepsOf(order, events.get(order.id) ?? []) }));
}

/** Ignores steps taken after the row was read, because they do not lead to its status. */
function stepsOf({ status }: OrderRow, events: readonly Event<Partial<OrderEventData>>[]): OrderWithSteps['steps'] {
  const taken: { [Name in StepName]?: TakenStep } = {};
  const names = stepsTo(status);
  for (const { action, at, accountId, data } of events) {
    const name = names.find(step => orderSteps[step].to === action);
    if (name !== undefined) taken[name] = { at, accountId, note: data.note };
  }
  return taken;
}

function previousOf({ status, expiresAt }: Pick<OrderRow, 'status' | 'expiresAt'>, order: OrderRow) {
  return { status, ...(expiresAt !== null && expiresAt !== order.expiresAt && { expiresAt: formatTime(expiresAt) }) };
}
