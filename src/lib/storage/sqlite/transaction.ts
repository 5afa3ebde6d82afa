import type { MaybePromise, Transaction } from '../database.ts';
import type { TransactionDeadlines } from '../deadlines.ts';
import type { Query } from '../query.ts';
import type { SqliteConnection } from './connection.ts';

/** How a piece of work came out. */
export interface WorkResult {
  /** Whether the work threw; then nothing of it stays. */
  readonly threw: boolean;
  /** What it answered, or what it threw. */
  readonly value: unknown;
  /** Whether it changed anything. */
  readonly changed: boolean;
  readonly topics: readonly string[];
  /** Called once what it changed is seen, or nothing is left of it. */
  over(): void;
}

/** The topic that a change of a table's rows announces by itself. */
export function tableTopic(table: string): string {
  return `rows of ${table}`;
}

/**
 * Runs work in a savepoint of the transaction that is open on `connection`: all of its changes stay in it, or none.
 *
 * @param deadlines the ends before which the work has to be seen
 * @param turn ends work that awaits anything else than its transaction, which answers at once; see `Turn`
 * @throws what ended the whole transaction, such as a full disk
 */
export async function runWork(
  connection: SqliteConnection,
  work: (tx: Transaction) => MaybePromise<unknown>,
  now: number,
  deadlines: TransactionDeadlines,
  turn: Turn,
): Promise<WorkResult> {
  connection.savepoint();
  const tx = new SqliteTransaction(connection, now, deadlines);
  try {
    const answer = work(tx);
    const value = answer instanceof Promise ? await turn.before(answer) : answer;
    tx.end();
    connection.release();
    return { threw: false, value, changed: tx.changed, topics: tx.topics, over: deadlines.over };
  } catch (error) {
    tx.over();
    deadlines.over();
    if (!connection.inTransaction) throw error;
    connection.undo();
    return { threw: true, value: error, changed: false, topics: [], over() {} };
  }
}

class SqliteTransaction implements Transaction {
  readonly engine = 'sqlite';
  readonly topics: string[] = [];
  changed = false;
  readonly #connection: SqliteConnection;
  readonly #deadlines: TransactionDeadlines;
  #now: number;
  /** The refusal of a statement; as on PostgreSQL, nothing comes after it. */
  #refused: unknown;
  #over = false;

  constructor(connection: SqliteConnection, now: number, deadlines: TransactionDeadlines) {
    this.#connection = connection;
    this.#now = now;
    this.#deadlines = deadlines;
  }

  get now(): number {
    return this.#now;
  }

  /** Writes come one by one and wait for nothing; but another process may have written by a clock that is ahead. */
  refreshNow(after = 0): void {
    this.#now = Math.max(this.#now, after);
  }

  requireVisibleBefore(end: number, late: () => Error): void {
    this.#deadlines.seenBefore(end, late);
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

  notify(topic: string): void {
    this.topics.push(topic);
  }

  /** Takes no more calls. */
  over(): void {
    this.#over = true;
  }

  /** Takes no more calls; throws what a statement was refused with, also when the work has hidden it, or what is late. */
  end(): void {
    this.#over = true;
    if (this.#refused !== undefined) throw this.#refused;
    this.#deadlines.judge();
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
        const { changedTable } = query.compiledFor('sqlite');
        if (changedTable !== undefined) this.topics.push(tableTopic(changedTable));
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
