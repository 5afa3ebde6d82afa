import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { succeedsWithin } from '../../lib/timeout.ts';
import type { Database, Transaction } from '../../model/schema.ts';

/** A write that must reach the disk, but for which requests wait only for a limited time. */
export interface PendingWrite {
  /** Writes the current state; may run more than once. Returns a function to call once the write is on disk. */
  write(tx: Transaction): Promise<() => void>;
}

/** How long to wait for a write, and how long to wait after a failure before the next attempt. */
const WAIT_MS = 1000;

/**
 * Writes in the background: all pending writes in one transaction, one transaction at a time.
 *
 * On a full or stalled disk, requests no longer wait; it logs once, and retries until all are written.
 */
export class WriteBehind {
  readonly #database: Database;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #pending = new Set<PendingWrite>();
  #waiting: PromiseWithResolvers<void> | undefined;
  #running: Promise<void> | undefined;
  #state: 'durable' | 'memory' = 'durable';

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** `memory` after a write fails or is late, until a write succeeds. */
  get state(): 'durable' | 'memory' {
    return this.#state;
  }

  /** Queues a write. The promise resolves once it is on disk, or after a second. It never rejects. */
  add(change: PendingWrite): Promise<void> {
    this.#pending.add(change);
    this.#waiting ??= this.#startWait();
    const { promise } = this.#waiting;
    if (!this.#closing.signal.aborted) {
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
    }
    return promise;
  }

  /** Reports that storage did not respond to a read, and probes until it works again. */
  reportTimeout(): void {
    this.#markFailed(storageTimeout());
    this.add(probe);
  }

  /** Makes a last attempt at pending writes, for at most a second; later writes are ignored. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#pending.size > 0) this.#waiting ??= this.#startWait();
    if (this.#running !== undefined) await succeedsWithin(this.#running, WAIT_MS);
  }

  async #run(): Promise<void> {
    while (this.#pending.size > 0) {
      const changes = this.#pending;
      const waiting = this.#waiting!;
      this.#pending = new Set();
      this.#waiting = undefined;
      try {
        const written = new Set<() => void>();
        await this.#database.write(async tx => {
          written.clear();
          for (const change of changes) written.add(await change.write(tx));
        });
        for (const callback of written) callback();
        this.#markHealthy();
        waiting.resolve();
      } catch (error) {
        for (const change of changes) this.#pending.add(change);
        this.#waiting ??= this.#startWait();
        this.#markFailed(error);
        waiting.resolve();
        if (this.#closing.signal.aborted) return;
        await pause(WAIT_MS, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  #startWait(): PromiseWithResolvers<void> {
    const waiting = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#markFailed(storageTimeout());
      waiting.resolve();
    }, WAIT_MS);
    waiting.promise.then(() => clearTimeout(timer));
    return waiting;
  }

  #markFailed(error: unknown): void {
    if (this.#state === 'memory') return;
    this.#state = 'memory';
    this.#log.warn({ err: error }, 'Counts and bans cannot be written; counting continues in memory.');
  }

  #markHealthy(): void {
    if (this.#state === 'durable') return;
    this.#state = 'durable';
    this.#log.info('Counts and bans can be written again.');
  }
}

export function storageTimeout(): Error {
  return new Error('the storage does not respond');
}

/** An empty write that checks whether storage works. */
const probe: PendingWrite = { write: async () => () => {} };
