import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { flushDirectory } from './flush.ts';

/**
 * Makes a directory, for its owner alone, and those above it, where they are missing; what it makes is on disk when it
 * returns. Safe to repeat, and by several processes at once.
 * @throws {Error} the system's error where that cannot be
 */
export function makeDirectory(directory: string): void {
  try {
    // One by one: on file systems that never take a new directory, Node's own `recursive` tries for ever.
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = dirname(directory);
    if (code === 'ENOENT' && above !== directory && !isDirectory(above)) {
      makeDirectory(above);
      makeDirectory(directory);
      return;
    }
    if (isDirectory(directory)) return;
    throw error;
  }
  flushDirectory(dirname(directory));
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
