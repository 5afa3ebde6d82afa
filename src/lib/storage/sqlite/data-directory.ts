import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { flushDirectory } from './flush.ts';

/**
 * Creates a directory and its missing parents, readable by the owner only, and flushes them. Safe to repeat and to run
 * concurrently.
 * @throws {Error} the system's error
 */
export function createDirectory(directory: string): void {
  try {
    // One at a time: Node's `recursive` never returns on file systems that reject every new directory.
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = dirname(directory);
    if (code === 'ENOENT' && above !== directory && !isDirectory(above)) {
      createDirectory(above);
      createDirectory(directory);
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
