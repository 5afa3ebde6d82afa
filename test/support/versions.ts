import type { HoldEventData } from '../../src/store/holds/events.ts';
import type { OrderEventData } from '../../src/store/orders/events.ts';
import type { PetEventData } from '../../src/store/pets/change.ts';

/** The fields of an event that determine versions. */
interface Logged<Data> {
  readonly action: string;
  readonly data: Data;
}

/**
 * Returns the version of a pet after its events: each event adds one, and one more if the pet was reserved, because the
 * version in between belongs to the expiry.
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

/** Returns the version of a hold after its events. While it is active, the next version belongs to its expiry. */
export function holdVersion(events: readonly Logged<Partial<HoldEventData>>[]): number {
  return events.reduce((version, { action }) => version + (action === 'created' || action === 'expired' ? 1 : 2), 0);
}

/** Returns the version of an order after its events. While it is placed, the next version belongs to its expiry. */
export function orderVersion(events: readonly Logged<Partial<OrderEventData>>[]): number {
  const by = ({ action, data }: Logged<Partial<OrderEventData>>) =>
    data.was?.status === 'placed' && action !== 'expired' ? 2 : 1;
  return events.reduce((version, event) => version + by(event), 0);
}
