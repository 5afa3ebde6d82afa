import type { Soon, Transaction } from './database.ts';
import type { Query } from './query.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** How a piece of work came out. */
export interface Outcome {
  /** Whether the work threw; then nothing of it stays. */
  readonly threw: boolean;
  /** What it answered, or what it threw. */
  readonly value: unknown;
  /** Whether it changed anything. */
  readonly changed: boolean;
  readonly topics: readonly string[];
}

/** The topic that a change of a table's rows announces by itself. */
export function rowsOf(table: string): string {
  return `rows of ${table}`;
}

/**
 * Runs work in a savepoint of the transaction that is open on `connection`: all of its changes stay in it, or none.
 *
 * @param turn ends work that awaits anything else than its transaction, which answers at once; see `Turn`
 * @throws what ended the whole transaction, such as a full disk
 */
export async function runWork(
  connection: SqliteConnection,
  work: (tx: Transaction) => Soon<unknown>,
  now: number,
  turn: Turn,
): Promise<Outcome> {
  connection.savepoint();
  const tx = new SqliteTransaction(connection, now);
  try {
    const answer = work(tx);
    const value = answer instanceof Promise ? await turn.before(answer) : answer;
    tx.end();
    connection.release();
    return { threw: false, value, changed: tx.changed, topics: tx.topics };
  } catch (error) {
    tx.over();
    if (!connection.inTransaction) throw error;
    connection.undo();
    return { threw: true, value: error, changed: false, topics: [] };
  }
}

class SqliteTransaction implements Transaction {
  readonly engine = 'sqlite';
  readonly now: number;
  readonly topics: string[] = [];
  changed = false;
  readonly #connection: SqliteConnection;
  /** The refusal of a statement; as on PostgreSQL, nothing comes after it. */
  #refused: unknown;
  #over = false;

  constructor(connection: SqliteConnection, now: number) {
    this.#connection = connection;
    this.now = now;
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#run(query, params).rows;
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    return this.#run(query, params).rows[0];
  }

  run<P, R>(query: Query<P, R>, params: P): number {
    return this.#run(query, params).changes;
  }

  announce(topic: string): void {
    this.topics.push(topic);
  }

  /** Takes no more calls. */
  over(): void {
    this.#over = true;
  }

  /** Takes no more calls; throws what a statement was refused with, also when the work has hidden it. */
  end(): void {
    this.#over = true;
    if (this.#refused !== undefined) throw this.#refused;
  }

  #run<P, R>(query: Query<P, R>, params: P): { rows: R[]; changes: number } {
    if (this.#over) {
      throw new Error('This transaction is over: its work awaited something else, or went on after its answer.');
    }
    if (this.#refused !== undefined) throw this.#refused;
    try {
      const result = this.#connection.run(query, params);
      if (result.changes > 0) {
        this.changed = true;
        const { changes } = query.on('sqlite');
        if (changes !== undefined) this.topics.push(rowsOf(changes));
      }
      return result;
    } catch (error) {
      this.#refused = error;
      throw error;
    }
  }
}

/**
 * The rest of this turn of the event loop. Work that awaits only its transaction ends within it; other work would keep
 * the transaction open while strangers run, so it is refused when the turn ends.
 */
export class Turn {
  #immediate: NodeJS.Immediate | undefined;
  #refuse: ((error: Error) => void) | undefined;

  /** What `answer` becomes in this turn, or an error. */
  before<T>(answer: Promise<T>): Promise<T> {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#refuse?.(new Error('The work of a transaction awaits something else than its transaction.'));
    });
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      answer.then(resolve, reject);
    });
  }

  over(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
  }
}
