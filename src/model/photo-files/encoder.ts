import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Problem } from '../../lib/http/problem.ts';
import type { Log } from '../../lib/log.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { problem } from '../errors.ts';
import type { PhotoType } from '../photo.ts';
import { diskProblem } from './disk-problem.ts';
import type { EncodedPhoto, EncodeRequest, EncodeResponse } from './encode.ts';

const defaults = {
  /** The time limit of a photo. */
  deadlineMs: 20_000,
  /** The time after which a starved process is replaced by one with a higher priority. */
  starvedMs: 1000,
  /** A process that gets less than this share of a processor is starved. */
  processorShare: 0.5,
  /** The time without work after which the process ends, which frees its memory. */
  idleMs: 10_000,
  /** The maximum number of waiting photos. */
  waitingMax: 64,
};
const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;
/** The time limit of starting the process. */
const START_MS = 20_000;
/** The number of photos after which the process is replaced, because its memory fragments. */
const PHOTOS_PER_PROCESS = 200;
/** The heap size of the process, in MiB. The pixels are outside of the heap. */
const HEAP_MIB = 64;

/**
 * Makes the sizes of photos in a separate process, one photo at a time. In the server, decoders would use libuv's
 * thread pool, which flushes the database, and their memory would not be freed.
 */
export class PhotoEncoder {
  readonly #options: { readonly log: Log } & typeof defaults;
  #process: ChildProcess | undefined;
  #priority = PRIORITY_LOW;
  /** Resolves once the process accepts work. */
  #ready: Promise<void> = Promise.resolve();
  #encoded = 0;
  #waiting = 0;
  readonly #turns = createSemaphore({ perKey: 1, total: 1 });
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: { readonly log: Log } & Partial<typeof defaults>) {
    this.#options = { ...defaults, ...options };
  }

  /** The id of the process, while there is one. */
  get processId(): number | undefined {
    return this.#process?.pid;
  }

  /** The number of photos that wait or are being encoded. */
  get queued(): number {
    return this.#waiting;
  }

  /**
   * Writes every size of the original in a directory beside it, and flushes all files and the directory. Clients take
   * turns.
   * @param client the account of the photo
   * @throws {Problem} `invalid_photo` if the file cannot be decoded, or takes too long; `overloaded` while too many
   *   photos wait, or if the machine is too busy
   */
  async encode(directory: string, type: PhotoType, client: number): Promise<EncodedPhoto> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#waiting >= this.#options.waitingMax) {
      const message = 'Too many photos are being processed; nothing was changed.';
      throw problem('overloaded', message, { headers: ['Retry-After', '5'] });
    }
    this.#waiting++;
    clearTimeout(this.#idle);
    const request = { directory, format: type.slice('image/'.length) };
    const turn = this.#turns.acquire(String(client));
    try {
      await turn.ready;
      return await this.#encode(request);
    } finally {
      turn.release();
      if (--this.#waiting === 0 && !this.#isClosed) {
        this.#idle = setTimeout(() => this.#rest(), this.#options.idleMs).unref();
      }
    }
  }

  /** Ends the process and rejects waiting photos. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    this.#end();
  }

  #rest(): void {
    this.#end();
    this.#priority = PRIORITY_LOW;
  }

  #end(): void {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }

  /** Returns the process once it has started. @throws {Problem} `overloaded` if it does not start */
  async #readyProcess(): Promise<ChildProcess> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#encoded >= PHOTOS_PER_PROCESS) this.#end();
    const child = this.#process ?? this.#start();
    try {
      await this.#ready;
      return child;
    } catch (error) {
      if (this.#isClosed) throw shuttingDown();
      this.#options.log.error({ err: error }, 'The process that encodes photos does not start.');
      throw problem('overloaded', 'Photos cannot be processed at the moment; nothing was changed.', {
        headers: ['Retry-After', '30'],
        cause: error,
      });
    }
  }

  async #encode(request: EncodeRequest): Promise<EncodedPhoto> {
    const { deadlineMs, processorShare } = this.#options;
    const starvedMs = Math.min(this.#options.starvedMs, deadlineMs);
    const child = await this.#readyProcess();
    this.#encoded++;
    const isStarved = starvation(child, processorShare);
    child.send(request);
    let response = await this.#responseOf<EncodeResponse>(child, starvedMs);
    if (response === undefined && this.#process === child) {
      if (this.#priority === PRIORITY_LOW && isStarved()) {
        this.#end();
        this.#priority = PRIORITY_BELOW_NORMAL;
        return this.#encode(request);
      }
      response = await this.#responseOf<EncodeResponse>(child, deadlineMs - starvedMs);
    }
    if (response === undefined) {
      const isBusy = this.#process === child && isStarved();
      this.#end();
      throw this.#isClosed ? shuttingDown() : lateError(isBusy);
    }
    if ('failed' in response) throw diskProblem(response.failed);
    if ('rejected' in response) {
      throw problem('invalid_photo', `The file cannot be decoded: ${response.rejected.replace(/\.?$/, '.')}`);
    }
    return response;
  }

  #start(): ChildProcess {
    const child = fork(new URL('./encode.ts', import.meta.url), [String(this.#priority)], {
      // The process gets none of the server's secrets. Fewer arenas use less memory.
      env: { MALLOC_ARENA_MAX: '2' },
      execArgv: [`--max-old-space-size=${HEAP_MIB}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', () => {});
    child.once('exit', () => {
      if (this.#process === child) this.#process = undefined;
    });
    // The process does not keep the server running.
    child.unref();
    child.channel?.unref();
    this.#process = child;
    this.#encoded = 0;
    this.#ready = this.#responseOf(child, START_MS).then(started => {
      if (started !== undefined) return;
      this.#end();
      throw new Error('The process has ended, or was not ready in time.');
    });
    return child;
  }

  /** Returns the next message of the process; `undefined` if it ends, or sends none within the time limit. */
  #responseOf<Response>(child: ChildProcess, timeoutMs: number): Promise<Response | undefined> {
    const { promise, resolve } = Promise.withResolvers<Response | undefined>();
    const none = () => resolve(undefined);
    const timeout = setTimeout(none, timeoutMs);
    child
      .once('message', resolve as (message: unknown) => void)
      .once('exit', none)
      .once('error', none);
    return promise.finally(() => {
      clearTimeout(timeout);
      child
        .off('message', resolve as (message: unknown) => void)
        .off('exit', none)
        .off('error', none);
    });
  }
}

/**
 * Returns a function that reports whether a process has had less than a share of a processor since this call; always
 * false if the system does not report it.
 */
function starvation({ pid }: ChildProcess, share: number): () => boolean {
  const usedMs = () => {
    try {
      const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))!;
      return (Number(user) + Number(system)) * 10;
    } catch {
      return Number.NaN;
    }
  };
  const startedMs = performance.now();
  const before = usedMs();
  return () => usedMs() - before < share * (performance.now() - startedMs);
}

function shuttingDown(): Error {
  return problem('shutting_down', undefined, { headers: ['Retry-After', '1'] });
}

/** Returns the error of a photo whose process did not respond in time. */
function lateError(isBusy: boolean): Problem {
  if (!isBusy) return problem('invalid_photo', 'The file cannot be decoded: it takes too much time or memory.');
  const message = 'The photo cannot be processed in time at the moment; nothing was changed.';
  return problem('overloaded', message, { headers: ['Retry-After', '30'] });
}
