import { createSemaphore, type Slot } from '../../semaphore.ts';
import { Problem } from '../problem.ts';

/** The caller of a scan: an account with its plan. */
interface ScanCaller {
  readonly accountId: number;
  readonly plan: string;
}

export interface ScanQueueOptions {
  /** How many scans may read at the same time: 1 if reads block the event loop. */
  readonly atOnce: number;
  /** Returns how many scans the account of a caller may have in progress. */
  maxOf(caller: ScanCaller): number;
}

/** The parts of a request that a scan uses. */
export interface ScanRequest {
  /** Without a queue, as on the command line, scans never wait. */
  readonly context: { readonly scans?: ScanQueue };
  readonly caller: ScanCaller;
  /** The connection of the client. */
  readonly connection: { readonly destroyed: boolean; readonly readableEnded: boolean };
  /** Called for each read of its scans. */
  onTurn?(): void;
}

/** A scan in progress. It ends when it is disposed. */
export interface QueuedScan extends Disposable {
  /**
   * Waits until the scan may read its next rows, which should take a few milliseconds at most. Returns false if the
   * client has closed the connection or its side of it: then the scan should end with the rows it has.
   */
  turn(): Promise<boolean>;
}

/**
 * A queue of scans: requests that read many rows to fill a page. The lists of the API share one.
 *
 * In each turn of the event loop, `atOnce` scans read at most, in turn by account, so that other requests are served in
 * between and no account delays the scans of the others by more than one read. An account that has as many scans in
 * progress as it may have gets 503. It may not have more than are still free of `SCANS_MAX`, so no account gets more
 * than half of them.
 */
export class ScanQueue {
  readonly #maxOf: ScanQueueOptions['maxOf'];
  readonly #slots: ReturnType<typeof createSemaphore>;
  readonly #inProgress = new Map<number, number>();
  #total = 0;

  constructor({ atOnce, maxOf }: ScanQueueOptions) {
    this.#slots = createSemaphore({ perKey: atOnce, total: atOnce });
    this.#maxOf = maxOf;
  }

  /** The scans of all accounts in progress. */
  get size(): number {
    return this.#total;
  }

  /** Returns the number of scans of an account in progress. */
  countOf(accountId: number): number {
    return this.#inProgress.get(accountId) ?? 0;
  }

  /** @throws {Problem} `overloaded` if the caller may not begin a scan now */
  requireRoom(caller: ScanCaller): void {
    const free = SCANS_MAX - this.#total;
    if (this.countOf(caller.accountId) < Math.min(this.#maxOf(caller), free)) return;
    const message = 'Too many lists that read many rows are in progress for this account. Try again later.';
    throw new Problem('overloaded', 503, message, { headers: ['Retry-After', '1'] });
  }

  /** @throws {Problem} `overloaded` */
  start(request: ScanRequest): QueuedScan {
    const { caller, connection } = request;
    this.requireRoom(caller);
    const { accountId } = caller;
    this.#count(accountId, 1);
    let slot: Slot | undefined;
    const releaseSlot = () => {
      // The next turn of the event loop serves other requests first.
      if (slot !== undefined) setImmediate(slot.release);
    };
    return {
      turn: async () => {
        request.onTurn?.();
        releaseSlot();
        slot = this.#slots.acquire(String(accountId));
        await slot.ready;
        return !connection.destroyed && !connection.readableEnded;
      },
      [Symbol.dispose]: () => {
        releaseSlot();
        this.#count(accountId, -1);
      },
    };
  }

  #count(accountId: number, by: 1 | -1): void {
    const inProgress = this.countOf(accountId) + by;
    if (inProgress > 0) this.#inProgress.set(accountId, inProgress);
    else this.#inProgress.delete(accountId);
    this.#total += by;
  }
}

/** Starts the scan of a request. Throws `overloaded`. */
export function startScan(request: ScanRequest | undefined): QueuedScan {
  return request?.context.scans?.start(request) ?? unqueued;
}

/**
 * Throws `overloaded` if a request could not start a scan now. Lists that may have to scan call it before they read, so
 * that rejecting a request costs little.
 */
export function requireScanRoom(request: ScanRequest | undefined): void {
  request?.context.scans?.requireRoom(request.caller);
}

const unqueued: QueuedScan = { turn: async () => true, [Symbol.dispose]() {} };

/** Bounds the time that a scan waits: a page of 20,000 rows takes some tens of milliseconds of reading. */
const SCANS_MAX = 200;
