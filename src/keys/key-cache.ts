import type { Database, MaybePromise } from '../schema.ts';
import { findKey, type KeyWithAccount } from './keys.ts';

/**
 * A cache of recently used keys, so that authentication needs no database read.
 *
 * Changes to keys take effect on the next look-up on the embedded engine, and within a second on PostgreSQL. A node that
 * cannot know whether keys have changed reads every time.
 */
export class KeyCache {
  readonly #database: Database;
  #topicVersion: number | undefined;
  readonly #keys = new Map<string, KeyWithAccount | undefined>();

  /** @param database the production database, which stores all keys */
  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the key with this id and its account, or `undefined`. Throws when storage is unavailable. */
  find(id: string): MaybePromise<KeyWithAccount | undefined> {
    const version = this.#database.topicVersion('registry');
    if (version === undefined) return findKey(this.#database, id);
    if (version !== this.#topicVersion) {
      this.#topicVersion = version;
      this.#keys.clear();
    }
    const known = this.#keys.get(id);
    if (known !== undefined || this.#keys.has(id)) return known;
    const found = findKey(this.#database, id);
    return found instanceof Promise ? found.then(key => this.#keep(version, id, key)) : this.#keep(version, id, found);
  }

  #keep(version: number, id: string, key: KeyWithAccount | undefined): KeyWithAccount | undefined {
    // A result that was read before a change must not be cached after it.
    if (version === this.#topicVersion) {
      if (this.#keys.size >= KEYS_MAX) this.#keys.clear();
      this.#keys.set(id, key);
    }
    return key;
  }
}

const KEYS_MAX = 50_000;
