import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { durationBounds, Histogram } from '../../histogram.ts';
import type { Log } from '../../log.ts';
import type { CheckpointOutcome, CheckpointStep } from './checkpoint-worker.ts';
import type { CheckpointResult } from './connection.ts';
import { isBusy, isFailedFlush } from './errors.ts';
import type { WalFlush } from './flush.ts';
import type { Snapshots } from './snapshots.ts';

/**
 * Whether the WAL accepts a group of writes. `wait`: until a flush ends or `resume` is called. `busy`: another
 * process holds the write lock; retry. `full`: the WAL could not be truncated; reject.
 */
export type WalCapacity = 'now' | 'wait' | 'busy' | 'full';

/** Group commit, whose groups wait while the WAL is truncated. */
interface PausableWrites {
  pause(): Promise<void>;
  resume(): void;
}

export interface CheckpointerDeps {
  readonly file: string;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  /** The size of the WAL that starts a checkpoint. */
  readonly checkpointBytes: number;
  readonly log: Log;
  onFlushFailed(error: Error): void;
}

/**
 * Keeps the WAL short: runs checkpoints in a worker thread, so that the event loop does not wait for flushes. Passive
 * checkpoints run during writes; then writes wait while the worker copies the rest and truncates the WAL.
 */
export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #writes: PausableWrites;
  readonly #thread: CheckpointThread;
  /** The durations of checkpoints, in seconds. */
  readonly durations = new Histogram(durationBounds);
  #running: Promise<void> | undefined;
  /** Why the last checkpoint did not truncate the WAL. */
  #failed: 'busy' | 'full' | undefined;
  /**
   * True if no reader uses the WAL. Do not start a group commit then: it could overwrite frames from the start of the
   * file.
   */
  #unprotected = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(deps: CheckpointerDeps, writes: PausableWrites) {
    this.#deps = deps;
    this.#writes = writes;
    this.#thread = new CheckpointThread(deps.file);
  }

  /** Starts a checkpoint if one is due, unless one is running or has just failed. */
  consider(): void {
    if (this.#running !== undefined || this.#retry !== undefined) return;
    if (this.#deps.flush.bytes < this.#deps.checkpointBytes && !this.#unprotected) return;
    this.#running = this.#run();
  }

  /** Reports whether the WAL accepts another group. */
  capacity(): WalCapacity {
    if (this.#deps.flush.bytes < WAL_BYTES_MAX && !this.#unprotected) return 'now';
    this.consider();
    return this.#failed ?? 'wait';
  }

  /** Waits for the running checkpoint, and ends the thread. */
  async close(): Promise<void> {
    await this.#running;
    clearTimeout(this.#retry);
    await this.#thread.close();
  }

  async #run(): Promise<void> {
    const { log, onFlushFailed } = this.#deps;
    const isRetry = this.#failed !== undefined;
    const startedMs = performance.now();
    try {
      this.#failed = (await this.#checkpoint()) ? undefined : 'full';
    } catch (error) {
      this.#failed = isBusy(error) ? 'busy' : 'full';
      if (isFailedFlush(error)) onFlushFailed(error as Error);
      else if (!isRetry && !isBusy(error)) {
        log.warn({ err: error }, 'The write-ahead log could not be truncated; the server retries.');
      }
    }
    this.durations.observe((performance.now() - startedMs) / 1000);
    this.#running = undefined;
    if (this.#failed !== undefined) {
      const retry = () => {
        this.#retry = undefined;
        this.consider();
      };
      this.#retry = setTimeout(retry, this.#failed === 'busy' ? RETRY_BUSY_MS : RETRY_MS).unref();
    }
    this.#writes.resume();
  }

  /** Copies the WAL into the file and truncates the WAL. Returns false if another process reads from it. */
  async #checkpoint(): Promise<boolean> {
    const { flush } = this.#deps;
    for (let attempt = 0; attempt < PASSIVE_ATTEMPTS; attempt++) {
      const { left } = await this.#thread.run('passive');
      if (left <= REMAINING_PAGES_MAX) break;
    }
    await this.#writes.pause();
    this.#unprotected = true;
    let allInFile = false;
    for (let attempt = 0; attempt < TRUNCATE_ATTEMPTS; attempt++) {
      // Once all readers have the newest snapshot, the worker can copy all frames; once the readers use only the file,
      // the WAL is unused.
      this.#renewSnapshots();
      await this.#thread.run('passive');
      this.#renewSnapshots();
      const { left, truncated } = await this.#thread.run('truncate');
      flush.measure();
      allInFile = left === 0;
      if (!truncated) continue;
      this.#unprotected = false;
      return true;
    }
    // Another process reads the WAL. A frame that is not in the file makes our readers protect the WAL again.
    if (allInFile) await this.#thread.run('touch');
    this.#renewSnapshots();
    this.#unprotected = false;
    return false;
  }

  #renewSnapshots(): void {
    try {
      this.#deps.snapshots.renew();
    } catch (error) {
      // Without its snapshot a reader would see unflushed data.
      this.#deps.onFlushFailed(error as Error);
      throw error;
    }
  }
}

/** The WAL stays below 64 MiB: the groups of one flush fit into the difference. */
const WAL_BYTES_MAX = 48 * 1024 * 1024;
const RETRY_MS = 1000;
/** The pause after an attempt that failed only because of the write lock, which commands hold briefly. */
const RETRY_BUSY_MS = 20;
/** How many remaining pages writes may wait for, and how many passive checkpoints run to reach that number. */
const REMAINING_PAGES_MAX = 256;
const PASSIVE_ATTEMPTS = 4;
/** An attempt to truncate fails if a command reads or commits meanwhile. */
const TRUNCATE_ATTEMPTS = 3;

/**
 * The worker thread, with a connection of its own. Starts with the first checkpoint. Does not keep the process alive.
 */
class CheckpointThread {
  readonly #file: string;
  #worker: Worker | undefined;
  /** Aborted when the worker has ended. */
  #ended = new AbortController();

  constructor(file: string) {
    this.#file = file;
  }

  /** Runs one step. Call it for one step at a time. */
  async run(step: CheckpointStep): Promise<CheckpointResult> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    try {
      worker.postMessage(step);
      const [outcome] = (await once(worker, 'message', { signal: this.#ended.signal })) as [CheckpointOutcome];
      if ('error' in outcome) throw Object.assign(new Error(outcome.error.message), { code: outcome.error.code });
      return outcome;
    } finally {
      worker.unref();
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), {
      workerData: { file: this.#file },
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
    this.#ended = new AbortController();
    // `run` reports errors during a step.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#ended.abort(new Error('The checkpoint thread has ended.'));
    });
    return worker;
  }
}
