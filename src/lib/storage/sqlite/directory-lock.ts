import { join } from 'node:path';
import { UserError } from '../../user-error.ts';
import { holdFile, isBusy, openingError } from './connection.ts';
import { makeDirectory } from './data-directory.ts';

/** That this process alone serves a data directory, until it says so or ends, however it ends. */
export interface DirectoryLock {
  release(): void;
}

/**
 * Makes this process the only one that serves from `directory`, which is made where it is missing.
 *
 * The lock is one that the system takes back from a process that ends, so that none is ever left behind. Commands do
 * not need it.
 * @throws {UserError} when another process serves from it, or the directory cannot be written
 */
export function lockDataDirectory(directory: string): DirectoryLock {
  const file = join(directory, 'serve.lock');
  try {
    makeDirectory(directory);
    return { release: holdFile(file) };
  } catch (error) {
    if (isBusy(error)) throw new UserError(`Another process serves from ${directory} already.`);
    throw openingError(error, file);
  }
}
