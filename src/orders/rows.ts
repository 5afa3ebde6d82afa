import type { Actor } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import { priceOf } from '../pets/rows.ts';
import { sql } from '../schema.ts';
import type { Order, OrderStatus, OrderStep, StepName } from './order.ts';

/**
 * The columns of an order as of a time. A placed order whose expiry has passed reads as expired, with one more change,
 * whether or not its row has been updated.
 * @param now an expression: whole milliseconds since the Unix epoch
 */
export const orderColumns = (now: unknown) => {
  const expired = isExpiredAt(now);
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
    sql<number>`case when ${expired} then expires_at else updated_at end`.as('updatedAt'),
    sql<number>`case when ${expired} then version + 1 else version end`.as('version'),
  ] as const;
};

/** The status of an order as of a time: an expression that no index covers. */
export const statusAt = (now: unknown) =>
  sql<OrderStatus>`case when ${isExpiredAt(now)} then 'expired' else status end`;

const isExpiredAt = (now: unknown) => sql`status = 'placed' and expires_at <= ${now}`;

/** An order as `orderColumns` selects it. Times are milliseconds since the Unix epoch. */
export interface OrderRow {
  readonly id: number;
  readonly petId: number;
  /** The account that placed the order. */
  readonly accountId: number;
  /** The owner of the pet. */
  readonly ownerId: number;
  readonly holdId: number | null;
  readonly status: OrderStatus;
  readonly quantity: number;
  readonly shipDate: number | null;
  readonly note: string | null;
  readonly priceAmount: number | null;
  readonly priceCurrency: string | null;
  /** When the order expires or expired; `null` after a step. */
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** An order with the steps that it has taken. */
export interface OrderWithSteps extends OrderRow {
  readonly steps: { readonly [Name in StepName]?: TakenStep };
}

/** A step that an order has taken. */
export interface TakenStep {
  readonly at: number;
  /** The account that took the step; `null` for the operator. */
  readonly accountId: number | null;
  readonly note: string | undefined;
}

/** Reports whether an order is visible to the actor: its placer, the owner of its pet or an admin. */
export function canSee({ accountId, admin }: Actor, order: Pick<OrderRow, 'accountId' | 'ownerId'>): boolean {
  return admin || order.accountId === accountId || order.ownerId === accountId;
}

/** Reports whether an order in this status was delivered. */
export function isComplete(status: unknown): boolean {
  return status === 'delivered' || status === 'returned';
}

/** Returns an order as responses show it to an actor who can see it. */
export function orderOf(order: OrderWithSteps, actor: Actor): Order {
  const { id, petId, accountId, status, quantity, shipDate, note, holdId, expiresAt } = order;
  const price = priceOf(order);
  const steps = Object.entries(order.steps).map(([name, step]) => [name, stepOf(step, order, actor)] as const);
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
    ...Object.fromEntries(steps),
  };
}

/** Hides the account that took the step from the other party. */
function stepOf({ at, accountId, note }: TakenStep, { ownerId }: OrderRow, actor: Actor): OrderStep {
  const visible = actor.admin || actor.accountId === ownerId || actor.accountId === accountId;
  return {
    at: formatTime(at),
    ...(accountId !== null && visible && { accountId }),
    ...(note !== undefined && { note }),
  };
}

/** Returns the entity tag of a version of an order. */
export function orderEtag({ id, version }: Pick<OrderRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}
