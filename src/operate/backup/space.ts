import { statfsSync } from 'node:fs';
import { UserError } from '../../lib/user-error.ts';
import { MEBIBYTE } from '../../model/plan.ts';

/** The space that a backup leaves free on its disk, which may also contain the database or a log. */
const RESERVE_BYTES = 128 * MEBIBYTE;
const WATCH_MS = 250;

/** Throws a UserError if the disk of a directory lacks the space for `bytes` more of `what`, plus the reserve. */
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

/** Watches the disk of a directory during a write: the signal aborts when only the reserve is left. */
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
