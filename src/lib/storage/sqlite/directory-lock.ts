import { join } from 'node:path';
import { UserError } from '../../user-error.ts';
import { lockFile } from './connection.ts';
import { createDirectory, createPrivateFile } from './data-directory.ts';
import { isBusy, isNotPermitted, openingError } from './errors.ts';

/**
 * Makes this process the only server of `directory`, until `release` or the end of the process, when the operating
 * system releases the lock. Creates the directory if necessary. Commands do not need the lock.
 * @throws {UserError} if another process serves it, or it is not writable
 */
export function lockDataDirectory(directory: string): { release(): void } {
  const file = join(directory, 'serve.lock');
  try {
    createDirectory(directory);
    createPrivateFile(file);
    return { release: lockFile(file) };
  } catch (error) {
    if (isBusy(error)) throw new UserError(`Another process already serves ${directory}. Stop it first.`);
    if (isNotPermitted(error)) {
      const message = `The data directory ${directory} is not writable. Give this user write permission to it and its files, or set PETSTORE_DATA_DIR to another directory.`;
      throw new UserError(message, { cause: error });
    }
    throw openingError(error, file);
  }
}
