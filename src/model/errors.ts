import { type FieldError, Problem } from '../lib/http/problem.ts';
import { StorageError } from '../lib/storage/database.ts';
import { type ErrorCode, errors } from './error-codes.ts';

export { type ErrorCode, errors };

/**
 * Creates the error to throw for a code, by default with the message of the code.
 * @param options.headers names and values in turn, added to the response
 */
export function problem(
  code: ErrorCode,
  message: string = errors[code].message,
  options: { errors?: readonly FieldError[]; headers?: readonly string[]; cause?: unknown } = {},
): Problem {
  return new Problem(code, errors[code].status, message, options);
}

/**
 * Creates the error for a member of a body that its schema cannot check.
 * @param path a JSON pointer to the member; '' is the body itself
 */
export function invalidBody(path: string, code: string, message: string): Problem {
  const errors = [{ path, code, message }];
  return problem('invalid_body', `Invalid body. ${path === '' ? '' : `${path}: `}${message}`, { errors });
}

/** Rejects a body that does not have exactly one of two members; see `eitherRule`. */
export function requireEither(body: Readonly<Record<string, unknown>>, one: string, other: string): void {
  if (body[one] === undefined && body[other] === undefined) {
    throw invalidBody(`/${one}`, 'required', `${one} or ${other} is required.`);
  }
  if (body[one] !== undefined && body[other] !== undefined) {
    throw invalidBody(`/${other}`, 'invalid_combination', `Cannot be combined with ${one}.`);
  }
}

/** Creates the error for members of a body that would be invalid after a merge patch; see `valuesFor`. */
export function invalidMembers(errors: readonly FieldError[]): Problem {
  const message = `Invalid body. ${errors.map(one => `${one.path}: ${one.message}`).join(' ')}`;
  return problem('invalid_body', message, { errors });
}

/**
 * Converts any error to the problem that the caller sees: problems are unchanged, storage errors get their codes, and
 * all other errors become `internal_error`, which hides their cause.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof StorageError)) return problem('internal_error', undefined, { cause: error });
  const code = storageCodes[error.reason];
  const retryAfter = code === 'storage_full' ? '5' : '1';
  return problem(code, error.publicMessage, { headers: ['Retry-After', retryAfter], cause: error });
}

const storageCodes = {
  full: 'storage_full',
  closed: 'shutting_down',
  unavailable: 'storage_unavailable',
  failed: 'storage_unavailable',
} as const satisfies Record<StorageError['reason'], ErrorCode>;
