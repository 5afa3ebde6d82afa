import { problem } from '../../errors.ts';
import type { EventBus } from '../event-bus.ts';

/** The number of open streams by account, per event bus. */
const open = new WeakMap<EventBus, Map<number, number>>();

/**
 * Counts an open stream of an account.
 * @returns a function that counts it as closed; idempotent
 * @throws {Problem} `stream_limit_exceeded`
 */
export function openStream(eventBus: EventBus, accountId: number, most: number): () => void {
  const counts = open.get(eventBus) ?? new Map<number, number>();
  open.set(eventBus, counts);
  const count = counts.get(accountId) ?? 0;
  if (count >= most) {
    throw problem(
      'stream_limit_exceeded',
      `The account already has ${count} open event streams; close one of them, or share it.`,
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
