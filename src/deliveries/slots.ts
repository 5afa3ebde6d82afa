/** An attempt that takes so long is slow. */
export const SLOW_MS = 1000;
/** How many deliveries may be in progress. */
export const SLOTS = 1024;
/** How many of them may be fast: a delivery is fast until it proves slow. */
export const FAST_SLOTS = 256;
/** While so many deliveries are slow, no delivery to a slow or failing receiver starts. */
const SLOW_SLOTS = 256;

/**
 * Counts the deliveries in progress, fast and slow apart, so that slow receivers delay the others by a second at most. A
 * delivery becomes slow after a second, or starts slow if its receiver was slow or failed last time.
 */
export class DeliverySlots {
  /** The webhooks whose last response took a second or longer, or still takes. */
  readonly slowWebhooks = new Set<number>();
  readonly #onFree: () => void;
  #fast = 0;
  #slow = 0;

  /** @param onFree called when a delivery becomes slow, which frees a fast slot */
  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  get fastFree(): number {
    return FAST_SLOTS - this.#fast;
  }

  get slowFree(): number {
    return SLOW_SLOTS - this.#slow;
  }

  /** Runs `send`, then `record`, in a slot; only the time of `send` decides whether the webhook is slow. */
  async run<Result>(
    { webhookId, slow }: { readonly webhookId: number; readonly slow: boolean },
    send: () => Promise<Result>,
    record: (result: Result) => Promise<void>,
  ): Promise<void> {
    let fast = !slow;
    if (fast) this.#fast++;
    else this.#slow++;
    const timer = setTimeout(() => {
      this.slowWebhooks.add(webhookId);
      if (!fast) return;
      fast = false;
      this.#fast--;
      this.#slow++;
      this.#onFree();
    }, SLOW_MS);
    const startMs = performance.now();
    try {
      const result = await send();
      clearTimeout(timer);
      if (performance.now() - startMs < SLOW_MS) this.slowWebhooks.delete(webhookId);
      await record(result);
    } finally {
      clearTimeout(timer);
      if (fast) this.#fast--;
      else this.#slow--;
    }
  }
}
