/**
 * A bounded resource that clients share: the memory for request bodies, or the slots of a queue.
 *
 * Each client has its own limit. Its total also cannot exceed the amount that is still free, so no client gets more
 * than half.
 */
export class SharedBudget<Client> {
  readonly #total: number;
  readonly #perClient: number;
  readonly #clients = new Map<Client, number>();
  #used = 0;

  /**
   * @param limits the amounts that all clients together, and each client, can reserve; `perClient` is `total` by
   *   default
   */
  constructor({ total, perClient = total }: { readonly total: number; readonly perClient?: number }) {
    this.#total = total;
    this.#perClient = perClient;
  }

  /** The amount that all clients have reserved. */
  get used(): number {
    return this.#used;
  }

  /** Reserves an amount for a client. Returns false and reserves nothing if that would exceed a limit. */
  reserve(client: Client, amount: number): boolean {
    const reserved = (this.#clients.get(client) ?? 0) + amount;
    if (reserved > Math.min(this.#perClient, this.#total - this.#used)) return false;
    this.#clients.set(client, reserved);
    this.#used += amount;
    return true;
  }

  release(client: Client, amount: number): void {
    const left = this.#clients.get(client)! - amount;
    if (left > 0) this.#clients.set(client, left);
    else this.#clients.delete(client);
    this.#used -= amount;
  }
}
