/**
 * A map that forgets: first what nobody asked for longest, never more than `entriesMax` at once, and without a sweep.
 *
 * It holds two generations. What is asked for moves to the young one; when that is full or `ageMs` old, the old one is
 * dropped and the young one becomes it. So an entry lives for `ageMs` at least after it was last asked for, unless
 * half of `entriesMax` others came meanwhile.
 */
export class Generations<Key, Value> {
  readonly #half: number;
  readonly #ageMs: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #bornAt = Number.NEGATIVE_INFINITY;

  constructor(entriesMax: number, ageMs: number) {
    this.#half = Math.max(1, Math.floor(entriesMax / 2));
    this.#ageMs = ageMs;
  }

  /** The value under `key`, which counts as asked for at `now` (milliseconds). */
  get(key: Key, now: number): Value | undefined {
    if (now - this.#bornAt >= this.#ageMs) this.#turn(now);
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old, now);
    return old;
  }

  /** Puts a value under `key`, which counts as asked for at `now` (milliseconds). */
  set(key: Key, value: Value, now: number): void {
    if (this.#young.size >= this.#half) this.#turn(now);
    this.#young.set(key, value);
  }

  /** The value under `key`, without its counting as asked for. */
  peek(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Every entry that is remembered, each once. */
  *entries(): Generator<[Key, Value]> {
    yield* this.#young;
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry;
  }

  /** How many entries are held; those in both generations count twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  #turn(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#bornAt = now;
  }
}
