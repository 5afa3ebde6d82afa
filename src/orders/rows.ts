import type { Actor } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import { priceOf } from '../pets/pet-rows.ts';
import { type OrderStatus, sql } from '../schema.ts';
import type { Order, OrderStep } from './order.ts';

/** Every status that an order may have, in one order. */
export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'] as const;

/**
 * The columns of an order at a time. One that nobody approved in time is expired from the moment at which it ran out,
 * and changed once more, whether or not its row says so yet.
 * @param now the time, as an expression: whole milliseconds since the Unix epoch
 */
export const orderColumns = (now: unknown) => {
  const runOut = runOutBy(now);
  return [
    'id',
    'pet_id as petId',
    'account_id as accountId',
    'owner_id as ownerId',
    'hold_id as holdId',
    statusAt(now).as('status'),
    'quantity',
    'ship_date as shipDate',
    'note',
    'price_amount as priceAmount',
    'price_currency as priceCurrency',
    'expires_at as expiresAt',
    'created_at as createdAt',
    sql<number>`case when ${runOut} then expires_at else updated_at end`.as('updatedAt'),
    sql<number>`case when ${runOut} then version + 1 else version end`.as('version'),
  ] as const;
};

/** The status of an order at a time, as an expression that no index has. */
export const statusAt = (now: unknown) => sql<OrderStatus>`case when ${runOutBy(now)} then 'expired' else status end`;

const runOutBy = (now: unknown) => sql`status = 'placed' and expires_at <= ${now}`;

/** An order as its columns have it; times are milliseconds since the Unix epoch. */
export interface OrderRow {
  readonly id: number;
  readonly petId: number;
  /** Who placed it. */
  readonly accountId: number;
  /** Whose animal it is. */
  readonly ownerId: number;
  readonly holdId: number | null;
  readonly status: OrderStatus;
  readonly quantity: number;
  readonly shipDate: number | null;
  readonly note: string | null;
  readonly priceAmount: number | null;
  readonly priceCurrency: string | null;
  /** When it runs out, or ran out; `null` once it took a step. */
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** An order with the steps that it has taken. */
export interface OrderWithSteps extends OrderRow {
  readonly steps: { readonly [Name in StepName]?: TakenStep };
}

/** What can be done with an order. */
export type StepName = 'approval' | 'delivery' | 'cancellation' | 'return';

/** A step that an order has taken. */
export interface TakenStep {
  readonly at: number;
  /** Who took it; `null` for the operator. */
  readonly accountId: number | null;
  readonly note: string | undefined;
}

/** Whether an order is there for somebody: for who placed it, for the owner of its animal and for admins. */
export function canSee({ accountId, admin }: Actor, order: Pick<OrderRow, 'accountId' | 'ownerId'>): boolean {
  return admin || order.accountId === accountId || order.ownerId === accountId;
}

/** Whether the animal of an order in this status was delivered. */
export function isComplete(status: unknown): boolean {
  return status === 'delivered' || status === 'returned';
}

/** An order as somebody who may see it is answered. */
export function orderOf(order: OrderWithSteps, actor: Actor): Order {
  const { id, petId, accountId, status, quantity, shipDate, note, holdId, expiresAt } = order;
  const { approval, delivery, cancellation, return: back } = order.steps;
  const price = priceOf(order);
  const stepOf = (step: TakenStep) => stepAsSeen(step, order, actor);
  return {
    id,
    petId,
    quantity,
    ...(shipDate !== null && { shipDate: formatTime(shipDate) }),
    status,
    complete: isComplete(status),
    ...(note !== null && { note }),
    ...(price && { price }),
    ...(holdId !== null && { holdId }),
    accountId,
    createdAt: formatTime(order.createdAt),
    updatedAt: formatTime(order.updatedAt),
    ...(expiresAt !== null && { expiresAt: formatTime(expiresAt) }),
    ...(approval && { approval: stepOf(approval) }),
    ...(delivery && { delivery: stepOf(delivery) }),
    ...(cancellation && { cancellation: stepOf(cancellation) }),
    ...(back && { return: stepOf(back) }),
  };
}

/** The entity tag of an order: another one after every change. */
export function orderEtag({ id, version }: Pick<OrderRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

/** Who took a step is no business of the other side. */
function stepAsSeen({ at, accountId, note }: TakenStep, { ownerId }: OrderRow, actor: Actor): OrderStep {
  const shown = actor.admin || actor.accountId === ownerId || actor.accountId === accountId;
  return {
    at: formatTime(at),
    ...(accountId !== null && shown && { accountId }),
    ...(note !== undefined && { note }),
  };
}
