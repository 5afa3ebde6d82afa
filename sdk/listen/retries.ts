/** The waits before a post is repeated, in seconds: as many as webhooks have, but hours become seconds. */
export const RETRY_SECONDS: readonly number[] = [1, 2, 5, 10, 20, 30, 30];
/** Each wait is up to this share longer. */
export const RETRY_JITTER = 0.1;
/** The longest `Retry-After` of the receiver that is honored, in seconds. */
export const RETRY_AFTER_MAX = 60;
