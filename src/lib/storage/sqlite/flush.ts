import {
  accessSync,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { durationBounds, Histogram } from '../../histogram.ts';

const NO_BYTES = new Uint8Array();

/** Flushes the WAL of a SQLite file through its own descriptor, off the event loop. */
export class WalFlush {
  readonly #file: string;
  readonly #descriptor: number;
  readonly #inode: number;
  /** The size of the WAL when it was last measured. */
  bytes: number;
  /** When the running flush started, on the scale of `performance.now()`. */
  startedMs: number | undefined;
  /** The durations of flushes, in seconds. */
  readonly durations = new Histogram(durationBounds);

  /** @param file the database. A connection to it must stay open, so that its WAL is not deleted */
  constructor(file: string) {
    this.#file = `${file}-wal`;
    this.#descriptor = openSync(this.#file, 'r+');
    const { ino, size } = fstatSync(this.#descriptor);
    this.#inode = ino;
    this.bytes = size;
  }

  /**
   * Flushes everything written before this call. Only one flush may run at a time. An error is final: the writes may be
   * lost.
   */
  start(onFlushed: (error: Error | undefined) => void): void {
    const startedMs = performance.now();
    this.startedMs = startedMs;
    fdatasync(this.#descriptor, error => {
      this.durations.observe((performance.now() - startedMs) / 1000);
      this.startedMs = undefined;
      onFlushed(error ?? this.measure());
    });
  }

  /** Flushes the WAL and its metadata synchronously, for starting and stopping. */
  flushSync(): void {
    fsyncSync(this.#descriptor);
    const error = this.measure();
    if (error !== undefined) throw error;
  }

  /**
   * Measures the WAL. Returns an error if another file has replaced it, because flushes then went to the deleted file.
   */
  measure(): Error | undefined {
    try {
      const { ino, size } = statSync(this.#file);
      this.bytes = size;
      if (ino === this.#inode) return undefined;
      return new Error(`Another program has deleted and recreated the file ${this.#file}.`);
    } catch (error) {
      return error as Error;
    }
  }

  /** Reports whether the file system is read-only or the file is immutable. Changes nothing on the disk. */
  isReadOnly(): boolean {
    try {
      // A write of no bytes reports these errors too: since Linux 6.15 also if ext4 forbids writes after an error.
      writeSync(this.#descriptor, NO_BYTES, 0, 0, 0);
      // On older kernels, only access by path fails on a file system that was remounted read-only.
      accessSync(this.#file, constants.W_OK);
      return false;
    } catch (error) {
      // Permissions do not matter: the file is open.
      return /^E(ROFS|PERM)$/.test(String((error as { code?: unknown }).code));
    }
  }

  /** Closes the descriptor. No flush may be running. */
  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Flushes the entries of a directory. */
export function flushDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
