import { UserError } from '../lib/user-error.ts';

/** Returns the error for a file of a backup that differs from what was written. */
export function changed(directory: string, path: string): UserError {
  return new UserError(`The backup in ${directory} is damaged: ${path} is not what was backed up. Use another backup.`);
}

/** Returns the error for a file of a backup that cannot be read. */
export function missing(directory: string, path: string, error: NodeJS.ErrnoException): UserError {
  return new UserError(`The backup in ${directory} is incomplete: ${path} cannot be read (${error.code}).`);
}
