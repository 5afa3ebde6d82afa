import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { durationBounds, Histogram } from '../../histogram.ts';
import type { Log } from '../../log.ts';
import type { CheckpointOutcome, CheckpointStep } from './checkpoint-worker.ts';
import type { CheckpointResult } from './connection.ts';
import { isBusy, isFailedFlush } from './errors.ts';
import type { WalFlush } from './flush.ts';
import type { GroupCommit, WalCapacity } from './group-commit.ts';
import type { Snapshots } from './snapshots.ts';

export interface CheckpointerDeps {
  readonly groupCommit: GroupCommit;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  /** The size of the WAL that starts a checkpoint. */
  readonly checkpointBytes: number;
  readonly log: Log;
  onFlushFailed(error: Error): void;
}

/**
 * Keeps the WAL short: runs checkpoints in a worker thread, so that nothing flushes on the event loop. Passive checkpoints
 * run beside writes; then writes wait while the worker copies the rest and truncates the WAL.
 */
export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #thread: CheckpointThread;
  /** The durations of checkpoints, in seconds. */
  readonly durations = new Histogram(durationBounds);
  #running: Promise<void> | undefined;
  /** Why the last checkpoint did not truncate the WAL. */
  #failed: 'busy' | 'full' | undefined;
  /** Whether no reader holds the WAL, so that a commit could restart it over old frames. No group may run then. */
  #unprotected = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(file: string, deps: CheckpointerDeps) {
    this.#deps = deps;
    this.#thread = new CheckpointThread(file);
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
    const { groupCommit, log, onFlushFailed } = this.#deps;
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
    groupCommit.resume();
  }

  /** Copies the WAL into the file and truncates it. Returns false if another process reads from it. */
  async #checkpoint(): Promise<boolean> {
    const { groupCommit, flush } = this.#deps;
    for (let attempt = 0; attempt < PASSIVE_ATTEMPTS; attempt++) {
      const { left } = await this.#thread.run('passive');
      if (left <= REMAINING_PAGES_MAX) break;
    }
    await groupCommit.pause();
    this.#unprotected = true;
    let allInFile = false;
    for (let attempt = 0; attempt < TRUNCATE_ATTEMPTS; attempt++) {
      // Readers of the newest frames let the worker copy all frames; once they read only the file, the WAL is free.
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
    // Another process reads. With a frame that is not in the file, our readers protect the WAL again.
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
/** The same when only the write lock was missing, which commands hold briefly. */
const RETRY_BUSY_MS = 20;
/** How many remaining pages writes may wait for, and how many passive checkpoints run to get there. */
const REMAINING_PAGES_MAX = 256;
const PASSIVE_ATTEMPTS = 4;
/** A command that reads or commits meanwhile makes an attempt to truncate fail. */
const TRUNCATE_ATTEMPTS = 3;

/** The worker thread, with a connection of its own. Starts with the first checkpoint. Does not keep the process alive. */
class CheckpointThread {
  readonly #file: string;
  #worker: Worker | undefined;
  /** Aborted when the worker has ended. */
  #ended = new AbortController();

  constructor(file: string) {
    this.#file = file;
  }

  /** Runs one step. One at a time. */
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
    // `run` reports an error while it waits.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#ended.abort(new Error('The checkpoint thread has ended.'));
    });
    return worker;
  }
}
