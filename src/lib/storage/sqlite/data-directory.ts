import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../log.ts';
import { UserError } from '../../user-error.ts';
import { flushDirectory } from './flush.ts';

/**
 * Creates a directory and its missing parents, readable by the owner only, and flushes them. Safe to repeat and to run
 * concurrently.
 * @throws {Error} the system's error
 */
export function createDirectory(directory: string): void {
  try {
    // Creates one at a time: Node's `recursive` never returns on file systems that reject every new directory.
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

/**
 * Creates an empty file that only its owner may read and write, unless the file exists. SQLite gives the `-wal` and
 * `-shm` files of a database the same mode.
 * @throws {Error} the system's error
 */
export function createPrivateFile(file: string): void {
  try {
    // Never opens an existing file: closing it would release SQLite's locks on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Returns the names of a database file and of the files that SQLite puts beside it. */
export function databaseFiles(file: string): string[] {
  return ['', '-wal', '-shm'].map(suffix => file + suffix);
}

/** The suffix of a database file until its restore is complete. */
export const RESTORING = '.restoring';

/** Throws a UserError if an interrupted restore has left an incomplete database file. */
export function requireRestored(file: string): void {
  if (!existsSync(file + RESTORING)) return;
  throw new UserError(`A restore of ${file} was interrupted: run "petstore restore" again.`);
}

/** Logs a warning if other users may access the directory or a file in it. Changes nothing. */
export function warnOfSharedAccess(directory: string, log: Log): void {
  if (!isDirectory(directory)) return;
  const paths = [directory, ...readdirSync(directory).map(name => join(directory, name))];
  const shared = paths.filter(path => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  if (shared.length === 0) return;
  log.warn({ paths: shared }, 'Other users may access the data directory. Run `chmod -R go=` on it.');
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
