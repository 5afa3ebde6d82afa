import { STATUS_CODES } from './node-http.ts';

/** An invalid field of a request: its JSON Pointer in the body or its parameter name, a code, and a sentence. */
export interface FieldError {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** The maximum number of invalid fields in an error response. */
export const FIELD_ERRORS_MAX = 50;

/** The documentation of an error code. */
export interface ErrorEntry {
  readonly status: number;
  /** The default message of responses. */
  readonly message: string;
  /** The cause, in a sentence or two. */
  readonly meaning: string;
  /** The action that the caller can take. */
  readonly remedy: string;
}

/** The error codes that the HTTP server itself uses. */
export type ServerErrorCode =
  | 'malformed_request'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'invalid_content_type'
  | 'overloaded'
  | 'shutting_down';

/** An error response. Handlers throw it, and the server converts it to a response. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  /** The invalid fields, if single fields are invalid. */
  readonly errors: readonly FieldError[] | undefined;
  /** Additional headers: names and values in turn. */
  readonly headers: readonly string[];

  constructor(
    code: string,
    status: number,
    message: string,
    options: { errors?: readonly FieldError[]; headers?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'Problem';
    this.code = code;
    this.status = status;
    this.errors = options.errors;
    this.headers = options.headers ?? [];
  }
}

/**
 * Returns the `invalid_parameter` error for one query parameter or header.
 * @param code `invalid_combination` for a valid value that contradicts other parameters; `unknown_value` for a value
 *   that does not exist
 */
export function invalidParameter(
  name: string,
  message: string,
  code: 'invalid_value' | 'invalid_combination' | 'unknown_value' = 'invalid_value',
): Problem {
  return new Problem('invalid_parameter', 400, `Invalid parameters. ${name}: ${message}`, {
    errors: [{ path: name, code, message }],
  });
}

type ErrorMembers = Pick<Problem, 'code' | 'message' | 'status' | 'errors'>;

/** Returns the Error object of the contract: `code`, `message`, `status`, and `errors` if single fields are invalid. */
export function errorBody({ code, message, status, errors }: ErrorMembers): Record<string, unknown> {
  return errors === undefined ? { code, message, status } : { code, message, status, errors };
}

/**
 * Returns the same object for `application/problem+json`, with the members of RFC 9457 and the request's id.
 * @param pagesUrl the base URL of the pages on error codes
 */
export function problemBody(problem: ErrorMembers, pagesUrl: string, requestId: string): Record<string, unknown> {
  const type = `${pagesUrl}/errors/${problem.code}`;
  const title = STATUS_CODES[problem.status] ?? 'Error';
  return { type, title, detail: problem.message, ...errorBody(problem), requestId };
}
