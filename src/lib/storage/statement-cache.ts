/** How many prepared statements a connection keeps: more than the product's fixed queries, fewer than a client can cause. */
export const STATEMENTS_MAX = 512;

/**
 * Keeps the prepared statements of a connection, by the id of their query. Holds at most `max`, among them the `max / 2`
 * used last.
 */
export class StatementCache<Statement> {
  readonly #half: number;
  readonly #evicted: (statement: Statement) => void;
  // Two generations: cheaper per use than moving each entry to the end of one list.
  #recent = new Map<number, Statement>();
  #older = new Map<number, Statement>();

  constructor(max: number, evicted: (statement: Statement) => void = () => {}) {
    this.#half = max / 2;
    this.#evicted = evicted;
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(id: number): Statement | undefined {
    const statement = this.#recent.get(id);
    if (statement !== undefined) return statement;
    const older = this.#older.get(id);
    if (older === undefined) return undefined;
    this.#older.delete(id);
    this.set(id, older);
    return older;
  }

  /** Adds a statement that is not in the cache. */
  set(id: number, statement: Statement): void {
    if (this.#recent.size >= this.#half) {
      for (const evicted of this.#older.values()) this.#evicted(evicted);
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(id, statement);
  }
}
