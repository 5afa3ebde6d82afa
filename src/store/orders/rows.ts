import { columnsFor } from '../../lib/fields/columns.ts';
import { valuesFor } from '../../lib/fields/values.ts';
import { formatTime } from '../../lib/time.ts';
import type { Actor } from '../../model/log/event.ts';
import { type Order, type OrderRow, type OrderStep, orderFields, type StepName } from '../../model/order.ts';

/** The columns of queries over orders. */
export const orderColumns = columnsFor(orderFields);

/** Conversions between JSON values and rows of orders. */
export const orderValues = valuesFor(orderFields);

/** An order with its steps. */
export interface OrderWithSteps extends OrderRow {
  readonly steps: { readonly [Name in StepName]?: TakenStep };
}

export interface TakenStep {
  readonly at: number;
  /** The account that took the step; `null` for the operator. */
  readonly accountId: number | null;
  readonly note: string | undefined;
}

/** Reports whether an order is visible to the actor: its placer, the owner of its pet or an admin. */
export function canSeeOrder({ accountId, admin }: Actor, order: Pick<OrderRow, 'accountId' | 'ownerId'>): boolean {
  return admin || order.accountId === accountId || order.ownerId === accountId;
}

/** Returns an order as a response for an actor who can see it. */
export function orderOf(order: OrderWithSteps, actor: Actor): Order {
  const shown: Order & { [Name in StepName]?: OrderStep } = orderValues.fullOf(order);
  for (const [name, step] of Object.entries(order.steps)) shown[name as StepName] = stepOf(step, order, actor);
  return shown;
}

/** Hides from each party the account that took a step of the other party. */
function stepOf({ at, accountId, note }: TakenStep, { ownerId }: OrderRow, actor: Actor): OrderStep {
  const visible = actor.admin || actor.accountId === ownerId || actor.accountId === accountId;
  return {
    at: formatTime(at),
    ...(accountId !== null && visible && { accountId }),
    ...(note !== undefined && { note }),
  };
}
