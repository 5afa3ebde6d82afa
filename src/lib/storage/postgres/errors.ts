import { StorageError } from '../database.ts';

interface ServerError extends Error {
  readonly code?: string;
  readonly severity?: string;
}

/** Reports whether the server sent this error; otherwise it comes from the driver or the network. */
export function isFromServer(error: unknown): error is ServerError {
  return typeof (error as ServerError).severity === 'string';
}

/** Reports whether the server rejected a statement and the connection is still usable. */
export function isStatementError(error: unknown): boolean {
  // 0A000: a migration changed the result type of a prepared statement, which is prepared anew on another connection.
  // 25006: another connection may reach the new primary after a failover.
  return isFromServer(error) && !/^(08|57P|25P03|25006|XX|0A000)/.test(error.code ?? 'XX');
}

/** Fails on a standby and on a read-only database, like a write; otherwise it has no effect. */
export const REQUIRE_WRITABLE = `do $$ begin
  if current_setting('transaction_read_only') = 'on' then raise sqlstate '25006'; end if;
end $$`;

/** Reports whether the database is a standby or read-only. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof StorageError && (error.cause as ServerError | undefined)?.code === '25006';
}

/** Reports whether a statement waited too long for a lock. */
export function isLockTimeout(error: StorageError): boolean {
  return (error.cause as ServerError | undefined)?.code === '55P03';
}

export function timeoutError(location: string, cause?: unknown): StorageError {
  return databaseError('did not respond in time', location, cause, { isSlow: true });
}

/** A COMMIT was sent, and the connection was lost before its response. */
export class UnknownOutcomeError extends StorageError {
  constructor(cause: unknown) {
    const message = 'The database did not confirm the commit: it is not known whether the change was made.';
    super('unavailable', message, { cause, isSlow: cause instanceof StorageError && cause.isSlow });
  }
}

/** Returns the error of a connection that no server accepted: not even a slow one. */
export function unreachableError(error: unknown, location: string): unknown {
  const translated = translateError(error, location);
  if (!(translated instanceof StorageError && translated.isSlow)) return translated;
  const { message, publicMessage, cause } = translated;
  return new StorageError('unavailable', message, { publicMessage, cause });
}

/** Returns a StorageError for the driver's error, or the error itself if it is about the statement. */
export function translateError(error: unknown, location: string): unknown {
  if (!isFromServer(error)) return networkError(error as NodeJS.ErrnoException, location);
  const code = error.code ?? '';
  if (code === '53100') {
    const publicMessage = 'The disk of the database is full.';
    return new StorageError('full', `The disk of the database at ${location} is full.`, {
      publicMessage,
      cause: error,
    });
  }
  if (code === '57014' || code === '55P03') return timeoutError(location, error);
  const found = SERVER_ERRORS.find(([pattern]) => pattern.test(code));
  if (found === undefined) return error;
  return databaseError(found[1].replace('{code}', code), location, error);
}

const SERVER_ERRORS: readonly (readonly [code: RegExp, problem: string])[] = [
  [/^40001|^40P01/, 'rejected the transaction because of concurrent writes'],
  [/^0A000/, 'was migrated meanwhile'],
  [/^25006/, 'accepts no changes (it is a standby or read-only)'],
  [/^3D000/, 'does not exist'],
  [/^28/, 'rejected the user or the password'],
  [/^53300/, 'has no free connection'],
  // 08 connection, 53 resources, 57P shutdown or startup, 58 system: none of these is about the statement.
  [/^(08|53|57P|58|25P03)/, 'is not available ({code})'],
];

function networkError(error: NodeJS.ErrnoException, location: string): StorageError {
  const { code, syscall, message } = error;
  if (syscall !== undefined && syscall !== 'open') return databaseError(`cannot be reached (${code})`, location, error);
  if (/timeout/.test(message)) return timeoutError(location, error);
  if (/terminated|not queryable/.test(message)) return databaseError('closed the connection', location, error);
  return databaseError(`is not usable: ${message}`, location, error, { publicProblem: 'is not usable' });
}

/** @param options.publicProblem what callers see instead, if the problem may contain a host or a file name */
function databaseError(
  problem: string,
  location: string,
  cause: unknown,
  { publicProblem = problem, isSlow = false }: { readonly publicProblem?: string; readonly isSlow?: boolean } = {},
): StorageError {
  const publicMessage = `The database ${publicProblem}.`;
  return new StorageError('unavailable', `The database at ${location} ${problem}.`, { publicMessage, cause, isSlow });
}
