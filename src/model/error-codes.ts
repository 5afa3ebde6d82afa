import type { ErrorEntry } from '../lib/http/problem.ts';
import { IDEMPOTENCY_KEY_MS } from '../lib/http/route.ts';
import { JSON_NESTING_MAX, JSON_VALUES_MAX, LARGE_JSON_BYTES_MIN } from '../lib/http/server/json.ts';
import { defaultLimits, HEADER_BYTES_MAX } from '../lib/http/server/options.ts';
import { BODY_BYTES_MAX, BODY_CHUNKS_MAX } from '../lib/http/server/read-body.ts';
import { BYTES_PER_SECOND_MIN, RATE_SECONDS, SLOW_MS } from '../lib/http/server/upload-rate.ts';
import { countText, spelled } from '../lib/text.ts';
import { durationIn } from '../lib/time.ts';
import { PHOTO_BYTES_MAX, PHOTO_PIXELS_MAX, PHOTOS_MAX, photoSizes } from './photo.ts';
import { MEBIBYTE } from './plan.ts';
import {
  BAN_MINUTES,
  DELIVERY_TIMEOUT_MS,
  EVENT_BYTES_DAYS,
  EXPORTS_MAX,
  EXPORTS_TOTAL_MAX,
  IMPORT_UPLOAD_MS,
  IMPORTS_KEPT_MS,
  MESSAGES_WINDOW_MS,
  NOTES_MAX,
  PENDING_MAX,
  SYNC_TOKEN_MS,
  VIOLATION_GRACE_MS,
  VIOLATIONS_MAX,
  VIOLATIONS_MS,
  WEBHOOK_SECRETS_MAX,
} from './rules.ts';
import { settingTree } from './settings.ts';

