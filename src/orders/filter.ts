import type { OrderStatus } from '../schema.ts';

/** The filters of a list of orders. */
export interface OrderFilter {
  /** Only orders with one of these statuses. */
  readonly status?: readonly OrderStatus[] | undefined;
  /** Only orders of this pet. */
  readonly petId?: number | undefined;
}

/** Identifies a list in its cursors. Visibility is checked per reader, so sharing a cursor leaks nothing. */
export function orderList({ status = [], petId }: OrderFilter): readonly unknown[] {
  return ['orders', [...status].sort(), petId ?? 0];
}
