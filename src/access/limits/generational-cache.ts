/**
 * An approximate LRU cache with at most `entriesMax` entries and no cleanup pass.
 *
 * It has two generations. A read moves an entry to the young one. When the young generation is full or `ageMs` old, it
 * replaces the old one. So an entry stays for at least `ageMs` after its last read, unless half of `entriesMax` other
 * entries were added meanwhile.
 */
export class GenerationalCache<Key, Value> {
  readonly #half: number;
  readonly #ageMs: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #bornAt = Number.NEGATIVE_INFINITY;

  constructor(entriesMax: number, ageMs: number) {
    this.#half = Math.max(1, Math.floor(entriesMax / 2));
    this.#ageMs = ageMs;
  }

  /**
   * Returns the value of `key`; sets it to a new value first if there is none. Counts as a read at `now`
   * (milliseconds).
   */
  getOrInsertComputed(key: Key, now: number, compute: () => Value): Value {
    if (now - this.#bornAt >= this.#ageMs) this.#rotate(now);
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const value = this.#old.get(key) ?? compute();
    if (this.#young.size >= this.#half) this.#rotate(now);
    this.#young.set(key, value);
    return value;
  }

  /** Returns the value of `key` without counting as a read. */
  peek(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Yields every entry once. */
  *entries(): Generator<[Key, Value]> {
    yield* this.#young;
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry;
  }

  /** The number of entries. Entries in both generations count twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  #rotate(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#bornAt = now;
  }
}
