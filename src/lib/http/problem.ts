/** One wrong field of a request: where (a JSON Pointer into the body, or a parameter's name), a code, a sentence. */
export interface FieldError {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** What is fixed about an error code. */
export interface ErrorEntry {
  /** The HTTP status that follows from the code. */
  readonly status: number;
  /** What the caller is told where nothing more exact is known. */
  readonly message: string;
  /** For the documentation: when it happens, in a sentence or two. */
  readonly meaning: string;
  /** For the documentation: what the caller does about it. */
  readonly remedy: string;
}

/** A catalogue of error codes; these are the ones that the HTTP layer itself answers with. */
export type Catalogue = Readonly<
  Record<
    | 'malformed_request'
    | 'route_not_found'
    | 'method_not_allowed'
    | 'request_timeout'
    | 'body_too_large'
    | 'expectation_failed'
    | 'headers_too_large'
    | 'invalid_content_type'
    | 'invalid_json'
    | 'invalid_body'
    | 'invalid_parameter'
    | 'precondition_failed'
    | 'precondition_required'
    | 'internal_error'
    | 'shutting_down',
    ErrorEntry
  >
> &
  Readonly<Record<string, ErrorEntry>>;

/** An answer that is not a success: thrown anywhere below a route, turned into a response in one place. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  /** The single fields that are wrong, where there are some. */
  readonly errors: readonly FieldError[] | undefined;
  /** Headers of its own, as name and value in turn. */
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

/** The Error object of the contract: `code`, `message`, `status`, and `errors` where single fields are wrong. */
export function errorBody(problem: Pick<Problem, 'code' | 'message' | 'status' | 'errors'>): Record<string, unknown> {
  const { code, message, status, errors } = problem;
  return errors === undefined ? { code, message, status } : { code, message, status, errors };
}

/**
 * The same object for callers who ask for `application/problem+json`, with the members of RFC 9457 and the request's id.
 * @param type where the code is documented
 */
export function problemBody(
  problem: Pick<Problem, 'code' | 'message' | 'status' | 'errors'>,
  type: string,
  title: string,
  requestId: string,
): Record<string, unknown> {
  return { type, title, detail: problem.message, ...errorBody(problem), requestId };
}
