import type { OrderStatus } from '../schema.ts';

/** Which orders a list has, of those that its reader may see. They come by rising id. */
export interface OrderFilter {
  /** Only with one of these statuses. */
  readonly status?: readonly OrderStatus[] | undefined;
  /** Only of this animal. */
  readonly petId?: number | undefined;
}

/** Says which list it is: a cursor is good for that one alone. Who reads sees only what he may, with whosever cursor. */
export function orderList({ status = [], petId }: OrderFilter): readonly unknown[] {
  return ['orders', [...status].sort(), petId ?? 0];
}
