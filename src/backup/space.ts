import { statfsSync } from 'node:fs';
import { UserError } from '../lib/user-error.ts';
import { MEBIBYTE } from '../plans/plan.ts';

/** What a backup leaves free on its disk, where the database or a log may be too. */
const RESERVE_BYTES = 128 * MEBIBYTE;
const WATCH_MS = 250;

/** Throws a UserError if the disk of a directory has no space for `bytes` more, of `what`, and the reserve. */
export function requireSpace(directory: string, bytes: number, what = 'a backup'): void {
  const { bavail, bsize } = statfsSync(directory);
  const needed = bytes + RESERVE_BYTES;
  const free = bavail * bsize;
  if (free >= needed) return;
  const mebibytes = (size: number) => `${Math.floor(size / MEBIBYTE)} MiB`;
  throw new UserError(
    `The disk of ${directory} is full: ${mebibytes(free)} are free, and ${what} needs ${mebibytes(needed)}.`,
  );
}

/** Watches the disk of a directory while something writes to it: the signal aborts when only the reserve is left. */
export function watchSpace(directory: string): Disposable & { readonly signal: AbortSignal } {
  const full = new AbortController();
  const timer = setInterval(() => {
    try {
      requireSpace(directory, 0);
    } catch (error) {
      full.abort(error);
    }
  }, WATCH_MS);
  return { signal: full.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
