import { type Catalogue, type ErrorEntry, type FieldError, Problem } from './lib/http/problem.ts';
import { StorageError } from './lib/storage/database.ts';

/**
 * Every error code of the product on one page: its status follows from it, its documentation is made from it.
 * A code is never renamed and never given another status.
 */
export const errors = {
  // 400: the request itself
  malformed_request: {
    status: 400,
    message: 'The request is not well-formed HTTP.',
    meaning:
      'The request line, a header or the URL cannot be read: broken percent-encoding, a missing Host, bad framing.',
    remedy: 'Send well-formed HTTP/1.1; percent-encode what you put into the URL.',
  },
  invalid_parameter: {
    status: 400,
    message: 'A parameter of the request has an invalid value.',
    meaning:
      'A query parameter or header is outside of its bounds, given twice, or not of its type; nothing is clamped. Or a cursor is not one of ours: it is opaque, and good only with the filters and the sort of the page that it came from.',
    remedy:
      'Correct the parameters listed in `errors`; each entry says what would be right. Follow the `next` link as it is, or start from the first page without a cursor.',
  },
  invalid_content_type: {
    status: 400,
    message: 'The body must be application/json.',
    meaning: 'The request has a body in another content type, or none is named.',
    remedy: 'Send `Content-Type: application/json`.',
  },
  invalid_json: {
    status: 400,
    message: 'The body is not valid JSON.',
    meaning: 'The body is empty, is not UTF-8, begins with a byte order mark, or is not JSON as RFC 8259 has it.',
    remedy: 'Send one JSON value in UTF-8 without a byte order mark.',
  },
  invalid_body: {
    status: 400,
    message: 'The body is missing required fields or contains invalid values.',
    meaning: 'The body is JSON but not what this operation takes. Types are never coerced.',
    remedy: 'Correct the fields listed in `errors`; each entry says what would be right.',
  },
  category_not_found: {
    status: 400,
    message: 'There is no category with this id.',
    meaning: 'The store takes only categories that exist (`PETSTORE_CATEGORIES=strict`), and this one does not.',
    remedy: 'Use the id of a category that exists.',
  },

  // 401: who are you?
  missing_api_key: {
    status: 401,
    message: 'An API key is required: send "Authorization: Bearer <API_KEY>".',
    meaning: 'The request has no Authorization header, or one of another scheme.',
    remedy: 'Create an account and a key, and send the key as a bearer token.',
  },
  malformed_api_key: {
    status: 401,
    message: 'The API key is not well-formed; it may have been cut or mistyped.',
    meaning: 'What was sent does not have the form of a key, or its checksum does not fit.',
    remedy: 'Copy the whole key again, from `petstore_` to its end.',
  },
  invalid_api_key: {
    status: 401,
    message: 'There is no such API key.',
    meaning: 'The key has the right form but is not one of this service.',
    remedy: 'Use a key that this service issued.',
  },
  expired_api_key: {
    status: 401,
    message: 'The API key has expired.',
    meaning: 'The key was valid until its expiry.',
    remedy: 'Create a new key, or rotate keys before they expire.',
  },
  revoked_api_key: {
    status: 401,
    message: 'The API key has been revoked.',
    meaning: 'Somebody revoked the key; it will not come back.',
    remedy: 'Create a new key.',
  },
  wrong_deployment: {
    status: 401,
    message: 'The API key belongs to the other deployment.',
    meaning: 'Production and staging have keys of their own; the message names the address that takes this one.',
    remedy: 'Call the address that the message names, or use a key of this deployment.',
  },

  // 403, 404, 405, 408, 410, 413, 417
  insufficient_scope: {
    status: 403,
    message: 'The API key lacks the scope that this operation needs.',
    meaning: 'The key was created with some scopes only; the message names the one that is missing.',
    remedy: 'Use a key that has the scope.',
  },
  pet_not_found: {
    status: 404,
    message: 'There is no animal with this id.',
    meaning: 'No animal has this id, or the id is not a plain decimal integer.',
    remedy: 'List the animals, and use an id from there.',
  },
  route_not_found: {
    status: 404,
    message: 'There is nothing at this path.',
    meaning: 'The path is not one of the interface.',
    remedy: 'See /openapi.json for every path there is.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not take this method.',
    meaning: 'The path exists, with other methods; `Allow` lists them.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive in time.',
    meaning: 'Headers must arrive within 15 seconds, the whole request within 30.',
    remedy: 'Send the request again, faster.',
  },
  operation_removed: {
    status: 410,
    message: 'This operation was removed.',
    meaning: 'The operation was deprecated and its day has come.',
    remedy: 'Use the successor that the `Link` header names.',
  },
  body_too_large: {
    status: 413,
    message: 'The body is larger than 1 MiB.',
    meaning: 'No operation takes a body of more than 1,048,576 bytes.',
    remedy: 'Send less at a time.',
  },
  expectation_failed: {
    status: 417,
    message: 'The only expectation that can be met is 100-continue.',
    meaning: 'The `Expect` header names something else.',
    remedy: 'Leave the `Expect` header out.',
  },

  // 429, 431
  rate_limit_exceeded: {
    status: 429,
    message: 'Rate limit exceeded; wait for the time in Retry-After.',
    meaning: 'The plan’s requests of this minute or this day are used up.',
    remedy: 'Wait for `Retry-After` seconds; back off exponentially when it happens again.',
  },
  api_key_banned: {
    status: 429,
    message: 'The API key is banned for a while because it kept sending after being refused.',
    meaning: 'Twenty requests within a minute came before the `Retry-After` of a refusal had passed.',
    remedy: 'Stop for `Retry-After` seconds. The next ban is longer; a clean day takes one step back.',
  },
  headers_too_large: {
    status: 431,
    message: 'The header block or the URL is larger than 16 KiB.',
    meaning: 'The request line and headers together are limited to 16,384 bytes.',
    remedy: 'Send fewer or shorter headers, or a shorter URL.',
  },

  // 5xx: ours
  internal_error: {
    status: 500,
    message: 'Something went wrong on our side.',
    meaning: 'A fault of the service. The cause is in its log under the request’s id.',
    remedy: 'Try again later; report the value of `X-Request-Id` when it persists.',
  },
  storage_full: {
    status: 503,
    message: 'The disk is full; nothing was changed.',
    meaning: 'Reads go on. Writes work again within seconds once there is space.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
  storage_unavailable: {
    status: 503,
    message: 'The storage cannot be reached or does not answer in time.',
    meaning:
      'The database is away, locked or stalled. A write that was refused with this may or may not have happened.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
  shutting_down: {
    status: 503,
    message: 'The service is stopping.',
    meaning: 'This process finishes what it has begun and takes nothing new.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
} as const satisfies Catalogue & Record<string, ErrorEntry>;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof errors;

/**
 * The problem to throw for a code, with the catalogue's message where none is given.
 * @param options.headers names and values in turn, added to the answer
 */
export function problem(
  code: ErrorCode,
  message: string = errors[code].message,
  options: { errors?: readonly FieldError[]; headers?: readonly string[]; cause?: unknown } = {},
): Problem {
  return new Problem(code, errors[code].status, message, options);
}

/**
 * What an error is told as: a problem as it is, storage's refusals by their codes, and everything else as
 * `internal_error`, whose cause is not the caller's to know.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StorageError) {
    const code =
      error.reason === 'full' ? 'storage_full' : error.reason === 'closed' ? 'shutting_down' : 'storage_unavailable';
    return problem(code, error.message, {
      headers: ['Retry-After', code === 'storage_full' ? '5' : '1'],
      cause: error,
    });
  }
  return problem('internal_error', undefined, { cause: error });
}
