import type { HoldEventData } from '../../src/holds/events.ts';
import type { OrderEventData } from '../../src/orders/events.ts';
import type { PetEventData } from '../../src/pets/change.ts';

/** An event of the log, as far as it matters here. */
interface Logged<Data> {
  readonly action: string;
  readonly data: Data;
}

/**
 * The version of an animal after all that happened to it: one more with each event, and two more where it was kept, because
 * the one between belongs to the end of what it was kept for.
 */
export function petVersion(events: readonly Logged<PetEventData>[]): number {
  let version = 0;
  let kept = false;
  for (const { reason } of events.map(({ data }) => data)) {
    const ranOut = reason === 'hold_expired' || reason === 'order_expired';
    version += kept && !ranOut ? 2 : 1;
    if (reason === 'held' || reason === 'order_placed') kept = true;
    else if (reason !== undefined && reason !== 'category_merged') kept = false;
  }
  return version;
}

/** The version of a hold after all that happened to it. The one that comes next, while it is active, is that of its end. */
export function holdVersion(events: readonly Logged<Partial<HoldEventData>>[]): number {
  return events.reduce((version, { action }) => version + (action === 'created' || action === 'expired' ? 1 : 2), 0);
}

/** The version of an order after all that happened to it. The one that comes next, while it is placed, is that of its end. */
export function orderVersion(events: readonly Logged<Partial<OrderEventData>>[]): number {
  const by = ({ action, data }: Logged<Partial<OrderEventData>>) =>
    data.was?.status === 'placed' && action !== 'expired' ? 2 : 1;
  return events.reduce((version, event) => version + by(event), 0);
}
