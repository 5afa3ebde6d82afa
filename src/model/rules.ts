import { DAY_MS } from '../lib/time.ts';

// The numbers of rules in texts: schemas, errors, help, pages and e-mail. A test compares the guides with them.
// Durations are in milliseconds.

/** The duration of a hold: by default, at least from now, and at most from its placement. */
export const HOLD_DEFAULT_MS = 15 * 60_000;
export const HOLD_MIN_MS = 1000;
export const HOLD_MAX_MS = 30 * DAY_MS;

/** How long a placed order waits for approval before it expires. */
export const APPROVAL_PERIOD_MS = 7 * DAY_MS;

/** How long a sync token is valid. */
export const SYNC_TOKEN_MS = 30 * DAY_MS;

/** The levels of the tree of categories. */
export const CATEGORY_LEVELS_MAX = 10;

/** The number of days whose event bytes count for the bound `eventBytes`. */
export const EVENT_BYTES_DAYS = 30;

/** The time over which the messages to one recipient are counted. */
export const MESSAGES_WINDOW_MS = 60_000;

/** The maximum number of senders that an account blocks. */
export const BLOCKED_SENDERS_MAX = 1000;
/** The maximum number of notes on a message, and of characters of a note and of a reply. */
export const NOTES_MAX = 20;
export const MESSAGE_NOTE_LENGTH_MAX = 2000;
export const REPLY_LENGTH_MAX = 5000;
/** The UTC hour at which members get the daily e-mail about new messages. */
export const DIGEST_HOUR = 7;
/** The maximum number of animals that it lists. */
export const DIGEST_ANIMALS_MAX = 20;

/** How many secrets may sign the deliveries of one webhook, and for how long after a rotation. */
export const WEBHOOK_SECRETS_MAX = 5;
export const SECRET_OVERLAP_MS = DAY_MS;
export const SECRET_OVERLAP_MAX_MS = 7 * DAY_MS;

/** The time limit of a delivery, and of the wait for a connection before it. */
export const DELIVERY_TIMEOUT_MS = 15_000;
/** A webhook is disabled once every attempt has failed for this long. */
export const FAILING_MAX_MS = 5 * DAY_MS;
/** The maximum number of pending deliveries to a webhook. */
export const PENDING_MAX = 10_000;

/** How many ended imports of an account are kept, and for how long at most. */
export const IMPORTS_KEPT = 20;
export const IMPORTS_KEPT_MS = 30 * DAY_MS;
/** The maximum number of rows of a file, of characters of a row, and the time limit of receiving the file. */
export const IMPORT_ROWS_MAX = 1_000_000;
export const IMPORT_ROW_LENGTH_MAX = 1024 * 1024;
export const IMPORT_UPLOAD_MS = 15 * 60_000;
/** The percentage of the animals that `replace` may delete without a confirmation. */
export const REMOVALS_PERCENT = 20;

/** The maximum number of exports in progress on one node: of one account, and of all. */
export const EXPORTS_MAX = 2;
export const EXPORTS_TOTAL_MAX = 32;

/** Requests within this time after the first rejection were already in flight, so they are not violations. */
export const VIOLATION_GRACE_MS = 2000;
/** The number of violations in this time that bans a key. */
export const VIOLATIONS_MAX = 20;
export const VIOLATIONS_MS = 60_000;
/** The duration of a ban, by step. */
export const BAN_MINUTES = [1, 5, 15, 60] as const;

/**
 * The number of days in which the deletion of an account can be cancelled, unless the operator chooses another time.
 */
export const DELETION_GRACE_DAYS = 30;

/** The number of hours that a key works after its rotation by default. */
export const KEY_OVERLAP_HOURS = 24;
