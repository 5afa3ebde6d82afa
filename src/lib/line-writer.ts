import { createWriteStream, fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { endsWithin } from './timeout.ts';

/** Writes lines, including their line ends, and never waits for the reader. */
export interface LineWriter {
  write(line: string): void;
  /** How many lines were dropped because too many waited. */
  readonly dropped: number;
}

/** The maximum number of characters that wait for a slow reader. */
const WAITING_MAX = 1024 * 1024;
/** How many characters are written at a time, and how long fewer wait. */
const BATCH = 16 * 1024;
const WRITE_EVERY_MS = 100;
/** How long `close` waits for the reader. */
const CLOSE_MS = 500;

/** Writes lines to a file descriptor, off the event loop. It drops lines while a megabyte waits for the reader. */
export class BoundedLineWriter implements LineWriter {
  readonly #stream: Writable;
  #batch = '';
  #timer: NodeJS.Timeout | undefined;
  dropped = 0;

  constructor(descriptor: number) {
    const stat = fstatSync(descriptor);
    // Writing to a full pipe would otherwise block a thread, even at the end of the process.
    const canBlock = stat.isFIFO() || stat.isSocket();
    this.#stream = canBlock
      ? new Socket({ fd: descriptor, readable: false, writable: true }).unref()
      : createWriteStream('', { fd: descriptor });
    // The reader has closed the pipe; the server continues without it.
    this.#stream.on('error', () => {});
  }

  write(line: string): void {
    if (this.#stream.writableLength + this.#batch.length + line.length > WAITING_MAX) {
      this.dropped++;
      return;
    }
    this.#batch += line;
    if (this.#batch.length >= BATCH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WRITE_EVERY_MS).unref();
  }

  /** Writes the waiting lines, if the reader accepts them soon. */
  async close(): Promise<void> {
    this.#flush();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream.end(resolve);
    await endsWithin(promise, CLOSE_MS);
    this.#stream.destroy();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batch !== '') this.#stream.write(this.#batch);
    this.#batch = '';
  }
}
