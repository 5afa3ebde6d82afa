import { UserError } from '../../user-error.ts';
import { StorageError } from '../database.ts';

/** Returns SQLite's name of an error, such as `SQLITE_BUSY`, or '' for other errors. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

/** Reports whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

/** Reports whether the disk rejected a write. SQLite has then rolled the transaction back. */
export function isDiskFull(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR_(WRITE|SHMSIZE|SHMOPEN|SHMMAP|TRUNCATE))$/.test(codeOf(error));
}

/** Reports whether a flush failed, after which any unflushed write may be lost. */
export function isFailedFlush(error: unknown): boolean {
  return /^SQLITE_IOERR_(DIR_)?FSYNC$/.test(codeOf(error));
}

/** Reports whether file permissions or the file system forbid writing. */
export function isNotPermitted(error: unknown): boolean {
  return NOT_PERMITTED.test(codeOf(error) || String((error as { code?: unknown } | null)?.code));
}

const NOT_PERMITTED = /^SQLITE_(CANTOPEN|READONLY|PERM)|^E(ACCES|PERM|ROFS)$/;

export function diskFullError(cause?: unknown): StorageError {
  return new StorageError('full', 'The disk is full; nothing was changed.', { cause });
}

export function readOnlyError(cause?: unknown): StorageError {
  return new StorageError('unavailable', 'The disk is read-only; nothing was changed.', { cause });
}

export function busyError(): StorageError {
  return new StorageError('unavailable', 'Another process holds the write lock of the database; nothing was changed.');
}

/** Returns a sentence for the operator if `error` explains why `file` cannot be opened; otherwise returns `error`. */
export function openingError(error: unknown, file: string): unknown {
  const code = codeOf(error) || String((error as { code?: unknown } | null)?.code);
  const found = OPENING_ERRORS.find(([pattern]) => pattern.test(code));
  if (found === undefined) return isDiskFull(error) ? openingError({ code: 'ENOSPC' }, file) : error;
  const sentence = found[1].replace('{file}', () => file);
  return new UserError(sentence, { cause: error });
}

const OPENING_ERRORS: readonly (readonly [code: RegExp, sentence: string])[] = [
  [/^SQLITE_NOTADB/, 'The file {file} is not a database of this program.'],
  [/^SQLITE_CORRUPT/, 'The database {file} is damaged: replace it with a backup, and delete its -wal and -shm files.'],
  [NOT_PERMITTED, 'The database {file} cannot be opened for reading and writing: check its permissions.'],
  [/^ENOENT$/, 'The database {file} cannot be created: its directory cannot be created.'],
  [/^E(NOTDIR|EXIST)$/, 'The database {file} cannot be created: its directory is not a directory.'],
  [/^(ENOSPC|EDQUOT)$/, 'The database {file} cannot be opened: the disk is full.'],
  [/^SQLITE_BUSY/, 'The database {file} is locked by another process: stop that process, or try again later.'],
];
