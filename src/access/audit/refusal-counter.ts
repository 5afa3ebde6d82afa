import type { Clock } from '../../lib/clock.ts';
import type { Caller } from '../../lib/http/route.ts';
import type { RefusedRequest } from '../../lib/http/server/error-responses.ts';
import type { Log } from '../../lib/log.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Database } from '../../model/schema.ts';
import { type NewRefusals, recordRefusals } from './refusals.ts';

/** How often the counts are written. */
export const WRITE_EVERY_MS = 60_000;
/**
 * The maximum number of combinations of key, error code and day between two writes; requests with further combinations
 * are not counted.
 */
const PENDING_MAX = 1000;
/** The maximum number of combinations that are logged between two writes. */
const LOGGED_MAX = 20;

export interface RefusalCounterDeps {
  /** Production's database, which stores the keys of both deployments. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Counts requests that got 401 or 403 per key, error code and day, and writes the counts once a minute; a crash loses
 * at most those. Between two writes, logs the first request of each combination, at most twenty.
 */
export class RefusalCounter {
  readonly #deps: RefusalCounterDeps;
  readonly #timer: NodeJS.Timeout;
  #pending = new Map<string, NewRefusals>();

  constructor(deps: RefusalCounterDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.write().catch(() => {}), WRITE_EVERY_MS).unref();
  }

  /** Counts a 401 or 403 response to a request with an existing key. */
  count({ keyId, accountId }: Pick<Caller, 'keyId' | 'accountId'>, refused: RefusedRequest): void {
    const { code, address, requestId } = refused;
    const { clock, log } = this.#deps;
    const lastAt = Math.floor(clock.now());
    const day = Math.floor(lastAt / DAY_MS);
    const id = `${keyId} ${code} ${day}`;
    const known = this.#pending.get(id);
    if (known === undefined && this.#pending.size >= PENDING_MAX) return;
    const requests = (known?.requests ?? 0) + 1;
    const last = { lastAt, lastRequestId: requestId, lastAddress: address };
    this.#pending.set(id, { accountId, keyId, code, day, requests, ...last });
    if (known !== undefined || this.#pending.size > LOGGED_MAX) return;
    log.warn({ keyId, ...refused }, 'A request was refused. Further refusals of this key with this code are counted.');
  }

  /**
   * Writes the counts so far. After a deadlock with another process, the transaction runs again.
   * @throws {StorageError} when the counts cannot be written; then they are lost
   */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return;
    const refusals = [...this.#pending.values()];
    this.#pending = new Map();
    await this.#deps.database.write(tx => recordRefusals(tx, refusals));
  }

  /** Writes pending counts if storage is available, and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.write().catch(() => {});
  }
}
