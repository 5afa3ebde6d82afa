import { closeSync, fdatasync, fstatSync, fsyncSync, openSync, statSync } from 'node:fs';

/** Brings the WAL of a SQLite file to disk, off the event loop, through a descriptor of its own. */
export class WalFlush {
  readonly #file: string;
  readonly #descriptor: number;
  readonly #inode: number;
  #bytes: number;
  #beganMs: number | undefined;

  /** @param file the database; a connection to it must be open as long as this, so that its WAL stays where it is */
  constructor(file: string) {
    this.#file = `${file}-wal`;
    this.#descriptor = openSync(this.#file, 'r+');
    const { ino, size } = fstatSync(this.#descriptor);
    this.#inode = ino;
    this.#bytes = size;
  }

  /** When the flush began that is under way, in milliseconds of `performance.now()`. */
  get beganMs(): number | undefined {
    return this.#beganMs;
  }

  /** The length of the WAL when it was last looked at. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Flushes what was written before this call; one at a time. An error is final: what was written may be lost. */
  begin(ended: (error: Error | undefined) => void): void {
    this.#beganMs = performance.now();
    fdatasync(this.#descriptor, error => {
      this.#beganMs = undefined;
      ended(error ?? this.measure());
    });
  }

  /** Flushes while the thread waits, its directory entry included: for starting and stopping. */
  now(): void {
    fsyncSync(this.#descriptor);
    const error = this.measure();
    if (error !== undefined) throw error;
  }

  /** Measures the WAL; an error when the file at its path is another one, so that a ghost was flushed. */
  measure(): Error | undefined {
    try {
      const { ino, size } = statSync(this.#file);
      this.#bytes = size;
      if (ino === this.#inode) return undefined;
      return new Error(`The file ${this.#file} was deleted and made anew by another program.`);
    } catch (error) {
      return error as Error;
    }
  }

  /** Lets go of the file. Nothing may be under way. */
  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Brings the entries of a directory to disk. */
export function flushDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
