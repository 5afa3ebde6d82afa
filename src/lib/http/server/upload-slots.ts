import { Problem } from '../problem.ts';
import { BYTES_PER_SECOND_MIN, RATE_SECONDS, SLOW_MS, UploadRate } from './upload-rate.ts';

/** The sender of an upload. */
export interface UploadClient {
  /** The client's address, whose network counts. */
  readonly address: string;
  /** The account, if one is signed in. */
  readonly account: UploadAccount | undefined;
}

interface UploadAccount {
  readonly accountId: number;
  readonly plan: string;
}

export interface UploadSlotsOptions {
  /** The slots of the node, by kind of upload. */
  readonly totals: Readonly<Record<string, number>>;
  /** Returns how many uploads an account may have in progress, of all kinds together. */
  maxOf(account: UploadAccount): number;
  /** Returns the network that an address counts for. */
  networkOf(address: string): string;
  /** Returns milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The share of the slots of a kind that one network can use. */
const NETWORK_SHARE = 1 / 4;
/** How long an upload waits for a slot. */
export const SLOT_WAIT_MS = 10_000;
/** How long an upload must be below the minimum rate before another one can replace it. */
const REPLACED_MS = 2000;
const CHECK_MS = 500;

const RATE_MIN = `${BYTES_PER_SECOND_MIN / 1024} KiB/s`;
const TOO_SLOW = `The upload averaged less than ${RATE_MIN} over the last ${RATE_SECONDS} seconds.`;
const REPLACED = `This upload averaged less than ${RATE_MIN}, and another upload needed its slot. Try again later.`;

/**
 * The slots for the uploads that one node receives at the same time.
 *
 * An upload that gets no slot waits for one. Uploads of the networks with the fewest uploads start first, and replace
 * the slowest upload below the minimum rate. So slow senders cannot block others for long, however many they are.
 */
export class UploadSlots {
  readonly #options: UploadSlotsOptions;
  readonly #now: () => number;
  readonly #open = new Set<UploadSlot>();
  readonly #waiting = new Set<UploadSlot>();
  /** The number of open uploads that count for each limit. */
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UploadSlotsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Returns the number of uploads of an account in progress. */
  countOf(accountId: number): number {
    return this.#counts.get(accountKey(accountId)) ?? 0;
  }

