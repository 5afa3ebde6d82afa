/**
 * How many prepared statements a connection keeps: more than the program's fixed queries, fewer than clients can cause.
 */
export const STATEMENTS_MAX = 512;

/** The prepared statements of a connection: at most `max`, including the `max / 2` most recently used. */
export class StatementCache<Key, Statement> {
  readonly #prepare: (key: Key) => Statement;
  readonly #evicted: (statement: Statement) => void;
  readonly #half: number;
  // Two generations: this is cheaper per use than moving each entry to the end of one list.
  #recent = new Map<Key, Statement>();
  #older = new Map<Key, Statement>();

  constructor(
    prepare: (key: Key) => Statement,
    evicted: (statement: Statement) => void = () => {},
    max = STATEMENTS_MAX,
  ) {
    this.#prepare = prepare;
    this.#evicted = evicted;
    this.#half = max / 2;
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** Returns the statement of `key`, preparing it if necessary. */
  get(key: Key): Statement {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const statement = this.#older.get(key) ?? this.#prepare(key);
    this.#older.delete(key);
    if (this.#recent.size >= this.#half) {
      for (const evicted of this.#older.values()) this.#evicted(evicted);
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, statement);
    return statement;
  }
}
