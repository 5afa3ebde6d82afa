import type { Database, Soon } from '../schema.ts';
import { findKey, type Holder } from './keys.ts';

/**
 * The keys that were used lately, so that knowing a key costs no database read.
 *
 * What was revoked, changed or created counts for the very next look-up on the embedded engine and within a second on
 * PostgreSQL; a node that cannot know whether something has changed looks up every time.
 */
export class KeyCache {
  readonly #database: Database;
  #heard: number | undefined;
  readonly #holders = new Map<string, Holder | undefined>();

  /** @param database production's, where the keys are */
  constructor(database: Database) {
    this.#database = database;
  }

  /** The key with this id and its account, or `undefined`. Throws when storage cannot be asked. */
  find(id: string): Soon<Holder | undefined> {
    const heard = this.#database.topicVersion('registry');
    if (heard === undefined) return findKey(this.#database, id);
    if (heard !== this.#heard) {
      this.#heard = heard;
      this.#holders.clear();
    }
    const known = this.#holders.get(id);
    if (known !== undefined || this.#holders.has(id)) return known;
    const found = findKey(this.#database, id);
    return found instanceof Promise
      ? found.then(holder => this.#keep(heard, id, holder))
      : this.#keep(heard, id, found);
  }

  #keep(heard: number, id: string, holder: Holder | undefined): Holder | undefined {
    // What was looked up before a change was heard of is not kept beyond it.
    if (heard === this.#heard) {
      if (this.#holders.size >= HOLDERS_MAX) this.#holders.clear();
      this.#holders.set(id, holder);
    }
    return holder;
  }
}

const HOLDERS_MAX = 50_000;
