import type { Database } from '../schema.ts';
import { touchKeys } from './keys.ts';

/**
 * Notes when keys are used, for the lists that people look at: in memory at each request, on disk once a minute.
 * A crash loses a minute of it.
 */
export class LastUsedTracker {
  readonly #database: Database;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<string, number>();

  /** @param database production's, where the keys are */
  constructor(database: Database) {
    this.#database = database;
    this.#timer = setInterval(() => this.#write().catch(() => {}), WRITE_EVERY_MS).unref();
  }

  /** Notes that a key was used at `now` (milliseconds since the Unix epoch). */
  note(keyId: string, now: number): void {
    this.#uses.set(keyId, now);
  }

  /** Writes what is noted, as far as storage lets it, and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#write().catch(() => {});
  }

  /** What cannot be written now is noted again by the key's next use. */
  async #write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = Array.from(this.#uses, ([id, at]) => ({ id, at: Math.floor(at) }));
    this.#uses = new Map();
    await this.#database.write(tx => touchKeys(tx, uses));
  }
}

const WRITE_EVERY_MS = 60_000;
