import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import type { Database, Soon, Transaction } from '../schema.ts';
import { bounded } from './bounded.ts';

/** A change that must reach the disk, but for which nobody can wait without end. */
export interface Change {
  /** Writes it, as it stands at that moment; may run more than once. */
  write(tx: Transaction): Soon<unknown>;
  /** Called once what the latest `write` wrote is on disk. */
  written(): void;
}

/** How long a change is waited for, and how long after a failure the next attempt is made. */
const PATIENCE_MS = 1000;

/**
 * Writes changes in the background, all that are due in one transaction, one transaction at a time.
 *
 * On a full or stalled disk it stops making anyone wait, says so once, and keeps trying until all is written.
 */
export class WriteBehind {
  readonly #database: Database;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #due = new Set<Change>();
  #waiting: PromiseWithResolvers<void> | undefined;
  #running: Promise<void> | undefined;
  #state: 'durable' | 'memory' = 'durable';

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** `memory` from the moment a write was refused or not answered in time until one succeeds. */
  get state(): 'durable' | 'memory' {
    return this.#state;
  }

  /** Has `change` written; the promise ends once it is on disk, or after a second at most. It never rejects. */
  add(change: Change): Promise<void> {
    this.#due.add(change);
    this.#waiting ??= this.#patience();
    const { promise } = this.#waiting;
    if (!this.#closing.signal.aborted) {
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
    }
    return promise;
  }

  /** Takes note that the storage failed elsewhere, and tries until it is well. */
  failed(error: unknown): void {
    this.#ill(error);
    this.add(probe);
  }

  /** Makes one last attempt at what is due, for a second at most; afterwards nothing is written. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#due.size > 0) this.#waiting ??= this.#patience();
    if (this.#running !== undefined) await bounded(this.#running, PATIENCE_MS);
  }

  async #run(): Promise<void> {
    while (this.#due.size > 0) {
      const changes = this.#due;
      const waiting = this.#waiting!;
      this.#due = new Set();
      this.#waiting = undefined;
      try {
        await this.#database.write(async tx => {
          for (const change of changes) await change.write(tx);
        });
        for (const change of changes) change.written();
        this.#well();
        waiting.resolve();
      } catch (error) {
        for (const change of changes) this.#due.add(change);
        this.#waiting ??= this.#patience();
        this.#ill(error);
        waiting.resolve();
        if (this.#closing.signal.aborted) return;
        await pause(PATIENCE_MS, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  #patience(): PromiseWithResolvers<void> {
    const waiting = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#ill(new Error('the storage does not answer'));
      waiting.resolve();
    }, PATIENCE_MS);
    waiting.promise.then(() => clearTimeout(timer));
    return waiting;
  }

  #ill(error: unknown): void {
    if (this.#state === 'memory') return;
    this.#state = 'memory';
    this.#log.warn({ err: error }, 'Counts and bans cannot be written; they go on in memory.');
  }

  #well(): void {
    if (this.#state === 'durable') return;
    this.#state = 'durable';
    this.#log.info('Counts and bans are written again.');
  }
}

/** Writes nothing, to see whether that can be written. */
const probe: Change = { write() {}, written() {} };
