import type { Database } from '../../model/schema.ts';
import { findKeysWithAccount, type KeyWithAccount } from './key-with-account.ts';

/** The number of running queries above which further look-ups wait. */
const RUNNING_MAX = 4;
const WAIT_MS = 50;

/**
 * Looks up keys in PostgreSQL at a bounded rate of queries, so that invented keys cannot occupy the database.
 *
 * A look-up starts immediately while few queries run. All others share one query, at most 50 ms later.
 */
export class KeyLookup {
  readonly #database: Database;
  #waiting = new Map<string, PromiseWithResolvers<KeyWithAccount | undefined>>();
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns the key with this id and its account, or `undefined`. Rejects when storage is unavailable.
   * @param canWait whether to share a query with others even while few are running
   */
  find(id: string, canWait: boolean): Promise<KeyWithAccount | undefined> {
    const { promise } = this.#waiting.getOrInsertComputed(id, () => Promise.withResolvers());
    if (!canWait && this.#running < RUNNING_MAX) this.#findWaiting();
    else this.#timer ??= setTimeout(() => this.#findWaiting(), WAIT_MS);
    return promise;
  }

  async #findWaiting(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#running++;
    try {
      const rows = await findKeysWithAccount(this.#database, [...waiting.keys()]);
      const byId = new Map(rows.map(row => [row.id, row]));
      for (const [id, { resolve }] of waiting) resolve(byId.get(id));
    } catch (error) {
      for (const { reject } of waiting.values()) reject(error);
    } finally {
      this.#running--;
    }
  }
}
