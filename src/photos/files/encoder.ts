import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { problem } from '../../errors.ts';
import type { Log } from '../../lib/log.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { PhotoType } from '../photo.ts';
import { diskProblem } from './disk-problem.ts';
import type { EncodedPhoto, EncodeRequest, EncodeResponse } from './encode.ts';

/** How long a photo may take. */
const DEADLINE_MS = 20_000;
/** After how long a process that the machine leaves no time is replaced by one with a higher priority. */
const STARVED_MS = 1000;
/** A process that gets less than this share of a processor is starved. */
const PROCESSOR_SHARE = 0.5;
const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;
/** How long the process takes to start at most. */
const START_MS = 20_000;
/** After how long without work the process ends, which frees its memory. */
const IDLE_MS = 10_000;
/** After how many photos the process is replaced: its memory fragments. */
const PHOTOS_PER_PROCESS = 200;
/** The most photos that wait. */
const WAITING_MAX = 64;
/** The size of the heap of the process, in MiB. The pixels are outside of it. */
const HEAP_MIB = 64;

export interface EncoderOptions {
  readonly log: Log;
  readonly deadlineMs?: number;
  readonly starvedMs?: number;
  readonly processorShare?: number;
  readonly idleMs?: number;
  readonly waitingMax?: number;
}

/**
 * Makes the sizes of photos in a process of its own, one photo at a time: decoders use libuv's pool of threads, which
 * flushes the database here, and their memory would stay with the server.
 */
export class PhotoEncoder {
  readonly #log: Log;
  readonly #deadlineMs: number;
  readonly #starvedMs: number;
  readonly #processorShare: number;
  readonly #idleMs: number;
  readonly #waitingMax: number;
  #process: ChildProcess | undefined;
  #priority = PRIORITY_LOW;
  /** Resolves once the process accepts work. */
  #ready: Promise<void> = Promise.resolve();
  #encoded = 0;
  #waiting = 0;
  readonly #turns = createSemaphore({ perKey: 1, total: 1 });
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({
    log,
    deadlineMs = DEADLINE_MS,
    starvedMs = STARVED_MS,
    processorShare = PROCESSOR_SHARE,
    idleMs = IDLE_MS,
    waitingMax = WAITING_MAX,
  }: EncoderOptions) {
    this.#log = log;
    this.#deadlineMs = deadlineMs;
    this.#starvedMs = Math.min(starvedMs, deadlineMs);
    this.#processorShare = processorShare;
    this.#idleMs = idleMs;
    this.#waitingMax = waitingMax;
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
   * @param client the account that the photo is for
   * @throws {Problem} `invalid_photo` if the file cannot be decoded, or not in time; `overloaded` while too many photos wait, or
   *   if the machine is too busy
   */
  async encode(directory: string, type: PhotoType, client: number): Promise<EncodedPhoto> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#waiting >= this.#waitingMax) {
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
      if (--this.#waiting === 0 && !this.#isClosed) this.#idle = setTimeout(() => this.#rest(), this.#idleMs).unref();
    }
  }

  /** Ends the process; what waits is rejected. */
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

  async #encode(request: EncodeRequest): Promise<EncodedPhoto> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#encoded >= PHOTOS_PER_PROCESS) this.#end();
    const child = this.#process ?? this.#start();
    try {
      await this.#ready;
    } catch (error) {
      if (this.#isClosed) throw shuttingDown();
      this.#log.error({ err: error }, 'The process that encodes photos does not start.');
      throw problem('overloaded', 'Photos cannot be processed at the moment; nothing was changed.', {
        headers: ['Retry-After', '30'],
        cause: error,
      });
    }
    this.#encoded++;
    const isStarved = starvation(child, this.#processorShare);
    child.send(request);
    let response = await this.#responseOf<EncodeResponse>(child, this.#starvedMs);
    if (response === undefined && this.#process === child) {
      if (this.#priority === PRIORITY_LOW && isStarved()) {
        this.#end();
        this.#priority = PRIORITY_BELOW_NORMAL;
        return this.#encode(request);
      }
      response = await this.#responseOf<EncodeResponse>(child, this.#deadlineMs - this.#starvedMs);
    }
    if (response === undefined) {
      const isBusy = this.#process === child && isStarved();
      this.#end();
      if (this.#isClosed) throw shuttingDown();
      if (isBusy) {
        const message = 'The photo cannot be processed in time at the moment; nothing was changed.';
        throw problem('overloaded', message, { headers: ['Retry-After', '30'] });
      }
      throw problem('invalid_photo', 'The file cannot be decoded: it takes too much time or memory.');
    }
    if ('failed' in response) throw diskProblem(response.failed);
    if ('rejected' in response) {
      throw problem('invalid_photo', `The file cannot be decoded: ${response.rejected.replace(/\.?$/, '.')}`);
    }
    return response;
  }

  #start(): ChildProcess {
    const child = fork(new URL('./encode.ts', import.meta.url), [String(this.#priority)], {
      // None of the server's secrets. Fewer arenas keep less memory.
      env: { MALLOC_ARENA_MAX: '2' },
      execArgv: [`--max-old-space-size=${HEAP_MIB}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', () => {});
    child.once('exit', () => {
      if (this.#process === child) this.#process = undefined;
    });
    // The process is no reason for the server to go on.
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

  /** Returns the next message of the process; `undefined` if it ends, or sends none in time. */
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
 * Returns a function that reports whether a process has had less than a share of a processor since; never where the system
 * does not say.
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
