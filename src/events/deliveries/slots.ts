/** The duration above which an attempt counts as slow. */
export const SLOW_MS = 1000;
/** The maximum number of deliveries in progress. */
export const SLOTS = 1024;
/** The maximum number of fast deliveries among them. */
export const FAST_SLOTS = 256;
/** No delivery to a slow or failing receiver starts while this many deliveries are slow. */
const SLOW_SLOTS = 256;

/**
 * Counts fast and slow deliveries in progress separately, so that slow receivers delay others by at most a second. A
 * delivery starts fast and becomes slow after a second; it starts slow if its receiver was slow or failed last time.
 */
export class DeliverySlots {
  /** The webhooks whose latest attempt took a second or longer. */
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
