import { Worker } from 'node:worker_threads';
import type { CheckpointAnswer, CheckpointTask } from './sqlite-checkpoint-worker.ts';

/** A checkpoint's part came out like this. */
export interface CheckpointResult {
  /** Frames that are not in the file yet. */
  readonly left: number;
  /** Whether the WAL is empty, on disk too. */
  readonly truncated: boolean;
}

/**
 * Does checkpoints in a thread of its own, on a connection of its own, so that their flushes hold up nobody.
 *
 * The thread starts with the first one, and does not keep the process alive.
 */
export class Checkpointer {
  readonly #file: string;
  #worker: Worker | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** `passive` lets all go on; `truncate` empties the WAL where nobody needs it any more. One at a time. */
  async run(task: 'passive' | 'truncate'): Promise<CheckpointResult> {
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

  /** Ends the thread. */
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
    const worker = new Worker(new URL('./sqlite-checkpoint-worker.ts', import.meta.url), {
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
