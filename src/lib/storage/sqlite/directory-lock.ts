import { join } from 'node:path';
import { UserError } from '../../user-error.ts';
import { lockFile } from './connection.ts';
import { createDirectory } from './data-directory.ts';
import { isBusy, openingError } from './errors.ts';

/** The exclusive right to serve a data directory, held until `release` or the end of the process. */
export interface DirectoryLock {
  release(): void;
}

/**
 * Makes this process the only one that serves `directory`, and creates the directory if necessary.
 *
 * The operating system releases the lock of a process that ends, so no stale lock remains. Commands do not need it.
 * @throws {UserError} if another process serves it, or it is not writable
 */
export function lockDataDirectory(directory: string): DirectoryLock {
  const file = join(directory, 'serve.lock');
  try {
    createDirectory(directory);
    return { release: lockFile(file) };
  } catch (error) {
    if (isBusy(error)) throw new UserError(`Another process already serves ${directory}.`);
    throw openingError(error, file);
  }
}
