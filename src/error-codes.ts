import type { Catalogue, ErrorEntry } from './lib/http/problem.ts';

/**
 * Every error code of the product. The HTTP status follows from the code, and the documentation is generated from it.
 * Codes are never renamed and never change their status.
 */
export const errors = {
  ...withStatus(400, {
    malformed_request: {
      message: 'The request is not well-formed HTTP.',
      meaning:
        'The request line, a header or the URL cannot be parsed: broken percent-encoding, a missing Host header, or bad framing.',
      remedy: 'Send well-formed HTTP/1.1. Percent-encode values in the URL.',
    },
    invalid_parameter: {
      message: 'A parameter of the request has an invalid value.',
      meaning:
        'A query parameter or header is out of range, repeated, or of the wrong type. Values are never clamped. Or a cursor is invalid: cursors are opaque, and belong to the filters and the sort of the page that they came from.',
      remedy:
        'Correct the parameters listed in `errors`; each entry says what is valid. Follow the `next` link as it is, or start again without a cursor.',
    },
    invalid_content_type: {
      message: 'The body must be application/json.',
      meaning: 'The request has a body with another content type, or without one.',
      remedy: 'Send `Content-Type: application/json`; `PATCH` also accepts `application/merge-patch+json`.',
    },
    invalid_json: {
      message: 'The body is not valid JSON.',
      meaning:
        'The body is empty, is not UTF-8, starts with a byte order mark, or is not JSON (RFC 8259). Or it is larger than 64 KiB and has more than 20,000 values or 10,000 levels of nesting.',
      remedy: 'Send one JSON value in UTF-8 without a byte order mark.',
    },
    invalid_body: {
      message: 'The body is missing required fields or contains invalid values.',
      meaning: 'The body is valid JSON, but does not match the schema of the operation. Types are never coerced.',
      remedy: 'Correct the fields listed in `errors`; each entry says what is valid.',
    },
    category_not_found: {
      message: 'There is no category with this id.',
      meaning:
        'The body names a category that does not exist as a parent or as the target of a merge; or as the category of an animal, where the store accepts existing categories only (`PETSTORE_CATEGORIES=strict`).',
      remedy: 'Use the id of an existing category.',
    },
  }),
  ...withStatus(401, {
    missing_api_key: {
      message: 'An API key is required: send "Authorization: Bearer <API_KEY>".',
      meaning: 'The request has no Authorization header, or one with another scheme.',
      remedy: 'Create an account and an API key, and send the key as a bearer token.',
    },
    malformed_api_key: {
      message: 'The API key is not well-formed; it may have been cut or mistyped.',
      meaning: 'The token does not have the format of an API key, or its checksum is wrong.',
      remedy: 'Copy the whole key again, from `petstore_` to its end.',
    },
    invalid_api_key: {
      message: 'There is no such API key.',
      meaning: 'The key is well-formed, but this service did not issue it.',
      remedy: 'Use a key that this service issued.',
    },
    expired_api_key: {
      message: 'The API key has expired.',
      meaning: 'The expiry time of the key has passed.',
      remedy: 'Create a new key. Rotate keys before they expire.',
    },
    revoked_api_key: {
      message: 'The API key has been revoked.',
      meaning: 'The key was revoked. Revoked keys are never valid again.',
      remedy: 'Create a new key.',
    },
    wrong_deployment: {
      message: 'The API key belongs to the other deployment.',
      meaning: 'Production and staging have separate keys. The message names the address that accepts this key.',
      remedy: 'Call the address in the message, or use a key of this deployment.',
    },
  }),
  ...withStatus(403, {
    insufficient_scope: {
      message: 'The API key lacks the scope that this operation needs.',
      meaning: 'The key was created with a limited set of scopes. The message names the missing one.',
      remedy: 'Use a key that has the scope.',
    },
    not_owner: {
      message: 'This belongs to another account; only that account or an admin may do this.',
      meaning:
        'Only the account that owns the resource, or an admin, may change it. Every account may read the catalogue.',
      remedy: 'Use a key of the account that owns it.',
    },
  }),
  ...withStatus(404, {
    pet_not_found: {
      message: 'There is no animal with this id.',
      meaning: 'No animal has this id, or the id is not a plain decimal integer.',
      remedy: 'List the animals, and use an id from the list.',
    },
    no_such_category: {
      message: 'There is no category with this id.',
      meaning:
        'No category has the id in the path, or the id is not a plain decimal integer. The category may have been merged into another.',
      remedy: 'List the categories, and use an id from the list.',
    },
    hold_not_found: {
      message: 'There is no hold with this id.',
      meaning: 'No hold has this id, or the account of the key neither placed it nor owns one of its animals.',
      remedy: 'List the holds, and use an id from the list.',
    },
    order_not_found: {
      message: 'There is no order with this id.',
      meaning: 'No order has this id, or the account of the key neither placed it nor owns its animal.',
      remedy: 'List the orders, and use an id from the list.',
    },
    message_not_found: {
      message: 'There is no message with this id.',
      meaning:
        'No message has this id, or the account of the key neither sent nor received it. Only admins see messages to the store itself.',
      remedy: 'List the messages, and use an id from the list.',
    },
    event_not_found: {
      message: 'There is no event with this id.',
      meaning:
        'No event has this id, the owner of the webhook may not see it, or it is older than the retention period (`PETSTORE_EVENTS_DAYS`).',
      remedy: 'List the events, and use an id from the list.',
    },
    webhook_not_found: {
      message: 'There is no webhook with this id.',
      meaning: 'No webhook has this id, or it belongs to another account.',
      remedy: 'List the webhooks, and use an id from the list.',
    },
    delivery_not_found: {
      message: 'There is no delivery with this id.',
      meaning:
        'This webhook has no delivery with this id. Finished deliveries are kept for as long as events (`PETSTORE_EVENTS_DAYS`).',
      remedy: 'List the deliveries of the webhook, and use an id from the list.',
    },
    route_not_found: {
      message: 'There is nothing at this path.',
      meaning: 'The path is not part of the API.',
      remedy: 'See /openapi.json for every path.',
    },
  }),
  method_not_allowed: {
    status: 405,
    message: 'This path does not support this method.',
    meaning: 'The path exists, but not with this method. The `Allow` header lists the methods that it supports.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive in time.',
    meaning: 'The headers must arrive within 15 seconds, and the whole request within 30.',
    remedy: 'Send the request again, faster.',
  },
  ...withStatus(409, {
    pet_reserved: {
      message: 'The animal is on hold or ordered.',
      meaning:
        'Another hold or order reserves the animal, and only that one can change its status. The message says until when, where that is known, and `Retry-After` gives the time in seconds.',
      remedy: 'Choose another animal, or try again at that time.',
    },
    invalid_status_transition: {
      message: 'The status of the animal does not allow this.',
      meaning: 'Only an available animal can be held or ordered. This one is sold, or its owner has set it aside.',
      remedy: 'Read the status of the animal, and choose another animal.',
    },
    category_in_use: {
      message: 'The category has animals or subcategories.',
      meaning: 'Only an empty category can be deleted.',
      remedy: 'Merge it into another category, which takes over its animals and subcategories.',
    },
    category_slug_taken: {
      message: 'Another category has this slug.',
      meaning: 'Slugs are unique. A category created without a slug gets one derived from its name.',
      remedy: 'Choose another slug.',
    },
    category_cycle: {
      message: 'A category cannot be its own ancestor.',
      meaning: 'The new parent, or the target of the merge, is the category itself or one of its descendants.',
      remedy: 'Choose a category that is not a descendant.',
    },
    hold_ended: {
      message: 'The hold has ended.',
      meaning: 'The hold was released, was used by orders, has expired, or never included this animal.',
      remedy: 'Place a new hold while the animals are available.',
    },
    hold_limit_exceeded: {
      message: 'The account has reached its limit of held animals.',
      meaning: 'The number of animals in all active holds of an account is limited (`PETSTORE_HELD_MAX`).',
      remedy: 'Release holds that you do not need, or wait for one to expire.',
    },
    stream_limit_exceeded: {
      message: 'The account has reached its limit of open streams.',
      meaning:
        'The number of event streams that an account has open at the same time is limited (`PETSTORE_STREAMS_MAX`).',
      remedy: 'Close one of them. One stream carries all types of events: share it.',
    },
    webhook_limit_exceeded: {
      message: 'The account has reached its limit of webhooks.',
      meaning: 'The number of webhooks of an account is limited (`PETSTORE_WEBHOOKS_MAX`).',
      remedy: 'Delete a webhook that you do not need. One webhook can receive all types of events.',
    },
    webhook_test_failed: {
      message: 'The endpoint did not accept the test delivery.',
      meaning:
        'A webhook is activated once its endpoint responds to a test delivery with a status from 200 to 299. The message says what happened instead. Or the webhook was changed during the test.',
      remedy:
        'Fix the endpoint, and activate the webhook again. The deliveries of the webhook include the test and its response.',
    },
    webhook_test_running: {
      message: 'The webhook is being tested.',
      meaning: 'Another test of the same webhook is in progress.',
      remedy: 'Wait until it has finished, at most half a minute.',
    },
    webhook_not_active: {
      message: 'The webhook is not active.',
      meaning: 'Events are redelivered to active webhooks only.',
      remedy: 'Activate the webhook first.',
    },
    webhook_secret_limit_exceeded: {
      message: 'The webhook has reached its limit of secrets.',
      meaning: 'A webhook has at most five valid secrets: the newest, and earlier ones whose overlap has not ended.',
      remedy:
        'Wait until the overlap of the oldest ends, or rotate with `overlapSeconds` 0, which ends all earlier secrets immediately.',
    },
    redelivery_running: {
      message: 'A redelivery to the webhook is already running.',
      meaning: 'A webhook has at most one redelivery of all events since a time.',
      remedy: 'Wait until it has finished, or redeliver single events.',
    },
    invalid_order_transition: {
      message: 'The status of the order does not allow this step.',
      meaning:
        'An order moves from placed to approved to delivered to returned, and can be cancelled until it is delivered. A placed order that is not approved in time expires.',
      remedy: 'Read the status of the order, and take a step that is valid for it.',
    },
    idempotency_key_in_use: {
      message: 'The request with this Idempotency-Key is still in progress.',
      meaning: 'An earlier request with the same key has no response yet.',
      remedy: 'Wait a moment, then send the request again.',
    },
  }),
  ...withStatus(410, {
    operation_removed: {
      message: 'This operation was removed.',
      meaning: 'The operation was deprecated, and its sunset date has passed.',
      remedy: 'Use the successor that the `Link` header names.',
    },
    sync_token_expired: {
      message: 'The sync token is older than 30 days.',
      meaning: 'A token from `X-Sync-Token` is valid for 30 days.',
      remedy:
        'Read the whole list again, with `updatedSince` at a time before the first animal, and continue from its token.',
    },
    events_expired: {
      message: 'Events this old are no longer available.',
      meaning:
        'Events are kept for 30 days (`PETSTORE_EVENTS_DAYS`), and the position to continue from is older. Or the operator restored an older backup.',
      remedy:
        'Read the current state from the lists, then continue from there: without `after` the events start with the oldest available one.',
    },
  }),
  precondition_failed: {
    status: 412,
    message: 'The resource has changed since you read it.',
    meaning: '`If-Match` names a version that is not the current one, or `If-None-Match` names the current one.',
    remedy: 'Read the resource again, check what changed, and repeat the change with the new `ETag`.',
  },
  body_too_large: {
    status: 413,
    message: 'The body is larger than 1 MiB, or arrived in too many pieces.',
    meaning: 'A body has at most 1,048,576 bytes, in at most 16,384 pieces.',
    remedy: 'Send less at a time, or send the body in larger pieces.',
  },
  expectation_failed: {
    status: 417,
    message: 'The only supported expectation is 100-continue.',
    meaning: 'The `Expect` header names another expectation.',
    remedy: 'Omit the `Expect` header.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used for another request.',
    meaning: 'Within 24 hours, the same key was used with another operation, path or body.',
    remedy: 'Use a new key for each new request. Send a retry exactly like the first try.',
  },
  precondition_required: {
    status: 428,
    message: 'This request needs If-Match, with the ETag of the version to change.',
    meaning:
      'The store requires `If-Match` on changes (`PETSTORE_REQUIRE_IF_MATCH`), so that no client overwrites a version that it has not seen.',
    remedy: 'Read the resource, and send its `ETag` in `If-Match`.',
  },
  ...withStatus(429, {
    rate_limit_exceeded: {
      message: 'Rate limit exceeded; wait for the time in Retry-After.',
      meaning: 'The requests of the plan for this minute or this day are used up.',
      remedy: 'Wait for `Retry-After` seconds. Back off exponentially if it happens again.',
    },
    api_key_banned: {
      message: 'The API key is banned temporarily because it kept sending requests after a 429.',
      meaning: 'Within a minute, twenty requests arrived before the `Retry-After` of an earlier response had passed.',
      remedy:
        'Stop for `Retry-After` seconds. Each further ban lasts longer; a day without violations shortens the next one.',
    },
  }),
  headers_too_large: {
    status: 431,
    message: 'The headers or the URL are larger than 16 KiB.',
    meaning: 'The request line and the headers together are limited to 16,384 bytes.',
    remedy: 'Send fewer or shorter headers, or a shorter URL.',
  },
  internal_error: {
    status: 500,
    message: 'Something went wrong on our side.',
    meaning: 'An error in the service. Its log has the cause, under the id of the request.',
    remedy: 'Try again later. If the error persists, report the value of `X-Request-Id`.',
  },
  ...withStatus(503, {
    storage_full: {
      message: 'The disk is full; nothing was changed.',
      meaning: 'Reads still work. Writes work again within seconds once there is free space.',
      remedy: 'Try again after `Retry-After` seconds.',
    },
    storage_unavailable: {
      message: 'The storage is unreachable or does not respond in time.',
      meaning:
        'The database is down, locked or stalled. A write that received this response may or may not have happened.',
      remedy: 'Try again after `Retry-After` seconds. Send writes with the same `Idempotency-Key`.',
    },
    shutting_down: {
      message: 'The service is stopping.',
      meaning: 'This process finishes the requests in progress and accepts no new ones.',
      remedy: 'Try again after `Retry-After` seconds.',
    },
  }),
} as const satisfies Catalogue & Record<string, ErrorEntry>;

/** One of the error codes. */
export type ErrorCode = keyof typeof errors;

/** Adds one status to several entries. */
function withStatus<Status extends number, Entries extends Record<string, Omit<ErrorEntry, 'status'>>>(
  status: Status,
  entries: Entries,
) {
  const added = Object.entries(entries).map(([code, entry]) => [code, { ...entry, status }]);
  return Object.fromEntries(added) as { readonly [Code in keyof Entries]: Entries[Code] & { readonly status: Status } };
}
