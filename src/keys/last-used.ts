import type { Database } from '../schema.ts';
import { recordLastUse } from './keys.ts';

/**
 * Tracks when keys were last used: in memory on each request, on disk once a minute. A crash loses at most a minute.
 */
export class LastUsedTracker {
  readonly #database: Database;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<string, number>();

  /** @param database the production database, which stores all keys */
  constructor(database: Database) {
    this.#database = database;
    this.#timer = setInterval(() => this.#write().catch(() => {}), WRITE_EVERY_MS).unref();
  }

  /** Records that a key was used at `now` (milliseconds since the Unix epoch). */
  record(keyId: string, now: number): void {
    this.#uses.set(keyId, now);
  }

  /** Writes pending uses if storage allows it, and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#write().catch(() => {});
  }

  /** Uses that cannot be written are lost until the next use of the key. */
  async #write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = Array.from(this.#uses, ([id, at]) => ({ id, at: Math.floor(at) }));
    this.#uses = new Map();
    await this.#database.write(tx => recordLastUse(tx, uses));
  }
}

const WRITE_EVERY_MS = 60_000;
