/** A slot that was requested from a {@link Semaphore}. */
export interface Slot {
  /** Resolves when the slot is acquired; absent if a slot was free immediately. */
  readonly ready?: Promise<void>;
  /** Releases the slot, or stops waiting for it. Idempotent. */
  release(): void;
}

/** A counting semaphore with one limit per key and one limit in total. */
export type Semaphore = ReturnType<typeof createSemaphore>;

/**
 * Returns a semaphore that is first-in-first-out for each key and round-robin between keys, so no key starves another.
 */
export function createSemaphore(limits: { readonly perKey: number; readonly total: number }) {
  let inUse = 0;
  const keys = new Map<string, { inUse: number; readonly waiting: Set<() => void> }>();
  /** Waiting keys that are below their limit, in round-robin order. */
  const runnable = new Set<string>();

  const stateOf = (key: string) => keys.getOrInsertComputed(key, () => ({ inUse: 0, waiting: new Set() }));

  function updateRunnable(key: string): void {
    const { inUse, waiting } = stateOf(key);
    if (waiting.size > 0 && inUse < limits.perKey) runnable.add(key);
    else runnable.delete(key);
    if (waiting.size === 0 && inUse === 0) keys.delete(key);
  }

  function grantFreeSlots(): void {
    for (const key of runnable) {
      if (inUse >= limits.total) return;
      const state = stateOf(key);
      const [grant] = state.waiting;
      state.waiting.delete(grant!);
      state.inUse++;
      inUse++;
      // Deleting and adding the key moves it to the end of the round.
      runnable.delete(key);
      updateRunnable(key);
      grant!();
    }
  }

  return {
    acquire(key: string): Slot {
      const state = stateOf(key);
      let acquired = inUse < limits.total && state.inUse < limits.perKey && state.waiting.size === 0;
      let released = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      const ready = acquired ? undefined : promise;
      const grant = () => {
        acquired = true;
        resolve();
      };
      if (acquired) {
        state.inUse++;
        inUse++;
      } else {
        state.waiting.add(grant);
        updateRunnable(key);
      }
      return {
        ...(ready && { ready }),
        release() {
          if (released) return;
          released = true;
          if (acquired) {
            state.inUse--;
            inUse--;
          } else {
            state.waiting.delete(grant);
          }
          updateRunnable(key);
          grantFreeSlots();
        },
      };
    },
  };
}
