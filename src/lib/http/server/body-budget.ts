/**
 * The memory for request bodies in progress: those that are being read, and those whose request has no response yet.
 *
 * Each account has a limit of its own. It also gets no more than is still free, so no account takes more than half.
 */
export class BodyBudget {
  readonly #total: number;
  readonly #perAccount: number;
  readonly #accounts = new Map<number, number>();
  #used = 0;

  /** @param limits in bytes; a body larger than either is never accepted */
  constructor(limits: { readonly total: number; readonly perAccount: number }) {
    this.#total = limits.total;
    this.#perAccount = limits.perAccount;
  }

  /** The reserved bytes of all accounts. */
  get used(): number {
    return this.#used;
  }

  /** Reserves bytes for an account. Returns false, and reserves nothing, when they exceed a limit. */
  reserve(accountId: number, bytes: number): boolean {
    const reserved = (this.#accounts.get(accountId) ?? 0) + bytes;
    if (reserved > Math.min(this.#perAccount, this.#total - this.#used)) return false;
    this.#accounts.set(accountId, reserved);
    this.#used += bytes;
    return true;
  }

  release(accountId: number, bytes: number): void {
    const left = this.#accounts.get(accountId)! - bytes;
    if (left > 0) this.#accounts.set(accountId, left);
    else this.#accounts.delete(accountId);
    this.#used -= bytes;
  }
}
