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
    remedy: 'Send `Content-Type: application/json`; for `PATCH` also `application/merge-patch+json`.',
  },
  invalid_json: {
    status: 400,
    message: 'The body is not valid JSON.',
    meaning:
      'The body is empty, is not UTF-8, begins with a byte order mark, or is not JSON as RFC 8259 has it. Or it is larger than 64 KiB and holds more than anything that is taken: 20,000 values, 10,000 levels.',
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
    meaning:
      'A category stands below one that exists, and is merged into one that exists; an animal has one that exists where the store takes no others (`PETSTORE_CATEGORIES=strict`).',
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

  // 403, 404, 405, 408
  insufficient_scope: {
    status: 403,
    message: 'The API key lacks the scope that this operation needs.',
    meaning: 'The key was created with some scopes only; the message names the one that is missing.',
    remedy: 'Use a key that has the scope.',
  },
  not_owner: {
    status: 403,
    message: 'This belongs to another account; only that account or an admin may do this.',
    meaning: 'A thing is changed by the account that it belongs to, or by an admin. Everybody may read the catalogue.',
    remedy: 'Use a key of the account that it belongs to.',
  },
  pet_not_found: {
    status: 404,
    message: 'There is no animal with this id.',
    meaning: 'No animal has this id, or the id is not a plain decimal integer.',
    remedy: 'List the animals, and use an id from there.',
  },
  no_such_category: {
    status: 404,
    message: 'There is no category with this id.',
    meaning:
      'No category has the id in the path, or it is not a plain decimal integer. It may have been merged into another.',
    remedy: 'List the categories, and use an id from there.',
  },
  hold_not_found: {
    status: 404,
    message: 'There is no hold with this id.',
    meaning: 'No hold has this id, or it is neither a hold of the key’s account nor one on an animal of that account.',
    remedy: 'List the holds, and use an id from there.',
  },
  order_not_found: {
    status: 404,
    message: 'There is no order with this id.',
    meaning:
      'No order has this id, or the key’s account neither placed it nor owns its animal. To anyone else it does not exist.',
    remedy: 'List the orders, and use an id from there.',
  },
  message_not_found: {
    status: 404,
    message: 'There is no message with this id.',
    meaning:
      'No message has this id, or the key’s account neither sent it nor got it. What was sent to the store itself is seen by admins.',
    remedy: 'List the messages, and use an id from there.',
  },
  event_not_found: {
    status: 404,
    message: 'There is no event with this id.',
    meaning:
      'No event has this id, the owner of the webhook may not see it, or it is older than events are told (`PETSTORE_EVENTS_DAYS`).',
    remedy: 'List the events, and use an id from there.',
  },
  webhook_not_found: {
    status: 404,
    message: 'There is no webhook with this id.',
    meaning: 'No webhook has this id, or it belongs to another account. To anyone else it does not exist.',
    remedy: 'List the webhooks, and use an id from there.',
  },
  delivery_not_found: {
    status: 404,
    message: 'There is no delivery with this id.',
    meaning:
      'No delivery to this webhook has this id. What was done with is kept for as long as events are told (`PETSTORE_EVENTS_DAYS`).',
    remedy: 'List the deliveries to the webhook, and use an id from there.',
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

  // 409: not as things stand
  pet_reserved: {
    status: 409,
    message: 'The animal is on hold or ordered.',
    meaning:
      'Another hold or order is in force on the animal; only that one moves its status. The message says until when, where that is known, and `Retry-After` in how many seconds that is.',
    remedy: 'Choose another animal, or try again at that time.',
  },
  invalid_status_transition: {
    status: 409,
    message: 'The animal’s status does not allow this.',
    meaning: 'Only an available animal can be held or ordered; this one is sold, or its owner has set it aside.',
    remedy: 'Read the animal’s status, and choose another animal.',
  },
  category_in_use: {
    status: 409,
    message: 'The category has animals or categories in it.',
    meaning: 'A category is deleted when nothing is in it.',
    remedy: 'Merge it into another category, which takes over all that is in it.',
  },
  category_slug_taken: {
    status: 409,
    message: 'Another category has this slug.',
    meaning: 'A slug names one category; where none is given it is made from the name.',
    remedy: 'Give another slug.',
  },
  category_cycle: {
    status: 409,
    message: 'A category cannot stand below itself.',
    meaning: 'The new parent is the category itself or stands below it; or the target of a merger does.',
    remedy: 'Choose a parent that is not below the category.',
  },
  hold_ended: {
    status: 409,
    message: 'The hold has ended.',
    meaning: 'The hold was released, used up by orders, or has expired, or it never had this animal.',
    remedy: 'Place a new hold, while the animals are available.',
  },
  hold_limit_exceeded: {
    status: 409,
    message: 'The account holds as many animals as it may.',
    meaning:
      'The animals in all active holds of an account are limited (`PETSTORE_HELD_MAX`), so that nobody hoards them.',
    remedy: 'Release holds that are not needed, or wait for one to expire.',
  },
  stream_limit_exceeded: {
    status: 409,
    message: 'The account has as many streams open as it may.',
    meaning: 'The event streams that an account has open at the same time are limited (`PETSTORE_STREAMS_MAX`).',
    remedy: 'Close one of them. One stream tells all types of events: share it.',
  },
  webhook_limit_exceeded: {
    status: 409,
    message: 'The account has as many webhooks as it may have.',
    meaning: 'The webhooks of an account are limited (`PETSTORE_WEBHOOKS_MAX`).',
    remedy: 'Delete one that is not needed. One webhook can get all types of events.',
  },
  webhook_test_failed: {
    status: 409,
    message: 'The receiver did not take the test.',
    meaning:
      'A webhook is activated once its receiver has answered a test delivery with a status from 200 to 299; the message says what happened instead. Or the webhook was changed while it was tested.',
    remedy:
      'Mend the receiver, and activate the webhook again. The test stands among the deliveries, with what was answered.',
  },
  webhook_test_running: {
    status: 409,
    message: 'The webhook is being tested.',
    meaning: 'A test of the same webhook is under way, for an activation or by itself.',
    remedy: 'Wait for its end: half a minute at most.',
  },
  webhook_not_active: {
    status: 409,
    message: 'The webhook is not active.',
    meaning: 'Events are delivered again to an active webhook alone.',
    remedy: 'Activate the webhook first.',
  },
  webhook_secret_limit_exceeded: {
    status: 409,
    message: 'The webhook has as many secrets as it may have.',
    meaning:
      'Deliveries are signed with five secrets at most: the newest, and those before it that have not ended yet.',
    remedy: 'Wait until the first of them ends, or rotate with `overlapSeconds` 0, which ends them all at once.',
  },
  redelivery_running: {
    status: 409,
    message: 'Events are being delivered to the webhook again already.',
    meaning: 'A webhook has one redelivery of everything since a time at once.',
    remedy: 'Wait until it is worked off, or ask for single events.',
  },
  invalid_order_transition: {
    status: 409,
    message: 'The order is not in a state that allows this step.',
    meaning:
      'An order goes from placed to approved to delivered to returned, and may be cancelled before it is delivered. A placed order that nobody approves in time expires.',
    remedy: 'Read the order’s status, and take a step that follows it.',
  },
  idempotency_key_in_use: {
    status: 409,
    message: 'The request with this Idempotency-Key is still being worked on.',
    meaning: 'A request with the same key came before and has no answer yet.',
    remedy: 'Wait a moment and send the request again.',
  },

  // 410, 412, 413, 417, 422, 428
  operation_removed: {
    status: 410,
    message: 'This operation was removed.',
    meaning: 'The operation was deprecated and its day has come.',
    remedy: 'Use the successor that the `Link` header names.',
  },
  sync_token_expired: {
    status: 410,
    message: 'The sync token is older than 30 days.',
    meaning: 'A token from `X-Sync-Token` is good for 30 days.',
    remedy: 'List everything anew, with `updatedSince` at a time before the first animal, and go on from its token.',
  },
  events_expired: {
    status: 410,
    message: 'Events that old are no longer told.',
    meaning:
      'Events are told for 30 days (`PETSTORE_EVENTS_DAYS`), and the place to go on from lies before that; or the operator has restored an older backup.',
    remedy:
      'Read the state anew, from the lists, and go on from there: without `after` the events begin with the oldest that is told.',
  },
  precondition_failed: {
    status: 412,
    message: 'It was changed meanwhile.',
    meaning: '`If-Match` names another version than the one there is now, or `If-None-Match` names that one.',
    remedy: 'Read it again, see what changed, and send the change with the new `ETag`.',
  },
  body_too_large: {
    status: 413,
    message: 'The body is larger than 1 MiB, or came in too many pieces.',
    meaning: 'No operation takes a body of more than 1,048,576 bytes, nor one that comes in more than 16,384 pieces.',
    remedy: 'Send less at a time; a body in larger pieces.',
  },
  expectation_failed: {
    status: 417,
    message: 'The only expectation that can be met is 100-continue.',
    meaning: 'The `Expect` header names something else.',
    remedy: 'Leave the `Expect` header out.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used for another request.',
    meaning: 'Within 24 hours the same key came with another operation, path or body.',
    remedy: 'Use a new key for each new request; send a retry exactly as the first try.',
  },
  precondition_required: {
    status: 428,
    message: 'This needs If-Match, with the ETag of the version that is to be changed.',
    meaning: 'The store is run with `PETSTORE_REQUIRE_IF_MATCH`: nothing is changed by who has not seen it as it is.',
    remedy: 'Read it, and send its `ETag` in `If-Match`.',
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
