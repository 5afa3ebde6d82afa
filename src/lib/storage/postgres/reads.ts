import { StorageError } from '../database.ts';
import { StatementCache } from '../statement-cache.ts';
import type { Calls } from './calls.ts';

/** How many reads one write sends: a slow one delays those after it. */
const READS_MAX = 16;
/** A query that takes longer than this is sent alone, in milliseconds. */
const FAST_MS = 10;
/** How much one long duration changes the estimate: little, since a busy machine delays fast queries too. */
const WEIGHT = 1 / 16;

interface Read {
  readonly queryId: number;
  readonly sql: string;
  readonly values: readonly unknown[];
  // biome-ignore lint/suspicious/noExplicitAny: the query determines the type of the rows
  readonly waiting: PromiseWithResolvers<any[]>;
}

/**
 * Sends the reads of a turn of the event loop together: one write for all of them, and one message of the server. They
 * need no transaction, because each statement sees what was committed before it.
 */
export class Reads {
  readonly #calls: Calls;
  /** The estimated durations of queries, by their ids. Queries of unknown duration are sent alone. */
  readonly #durations = new StatementCache<number, { ms: number }>(() => ({ ms: Number.POSITIVE_INFINITY }));
  /** The reads that are sent when a connection is free. */
  #open: Read[] | undefined;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Returns the rows of a query. */
  all(queryId: number, sql: string, values: readonly unknown[]) {
    const read: Read = { queryId, sql, values, waiting: Promise.withResolvers() };
    if (this.#durations.get(queryId).ms > FAST_MS) this.#run([read]);
    else if (this.#open !== undefined && this.#open.length < READS_MAX) this.#open.push(read);
    else {
      const reads = [read];
      this.#open = reads;
      setImmediate(() => this.#run(reads));
    }
    return read.waiting.promise;
  }

  /** Runs reads and settles them. Never rejects. */
  async #run(reads: Read[]): Promise<void> {
    try {
      await this.#calls.run(async (connection, deadlineMs) => {
        if (this.#open === reads) this.#open = undefined;
        const startMs = performance.now();
        const statements = reads.map(({ queryId, sql, values }) => connection.prepare(sql, values, queryId));
        const { results, error } = await connection.run(deadlineMs, statements);
        this.#measure(reads, (performance.now() - startMs) / reads.length);
        for (const [index, { rows }] of results.entries()) reads[index]!.waiting.resolve(rows);
        reads.splice(0, results.length);
        if (error !== undefined) throw error;
      });
    } catch (error) {
      if (this.#open === reads) this.#open = undefined;
      // The server did not run the reads after one that it rejected.
      const rejected = error instanceof StorageError ? reads.splice(0) : reads.splice(0, 1);
      for (const { waiting } of rejected) waiting.reject(error);
      if (reads.length > 0) this.#run(reads);
    }
  }

  #measure(reads: readonly Read[], ms: number): void {
    for (const { queryId } of reads) {
      const duration = this.#durations.get(queryId);
      duration.ms = ms < duration.ms ? ms : duration.ms + (ms - duration.ms) * WEIGHT;
    }
  }
}