  /** Requests a slot. The caller must release it in any case. */
  request(kind: string, client: UploadClient): UploadSlot {
    const slot = new UploadSlot(this.#limitsOf(kind, client), this.#now, () => this.#release(slot));
    this.#waiting.add(slot);
    this.#grant();
    if (this.#waiting.has(slot) && this.#waitingWith(slot.network) > slot.network.max) this.#reject(slot);
    // A client whose bytes arrived while the event loop was busy is not slow, so read them first.
    this.#timer ??= setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
    return slot;
  }

  #limitsOf(kind: string, { address, account }: UploadClient): SlotLimits {
    const total = this.#options.totals[kind]!;
    const networkMax = Math.floor(total * NETWORK_SHARE);
    const accountMax = account && this.#options.maxOf(account);
    return {
      account: account && {
        key: accountKey(account.accountId),
        max: accountMax!,
        message: `Your account is already uploading ${accountMax} ${accountMax === 1 ? 'file' : 'files'}, the maximum at a time.`,
      },
      network: {
        key: `network ${kind} ${this.#options.networkOf(address)}`,
        max: networkMax,
        message: `Your network is already uploading ${networkMax} files, the maximum at a time.`,
      },
      node: { key: `node ${kind}`, max: total, message: 'Too many uploads at the moment.' },
    };
  }

  /** Gives free slots to waiting uploads. */
  #grant(): void {
    while (this.#startNext());
  }

  #startNext(): boolean {
    const slow = [...this.#open]
      .map(slot => ({ slot, rate: slot.rateIfSlow(REPLACED_MS) }))
      .filter(({ rate }) => rate !== undefined)
      .sort((a, b) => a.rate! - b.rate!)
      .map(({ slot }) => slot);
    const inTurn = [...this.#waiting].sort((a, b) => this.#count(a.network) - this.#count(b.network));
    for (const slot of inTurn) {
      if (!this.#makeRoom(slot, slow)) continue;
      this.#waiting.delete(slot);
      this.#open.add(slot);
      this.#change(slot, 1);
      slot.start();
      return true;
    }
    return false;
  }

  /** Reports whether an upload can start, after replacing a slow one if necessary. */
  #makeRoom(slot: UploadSlot, slow: readonly UploadSlot[]): boolean {
    const exceeded = this.#exceeded(slot);
    if (exceeded === undefined) return true;
    if (exceeded === slot.limits.account) return false;
    const replaced = slow.find(({ limits }) => Object.values(limits).some(limit => limit?.key === exceeded.key));
    if (replaced === undefined) return false;
    this.#end(replaced, REPLACED);
    return this.#exceeded(slot) === undefined;
  }

  #exceeded({ limits: { account, network, node } }: UploadSlot): SlotLimit | undefined {
    return [account, network, node].find(limit => limit !== undefined && this.#count(limit) >= limit.max);
  }

  /** Ends the uploads that are too slow, and the waits that are too long. */
  #check(): void {
    for (const slot of this.#open) if (slot.rateIfSlow(SLOW_MS) !== undefined) this.#end(slot, TOO_SLOW);
    this.#grant();
    for (const slot of this.#waiting) if (this.#now() - slot.requestedAt >= SLOT_WAIT_MS) this.#reject(slot);
    if (this.#open.size + this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #end(slot: UploadSlot, message: string): void {
    slot.end(new Problem('request_timeout', 408, message));
    this.#close(slot);
  }

  #reject(slot: UploadSlot): void {
    this.#waiting.delete(slot);
    const message = `${(this.#exceeded(slot) ?? slot.limits.node).message} Nothing was changed; try again.`;
    slot.reject(new Problem('overloaded', 503, message, { headers: ['Retry-After', '5'] }));
  }

  #release(slot: UploadSlot): void {
    if (this.#waiting.delete(slot)) slot.start();
    this.#close(slot);
    this.#grant();
  }

  #close(slot: UploadSlot): void {
    if (this.#open.delete(slot)) this.#change(slot, -1);
  }

  #change({ limits }: UploadSlot, by: 1 | -1): void {
    for (const limit of Object.values(limits)) {
      if (limit === undefined) continue;
      const count = this.#count(limit) + by;
      if (count > 0) this.#counts.set(limit.key, count);
      else this.#counts.delete(limit.key);
    }
  }

  #count({ key }: SlotLimit): number {
    return this.#counts.get(key) ?? 0;
  }

  #waitingWith({ key }: SlotLimit): number {
    return [...this.#waiting].filter(({ network }) => network.key === key).length;
  }
}

/** A limit on the uploads in progress. */
interface SlotLimits {
  readonly account: SlotLimit | undefined;
  readonly network: SlotLimit;
  readonly node: SlotLimit;
}

interface SlotLimit {
  readonly key: string;
  readonly max: number;
  /** The error if no slot becomes free. */
  readonly message: string;
}

const accountKey = (accountId: number) => `account ${accountId}`;

/** The slot of one upload, acquired or still waiting. */
export class UploadSlot {
  readonly limits: SlotLimits;
  readonly requestedAt: number;
  /**
   * Resolves when the upload has the slot, or was released. Rejects with `overloaded` if no slot becomes free in time.
   */
  readonly ready: Promise<void>;
  /** Releases the slot, or stops waiting for it. Idempotent. */
  readonly release: () => void;
  readonly #rate: UploadRate;
  readonly #started = Promise.withResolvers<void>();
  #problem: Problem | undefined;
  #wake: (() => void) | undefined;

  constructor(limits: SlotLimits, now: () => number, release: () => void) {
    this.limits = limits;
    this.requestedAt = now();
    this.ready = this.#started.promise;
    this.release = release;
    this.#rate = new UploadRate(now);
  }

  get network(): SlotLimit {
    return this.limits.network;
  }

  start(): void {
    this.#started.resolve();
  }

  reject(problem: Problem): void {
    this.#started.reject(problem);
  }

  /** Ends the upload: the wait for its bytes throws the problem. */
  end(problem: Problem): void {
    this.#problem = problem;
    this.#wake?.();
  }

  /**
   * Waits for bytes of the client.
   * @param wait must call its argument when the wait is over
   * @throws {Problem} `request_timeout` if the upload is too slow
   */
  async waitForBytes(wait: (done: () => void) => void): Promise<void> {
    this.#rate.beginWait();
    await new Promise<void>(resolve => {
      this.#wake = resolve;
      wait(resolve);
    });
    this.#rate.endWait();
    if (this.#problem !== undefined) throw this.#problem;
  }

  receive(bytes: number): void {
    this.#rate.add(bytes);
  }

  /** Returns the rate of an upload if it waits for bytes of its client and is too slow; see `UploadRate`. */
  rateIfSlow(afterMs: number): number | undefined {
    return this.#rate.isWaiting ? this.#rate.belowMinimum(afterMs) : undefined;
  }
}
