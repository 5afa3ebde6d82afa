/**
 * A bounded resource that clients share: the memory for request bodies, or the places of a queue.
 *
 * Each client has a limit of its own. It also gets no more than is still free, so no client takes more than half.
 */
export class SharedBudget<Client> {
  readonly #total: number;
  readonly #perClient: number;
  readonly #clients = new Map<Client, number>();
  #used = 0;

  /** @param limits what all clients can reserve, and one of them; `total` by default */
  constructor({ total, perClient = total }: { readonly total: number; readonly perClient?: number }) {
    this.#total = total;
    this.#perClient = perClient;
  }

  /** What all clients have reserved. */
  get used(): number {
    return this.#used;
  }

  /** Reserves an amount for a client. Returns false, and reserves nothing, when it exceeds a limit. */
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
