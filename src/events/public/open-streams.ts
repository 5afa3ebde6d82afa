import { problem } from '../../errors.ts';
import type { EventBus } from '../event-bus.ts';

/** How many streams each account has open, by hub. */
const open = new WeakMap<EventBus, Map<number, number>>();

/**
 * Counts one more stream of an account.
 * @returns counts it as closed; safe to repeat
 * @throws {Problem} `stream_limit_exceeded`
 */
export function openStream(hub: EventBus, accountId: number, most: number): () => void {
  const counts = open.get(hub) ?? new Map<number, number>();
  open.set(hub, counts);
  const count = counts.get(accountId) ?? 0;
  if (count >= most) {
    throw problem(
      'stream_limit_exceeded',
      `The account has ${count} event streams open already; close one of them, or share it.`,
    );
  }
  counts.set(accountId, count + 1);
  let closed = false;
  return () => {
    if (closed) return;
    closed = true;
    const left = counts.get(accountId)! - 1;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
  };
}