/** The error codes by HTTP status, each with its message, meaning and remedy; see `ErrorEntry`. */
const byStatus = {
  400: {
    malformed_request: [
      'The request is not well-formed HTTP.',
      'The request line, a header or the URL cannot be parsed: broken percent-encoding, a missing Host header, several Authorization headers, an unknown HTTP version, or bad framing.',
      'Send well-formed HTTP/1.1. Percent-encode values in the URL.',
    ],
    invalid_parameter: [
      'A parameter of the request has an invalid value.',
      'A query parameter or header is out of range or of the wrong type, or a parameter with a single value is repeated. Values are never clamped. Or a cursor is invalid: a cursor is valid only with the filters and the sort order of the page that it came from.',
      'Correct the parameters listed in `errors`; each entry says what is valid. Follow the `next` link as it is, or start again without a cursor.',
    ],
    invalid_content_type: [
      'The body must be application/json.',
      'The request has a body with another content type, or without one, or a compressed one.',
      'Send `Content-Type: application/json`; `PATCH` also accepts `application/merge-patch+json`. Photos are `image/jpeg`, `image/png` or `image/webp`.',
    ],
    invalid_json: [
      'The body is not valid JSON.',
      `The body is empty, is not UTF-8, starts with a byte order mark, or is not JSON (RFC 8259). Or it is larger than ${LARGE_JSON_BYTES_MIN / 1024} KiB and has more than ${countText(JSON_VALUES_MAX)} values or ${countText(JSON_NESTING_MAX)} levels of nesting.`,
      'Send one JSON value in UTF-8 without a byte order mark.',
    ],
    invalid_body: [
      'The body is missing required fields or contains invalid values.',
      'The body is valid JSON, but does not match the schema of the operation. Types are never coerced.',
      'Correct the fields listed in `errors`; each entry says what is valid.',
    ],
    invalid_import: [
      'The file cannot be read as CSV or NDJSON.',
      'The service cannot tell the rows and cells of the file apart: its UTF-8 is damaged, a quotation mark is missing, or a row is too long. The message names the line. An invalid value in a row does not cause this error.',
      'Fix the line, and send the whole file again. Nothing was imported.',
    ],
    invalid_photo: [
      'The file is not a photo that can be shown.',
      `The body is not a JPEG, PNG or WebP, is damaged or cut off, has more than ${PHOTO_PIXELS_MAX / 1_000_000} megapixels, or takes too long to decode. The message says which.`,
      'Send the bytes of one JPEG, PNG or WebP as they are, without a form around them. Convert other formats first, such as the HEIC of iPhones.',
    ],
    category_not_found: [
      'The body names a category that does not exist.',
      'The `parentId`, or the `intoId` of a merge, is not the id of a category. Or the `categoryId` of an animal is not, and the store accepts existing categories only (`PETSTORE_CATEGORIES=strict`). For an unknown id in the path, the code is `no_such_category`.',
      'Use the id of an existing category.',
    ],
  },
  401: {
    missing_api_key: [
      'An API key is required: send "Authorization: Bearer <API_KEY>".',
      'The request has no Authorization header, or one with another scheme.',
      'Create an account and an API key, and send the key as a bearer token.',
    ],
    malformed_api_key: [
      'The API key is not well-formed; it may have been cut or mistyped.',
      'The token does not have the format of an API key, or its checksum is wrong.',
      'Copy the whole key again, from `petstore_` to its end.',
    ],
    invalid_api_key: [
      'There is no such API key.',
      'The key is well-formed, but this service did not issue it.',
      'Use a key that this service issued.',
    ],
    expired_api_key: [
      'The API key has expired.',
      'The expiry time of the key has passed.',
      'Create a new key. Rotate keys before they expire.',
    ],
    revoked_api_key: [
      'The API key has been revoked.',
      'The key was revoked. Revoked keys are never valid again.',
      'Create a new key.',
    ],
    wrong_deployment: [
      'The API key belongs to the other deployment.',
      'Production and staging have separate keys. The message names the address that accepts this key.',
      'Call the address in the message, or use a key of this deployment.',
    ],
  },
  403: {
    insufficient_scope: [
      'The API key lacks the scope that this operation needs.',
      'The key was created with a limited set of scopes. The message names the missing one.',
      'Use a key that has the scope.',
    ],
    account_suspended: [
      'The account of this API key is suspended.',
      'The operator of the service has suspended the account, or is deleting it. None of its keys is accepted.',
      'Contact the operator of the service. The keys work again once the account is resumed.',
    ],
    address_not_allowed: [
      'The API key is not accepted from this address.',
      'The key was created for certain networks, and the request comes from another address. Behind a proxy that the service does not trust, that is the address of the proxy.',
      'Send the request from an allowed network, or use a key without this restriction.',
    ],
    origin_not_allowed: [
      'This web page or host name may not call this address.',
      'The `Origin` header of a request to `/mcp` is not a public address of the service. Or the server listens on a loopback address, and the `Host` header names another host, as an attack by DNS rebinding does.',
      'Call `/mcp` from a program instead of a web page. As the operator, add the origin to `PETSTORE_MCP_ORIGINS`, or set `PETSTORE_PUBLIC_URL` behind a proxy.',
    ],
    not_in_sandbox: [
      'A trial key cannot do this.',
      'A trial key, which anyone gets on the reference pages, cannot publish an organization, change categories, import animals, upload photos, have photos fetched from URLs, or send a message about an animal of another account or to the store.',
      'Create an account (the Free plan is enough) and use one of its keys.',
    ],
    not_owner: [
      'This belongs to another account; only that account or an admin can do this.',
      'Only the account that owns the resource, or an admin, may change it. Every account may read the catalogue.',
      'Use a key of the account that owns it.',
    ],
  },
  404: {
    pet_not_found: [
      'There is no animal with this id.',
      'No animal has this id, or the id is not a plain decimal integer.',
      'List the animals, and use an id from the list.',
    ],
    photo_not_found: [
      'There is no photo with this id.',
      'The photo was deleted, or belongs to another animal or organization.',
      'Read the animal with `view=full`, or the organization, and use an id from its `photos`.',
    ],
    no_such_category: [
      'There is no category with this id.',
      'No category has the id in the path, or the id is not a plain decimal integer. The category may have been merged into another.',
      'List the categories, and use an id from the list.',
    ],
    organization_not_found: [
      'There is no organization with this id.',
      'The account with this id has not published an organization, or is suspended; or the id is not a plain decimal integer.',
      'List the organizations, and use an id from the list.',
    ],
    import_not_found: [
      'There is no import with this id.',
      `No import has this id, it belongs to another account, or it ended more than ${durationIn('day', IMPORTS_KEPT_MS)} ago.`,
      'List the imports, and use an id from the list.',
    ],
    hold_not_found: [
      'There is no hold with this id.',
      'No hold has this id, or the account of the key neither placed it nor owns one of its animals.',
      'List the holds, and use an id from the list.',
    ],
    order_not_found: [
      'There is no order with this id.',
      'No order has this id, or the account of the key neither placed it nor owns its animal.',
      'List the orders, and use an id from the list.',
    ],
    message_not_found: [
      'There is no message with this id.',
      'No message has this id, or the account of the key neither sent nor received it. Only admins see messages to the store itself.',
      'List the messages, and use an id from the list.',
    ],
    event_not_found: [
      'There is no event with this id.',
      'No event has this id, the owner of the webhook may not see it, or it is older than the retention period (`PETSTORE_EVENTS_DAYS`).',
      'List the events, and use an id from the list.',
    ],
    webhook_not_found: [
      'There is no webhook with this id.',
      'No webhook has this id, or it belongs to another account.',
      'List the webhooks, and use an id from the list.',
    ],
    delivery_not_found: [
      'There is no delivery with this id.',
      'This webhook has no delivery with this id. Finished deliveries are kept for as long as events are readable (`PETSTORE_EVENTS_DAYS`).',
      'List the deliveries of the webhook, and use an id from the list.',
    ],
    route_not_found: [
      'There is nothing at this path.',
      'The path is not part of the API.',
      'See /openapi.json for every path.',
    ],
  },
  405: {
    method_not_allowed: [
      'This path does not support this method.',
      'The path exists, but not with this method. The `Allow` header lists the methods that it supports.',
      'Use one of the methods in `Allow`.',
    ],
  },
  408: {
    request_timeout: [
      'The request did not arrive in time.',
      `The headers must arrive within ${durationIn('second', defaultLimits.headersMs)}. The whole request must arrive within ${durationIn('second', defaultLimits.requestMs)}, or within ${durationIn('minute', IMPORT_UPLOAD_MS)} if it is an import. After ${durationIn('second', SLOW_MS)}, an upload must average ${BYTES_PER_SECOND_MIN / 1024} KiB a second over the last ${RATE_SECONDS}. The service can end a slower upload earlier if another upload needs its slot.`,
      'Send the request again, faster.',
    ],
  },
  409: {
    pet_reserved: [
      'The animal is on hold or ordered.',
      'A hold or an order reserves the animal, and only this hold or order can change the status of the animal. If the end of the reservation is known, the message contains it, and `Retry-After` is the number of seconds until then. The end of an approved order is not known.',
      'Choose another animal, or try again when the reservation ends. If the animal is on hold for you, send the `holdId` with the order.',
    ],
    bonded_animals: [
      'The animal is bonded with others.',
      'Bonded animals can only be held and ordered together. The message names the others; `group.petIds` of the full view has all of them.',
      'Send the ids of all animals of the group as `petIds`.',
    ],
    invalid_status_transition: [
      'The status of the animal does not allow this.',
      'Only an available animal can be held or ordered. This one is sold, or its owner has set it aside.',
      'Read the status of the animal, and choose another animal.',
    ],
    import_running: [
      'The account has an import in progress.',
      'An account has one import at a time, so that two files cannot change the same animals.',
      'Wait until it has ended (`GET /v1/imports` lists it), or cancel it.',
    ],
    import_limit_exceeded: [
      'The account has reached its limit of imported rows.',
      'The rows that the imports of an account can change on a UTC day are bounded by its plan: twice its animals (`PETSTORE_IMPORTED_ROWS_MAX`). While an import runs, all its rows count; afterwards, only the rows that added or changed an animal count. `GET /v1/account` shows the rows used and the limit (`importedRows`). Nothing was imported.',
      'Send the file again after `Retry-After` seconds, or send a file with fewer rows. For a file with more rows than the maximum of a day, the response has no `Retry-After`: split the file. Or ask the operator for a larger plan.',
    ],
    event_storage_exceeded: [
      'The account has reached its limit of bytes of events.',
      `The events that an account caused in the last ${EVENT_BYTES_DAYS} days have reached the number of bytes at which its plan stops imports (\`PETSTORE_EVENTS_QUOTA_MIB\`). An import that would exceed this number is refused, and an import that reaches it ends; its changes so far stay. This bound never stops single requests. \`GET /v1/account\` shows the bytes and the bound (\`eventBytes\`).`,
      'Import fewer rows a day, and leave out rows that change nothing. Or ask the operator for a larger plan.',
    ],
    import_canceled: [
      'The import was canceled while its file arrived.',
      'Another request of the account canceled the import before all of its file had arrived. Nothing was imported.',
      'Send the file again.',
    ],
    category_in_use: [
      'The category has animals or subcategories.',
      'Only an empty category can be deleted.',
      'Merge it into another category, which takes over its animals and subcategories.',
    ],
    external_id_taken: [
      'Another animal of the account has this externalId.',
      'The `externalId` of an animal is unique within its account.',
      'Change the animal that has it, or choose another one. `GET /v1/pets?externalId=…` finds it.',
    ],
    pet_limit_exceeded: [
      'The account has reached its limit of animals.',
      'The number of animals of an account is bounded by its plan (`PETSTORE_PETS_MAX`). `GET /v1/account` shows the number and the bound (`pets`).',
      'Delete animals that you no longer need, or ask the operator for a larger plan.',
    ],
    sandbox_pet_limit_exceeded: [
      'All trial keys together have reached their limit of animals.',
      'The animals of all accounts of the sandbox, which trial keys belong to, are bounded together (`PETSTORE_SANDBOX_PETS_MAX`). `GET /v1/account` with a trial key shows their number and the bound (`sandbox.pets`).',
      'Delete animals that you added, or try again in a few minutes: when a trial key expires, the service deletes its animals. Or create an account (the Free plan is enough) and use one of its keys.',
    ],
    sandbox_storage_exceeded: [
      'All trial keys together have reached their limit of stored bytes.',
      'The events and the stored responses of all accounts of the sandbox have as many bytes as the sandbox may store (`PETSTORE_SANDBOX_QUOTA_MIB`). Each event contains the animal or the order after the change; responses to requests with `Idempotency-Key` are stored. This bound never stops deletions, releases of holds and cancellations of orders. `GET /v1/account` with a trial key shows the bytes and the bound (`sandbox.bytes`).',
      'Try again in a few minutes: when a trial key expires, the service deletes its data. Or create an account (the Free plan is enough) and use one of its keys.',
    ],
    photo_limit_exceeded: [
      `There are ${spelled(PHOTOS_MAX)} photos, the maximum.`,
      `An animal or an organization has at most ${spelled(PHOTOS_MAX)} photos.`,
      'Delete a photo that you do not need.',
    ],
    photo_storage_exceeded: [
      'The account has reached its limit of photos.',
      'The photos of an account, originals and sizes, have as many bytes as its plan allows (`PETSTORE_PHOTO_QUOTA_MIB`). `GET /v1/account` shows the bytes and the bound (`photoBytes`).',
      `Delete photos that you do not need, or send smaller files: no size that is shown is wider or higher than ${countText(photoSizes.at(-1)!)} pixels.`,
    ],
    category_slug_taken: [
      'Another category has this slug.',
      'Slugs are unique. A category created without a slug gets one derived from its name.',
      'Choose another slug.',
    ],
    category_cycle: [
      'A category cannot be its own ancestor.',
      'The new parent, or the target of the merge, is the category itself or one of its descendants.',
      'Choose a category that is not a descendant.',
    ],
    hold_ended: [
      'The hold has ended.',
      'The hold was released, was used by orders, has expired, or never included this animal.',
      'Place a new hold while the animals are available.',
    ],
    hold_limit_exceeded: [
      'The account has reached its limit of held animals.',
      'The number of animals in all active holds of an account is bounded by its plan (`PETSTORE_HELD_MAX`).',
      'Release holds that you do not need, or wait for one to expire. `GET /v1/account` shows the bounds of your account.',
    ],
    order_limit_exceeded: [
      'The account has reached its limit of open orders.',
      'The number of orders of an account that are placed or approved is bounded by its plan (`PETSTORE_ORDERS_MAX`).',
      'Cancel an order that you do not need, or wait until one is delivered or expires. `GET /v1/account` shows the bounds of your account.',
    ],
    export_limit_exceeded: [
      'The account has too many exports in progress.',
      `An account has at most ${spelled(EXPORTS_MAX)} exports at the same time, and all accounts together have ${EXPORTS_TOTAL_MAX} on a node.`,
      'Wait until an export is complete, and try again after `Retry-After` seconds. One export contains all your animals.',
    ],
    stream_limit_exceeded: [
      'The account has reached its limit of open streams.',
      'The number of event streams that an account has open at the same time is bounded by its plan (`PETSTORE_STREAMS_MAX`).',
      'Close an open stream. One stream carries all types of events: share it. `GET /v1/account` shows the bounds of your account.',
    ],
    category_limit_exceeded: [
      'The account has reached its limit of categories.',
      'The number of categories that an account has created is bounded by its plan (`PETSTORE_CATEGORIES_MAX`). Placeholders of unknown categories that its animals named count, too.',
      'Use an existing category, or delete one that is empty. A category that is merged into another no longer counts. `GET /v1/account` shows the bounds of your account.',
    ],
    webhook_limit_exceeded: [
      'The account has reached its limit of webhooks.',
      'The number of webhooks of an account is bounded by its plan (`PETSTORE_WEBHOOKS_MAX`).',
      'Delete a webhook that you do not need. One webhook can receive all types of events. `GET /v1/account` shows the bounds of your account.',
    ],
    webhook_test_failed: [
      'The endpoint did not accept the test delivery.',
      'A webhook is activated once its endpoint responds to a test delivery with a status from 200 to 299. The message says what happened instead. Or the webhook was changed during the test.',
      'Fix the endpoint, and activate the webhook again. The deliveries of the webhook include the test and its response.',
    ],
    webhook_test_running: [
      'The webhook is being tested.',
      'Another test of the same webhook is in progress.',
      `Wait until it has finished, at most ${durationIn('second', 2 * DELIVERY_TIMEOUT_MS)}.`,
    ],
    webhook_not_active: [
      'The webhook is not active.',
      'Events are redelivered to active webhooks only.',
      'Activate the webhook first.',
    ],
    message_limit_exceeded: [
      'The account has sent this recipient too many messages in the last minute.',
      `In any ${durationIn('second', MESSAGES_WINDOW_MS)}, an account can send a limited number of messages to the store, or to one owner of animals. \`GET /v1/account\` shows how many (\`messagesPerRecipient\`).`,
      'Send the message again after `Retry-After` seconds.',
    ],
    reply_limit_exceeded: [
      'The account has reached its limit of replies by e-mail for today.',
      'On a UTC day, an account can send a limited number of replies to visitors by e-mail on the page of its inbox. `GET /v1/account` shows how many (`emailReplies`).',
      'Reply on the next day in UTC, or with your own e-mail program.',
    ],
    reply_not_possible: [
      'This message cannot be answered by e-mail through the store.',
      'The person who wrote the message has not confirmed the e-mail address, or wants no more e-mails through the store.',
      'Reply with your own e-mail program: the page of the message shows the address.',
    ],
    note_limit_exceeded: [
      `The message has ${NOTES_MAX} notes, the maximum.`,
      `A message can have up to ${NOTES_MAX} internal notes.`,
      'Delete a note of the message first.',
    ],
    storage_limit_exceeded: [
      'The account has reached its limit of stored texts.',
      'The texts of its messages, replies and notes, the stored responses to its requests with `Idempotency-Key` and the rows that wait to be imported have as many bytes as its plan allows. `GET /v1/account` shows the bytes and the bound (`storedBytes`).',
      `Responses are deleted ${durationIn('day', IDEMPOTENCY_KEY_MS, 'article')} after the request, messages when the store no longer keeps them (\`PETSTORE_MESSAGES_DAYS\`). Requests other than messages succeed without \`Idempotency-Key\`. For an import, send a smaller file, or split it. Or ask the operator for a larger plan.`,
    ],
    webhook_secret_limit_exceeded: [
      'The webhook has reached its limit of secrets.',
      `A webhook has at most ${spelled(WEBHOOK_SECRETS_MAX)} valid secrets: the newest, and earlier ones whose overlap has not ended.`,
      'Wait until the overlap of the oldest ends, or rotate with `overlapSeconds` 0, which ends all earlier secrets immediately.',
    ],
    delivery_limit_exceeded: [
      'The webhook has reached its limit of pending deliveries.',
      `A webhook has at most ${countText(PENDING_MAX)} pending deliveries. New events wait in the log until some are finished; a redelivery of one event is refused.`,
      'Wait until the receiver has accepted some of them, or redeliver all events since a time: this redelivery waits for pending deliveries by itself.',
    ],
    redelivery_running: [
      'A redelivery to the webhook is already running.',
      'A webhook has at most one redelivery of all events since a time. A redelivery creates its deliveries in batches, as earlier deliveries finish.',
      'Wait until it has finished, or redeliver single events.',
    ],
    invalid_order_transition: [
      'The status of the order does not allow this step.',
      'An order moves from placed to approved to delivered to returned, and can be cancelled until it is delivered. A placed order that is not approved in time expires.',
      'Read the status of the order, and take a step that is valid for it.',
    ],
    idempotency_key_in_use: [
      'The request with this Idempotency-Key is still in progress.',
      'An earlier request with the same key has no response yet.',
      'Wait a moment, then send the request again.',
    ],
  },
  410: {
    operation_removed: [
      'This operation was removed.',
      'The operation was deprecated, and its sunset date has passed.',
      'Use the successor that the `Link` header names.',
    ],
    sync_token_expired: [
      `The sync token is older than ${durationIn('day', SYNC_TOKEN_MS)}.`,
      `A token from \`X-Sync-Token\` is valid for ${durationIn('day', SYNC_TOKEN_MS)}.`,
      'Read the whole list again, with `updatedSince` at a time before the first animal, and continue from its token.',
    ],
    events_expired: [
      'Events this old are no longer available.',
      `Events are readable for ${settingTree.eventsDays.default} days (\`PETSTORE_EVENTS_DAYS\`), and the position to continue from is older. Or the operator restored an older backup.`,
      'Read the current state from the lists, then continue from there: without `after` the events start with the oldest available one.',
    ],
  },
  412: {
    precondition_failed: [
      'The resource has changed since you read it.',
      '`If-Match` names a version that is not the current one, or `If-None-Match` names the current one.',
      'Read the resource again, check what changed, and repeat the change with the new `ETag`.',
    ],
  },
  413: {
    body_too_large: [
      `The body is larger than ${BODY_BYTES_MAX / MEBIBYTE} MiB, or arrived in too many pieces.`,
      `A body has at most ${countText(BODY_BYTES_MAX)} bytes, in at most ${countText(BODY_CHUNKS_MAX)} pieces; a photo has at most ${PHOTO_BYTES_MAX / MEBIBYTE} MiB.`,
      'Send less at a time, or send the body in larger pieces.',
    ],
  },
  417: {
    expectation_failed: [
      'The only supported expectation is 100-continue.',
      'The `Expect` header names another expectation.',
      'Omit the `Expect` header.',
    ],
  },
  422: {
    idempotency_key_reused: [
      'This Idempotency-Key was used for another request.',
      `Within ${durationIn('hour', IDEMPOTENCY_KEY_MS)}, the same key was used with another operation, path or body.`,
      'Use a new key for each new request. Send a retry exactly like the first try.',
    ],
  },
  428: {
    precondition_required: [
      'This request needs If-Match, with the ETag of the version to change.',
      'The store requires `If-Match` on changes (`PETSTORE_REQUIRE_IF_MATCH`), so that no client overwrites a version that it has not seen.',
      'Read the resource, and send its `ETag` in `If-Match`.',
    ],
  },
  429: {
    rate_limit_exceeded: [
      'Rate limit exceeded; wait for the time in Retry-After.',
      'The requests of the plan, or of the budget of the key, for this minute or this day are used up. If it is the budget of the key, the message says so.',
      'Wait for `Retry-After` seconds. Back off exponentially if it happens again.',
    ],
    sandbox_rate_limit_exceeded: [
      'All trial keys together have sent too many requests in the last minute; wait for the time in Retry-After.',
      'The requests of all accounts of the sandbox, which trial keys belong to, are bounded together in any 60 seconds (`PETSTORE_SANDBOX_PER_MINUTE`). The window `sandbox-minute` of the `RateLimit` header shows how many are left. A request that is rejected for this reason never leads to a ban.',
      'Wait for `Retry-After` seconds. Or create an account (the Free plan is enough) and use one of its keys.',
    ],
    api_key_banned: [
      'The API key is banned temporarily because it kept sending requests after a 429.',
      `Within ${durationIn('minute', VIOLATIONS_MS, 'article')}, ${spelled(VIOLATIONS_MAX)} requests were rejected with 429. Each of them arrived more than ${durationIn('second', VIOLATION_GRACE_MS)} after the first 429, and before the \`Retry-After\` of the latest 429 had passed.`,
      `Stop for \`Retry-After\` seconds. Each further ban lasts longer, up to ${BAN_MINUTES.at(-1)} minutes; each full day without a ban shortens the next one.`,
    ],
  },
  431: {
    headers_too_large: [
      `The headers or the URL are larger than ${HEADER_BYTES_MAX / 1024} KiB.`,
      `The request line and the headers together are limited to ${countText(HEADER_BYTES_MAX)} bytes.`,
      'Send fewer or shorter headers, or a shorter URL.',
    ],
  },
  500: {
    internal_error: [
      'Something went wrong on our side.',
      'An error in the service. Its log has the cause, under the id of the request.',
      'Try again later. If the error persists, report the value of `X-Request-Id`.',
    ],
  },
  503: {
    storage_full: [
      'The disk is full; nothing was changed.',
      'Reads still work. Writes work again within seconds once there is free space.',
      'Try again after `Retry-After` seconds.',
    ],
    storage_unavailable: [
      'The storage is unreachable or does not respond in time.',
      'The database, or the storage of the photos, is down, locked or stalled. A write that received this response may or may not have happened.',
      'Try again after `Retry-After` seconds. Send writes with the same `Idempotency-Key`.',
    ],
    overloaded: [
      'The service has no capacity for this request at the moment; nothing was changed.',
      'More requests arrive than this node can serve. Or the bodies of the requests in progress need more memory than one account or the whole service may use (`PETSTORE_ACCOUNT_BODIES_MIB`, `PETSTORE_BODIES_MIB`). Or the account has too many lists in progress that scan many rows (`PETSTORE_SCANS_MAX`). Or the account, its network or all accounts together upload too many files at the same time (`PETSTORE_UPLOADS_MAX` for an account). The request does not count against the plan.',
      'Try again after `Retry-After` seconds. Send fewer large bodies at a time, each with its `Content-Length`. Request such lists one after another, and upload one file after another.',
    ],
    search_not_ready: [
      'The index of words is being filled; search again in a few minutes.',
      'After the upgrade to the first release with `q`, the service indexes the words of the existing animals, some hundred thousand animals a minute. Until then, a search would miss animals.',
      'Try again after `Retry-After` seconds. Lists without `q` work as always.',
    ],
    shutting_down: [
      'The service is stopping.',
      'This process finishes the requests in progress and accepts no new ones.',
      'Try again after `Retry-After` seconds.',
    ],
  },
} as const satisfies Record<number, Record<string, readonly [message: string, meaning: string, remedy: string]>>;

/** One of the error codes. Codes are never renamed and never change their status. */
export type ErrorCode = { [Status in keyof typeof byStatus]: keyof (typeof byStatus)[Status] }[keyof typeof byStatus];

/** Every error code of the product. The documentation is generated from it. */
export const errors = Object.fromEntries(
  Object.entries(byStatus).flatMap(([status, entries]) =>
    Object.entries(entries).map(([code, [message, meaning, remedy]]) => [
      code,
      { status: Number(status), message, meaning, remedy },
    ]),
  ),
) as Readonly<Record<ErrorCode, ErrorEntry>>;
