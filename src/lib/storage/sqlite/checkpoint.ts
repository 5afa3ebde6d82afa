import { Worker } from 'node:worker_threads';
import type { Log } from '../../log.ts';
import type { CheckpointAnswer, CheckpointPart, CheckpointTask } from './checkpoint-worker.ts';
import { isBusy, isFailedFlush } from './connection.ts';
import type { WalFlush } from './flush.ts';
import type { GroupCommit, WalCapacity } from './group-commit.ts';
import type { Snapshots } from './snapshots.ts';

/** What checkpoints go round. */
export interface CheckpointsParts {
  readonly commits: GroupCommit;
  readonly snapshots: Snapshots;
  readonly flush: WalFlush;
  /** The length of the WAL from which it is emptied. */
  readonly bytes: number;
  readonly log: Log;
  /** A flush has failed. */
  failed(error: Error): void;
}

/** The WAL is never longer than 64 MiB; what the batches of one flush write fits in between. */
const WAL_BYTES_MAX = 48 * 1024 * 1024;
const RETRY_MS = 1000;
/** The same when all that was missing is the write lock, which commands hold for a moment. */
const RETRY_LOCK_MS = 20;
/** A rest that is small enough for writes to wait for it, in pages, and how often it is tried to get there. */
const SMALL_REST = 256;
const PASSIVE_ROUNDS = 4;
/** A command that commits or reads in between makes the last step fail. */
const TRUNCATE_ATTEMPTS = 3;

/** Keeps the WAL short: brings it into the file in a thread of its own and empties it, without a flush in this one. */
export class Checkpointer {
  readonly #parts: CheckpointsParts;
  readonly #thread: CheckpointThread;
  #running: Promise<void> | undefined;
  /** Why the last one did not come to its end. */
  #failed: 'locked' | 'other' | undefined;
  /** Whether a commit could begin the WAL anew, over old frames, so that none may be made. */
  #loose = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(file: string, parts: CheckpointsParts) {
    this.#parts = parts;
    this.#thread = new CheckpointThread(file);
  }

  /** Begins one where the WAL is long enough or loose, unless one is under way or has just failed. */
  consider(): void {
    if (this.#running !== undefined || this.#retry !== undefined) return;
    if (this.#parts.flush.bytes < this.#parts.bytes && !this.#loose) return;
    this.#running = this.#run();
  }

  /** Whether the WAL takes more. Only where it cannot be emptied it takes no more at all. */
  room(): WalCapacity {
    if (this.#parts.flush.bytes < WAL_BYTES_MAX && !this.#loose) return 'now';
    this.consider();
    if (this.#failed === undefined) return 'wait';
    return this.#failed === 'locked' ? 'locked' : 'never';
  }

  /** Waits for the one that is under way, and ends the thread. */
  async close(): Promise<void> {
    await this.#running;
    clearTimeout(this.#retry);
    await this.#thread.close();
  }

  async #run(): Promise<void> {
    const { commits, log, failed } = this.#parts;
    const again = this.#failed !== undefined;
    try {
      this.#failed = (await this.#checkpoint()) ? undefined : 'other';
    } catch (error) {
      this.#failed = isBusy(error) ? 'locked' : 'other';
      if (isFailedFlush(error)) failed(error as Error);
      else if (!again && !isBusy(error))
        log.warn({ err: error }, 'The write-ahead log could not be emptied; this is tried again.');
    }
    this.#running = undefined;
    if (this.#failed !== undefined) {
      const retry = () => {
        this.#retry = undefined;
        this.consider();
      };
      this.#retry = setTimeout(retry, this.#failed === 'locked' ? RETRY_LOCK_MS : RETRY_MS).unref();
    }
    commits.release();
  }

  /** Brings the WAL into the file and empties it; whether it could be emptied. */
  async #checkpoint(): Promise<boolean> {
    const { commits, flush } = this.#parts;
    for (let round = 0; round < PASSIVE_ROUNDS; round++) {
      const { left } = await this.#thread.run('passive');
      if (left <= SMALL_REST) break;
    }
    await commits.hold();
    // From here on the readers no longer keep the next commit from beginning the WAL anew over old frames.
    this.#loose = true;
    let inFile = false;
    for (let attempt = 0; attempt < TRUNCATE_ATTEMPTS; attempt++) {
      // Readers of the newest frames let all of them into the file; when they read the file alone, the WAL is free.
      this.#renew();
      await this.#thread.run('passive');
      this.#renew();
      const { left, truncated } = await this.#thread.run('truncate');
      flush.measure();
      inFile = left === 0;
      if (!truncated) continue;
      this.#loose = false;
      return true;
    }
    // Somebody else reads. Over a frame that is not in the file our readers keep the WAL again.
    if (inFile) await this.#thread.run('touch');
    this.#renew();
    this.#loose = false;
    return false;
  }

  #renew(): void {
    try {
      this.#parts.snapshots.renew();
    } catch (error) {
      // A reader without a snapshot would show what is not on disk.
      this.#parts.failed(error as Error);
      throw error;
    }
  }
}

/**
 * The thread, with a connection of its own. It starts with the first checkpoint, and does not keep the process alive
 * between two.
 */
class CheckpointThread {
  readonly #file: string;
  #worker: Worker | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Does one part at a time. */
  async run(task: CheckpointPart): Promise<{ readonly left: number; readonly truncated: boolean }> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    try {
      const answer = await new Promise<CheckpointAnswer>((resolve, reject) => {
        const ended = () => reject(new Error('The thread for checkpoints has ended.'));
        worker.once('error', reject);
        worker.once('exit', ended);
        worker.once('message', (answer: CheckpointAnswer) => {
          worker.off('error', reject);
          worker.off('exit', ended);
          resolve(answer);
        });
        worker.postMessage(task);
      });
      if ('error' in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
      return answer;
    } finally {
      worker.unref();
    }
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    await new Promise(resolve => {
      worker.once('exit', resolve);
      worker.postMessage('close' satisfies CheckpointTask);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), {
      workerData: { file: this.#file },
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}
