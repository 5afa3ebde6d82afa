export type { Call, Download, Lines, Page, Pages, Result } from './calls.js';
export { type Mirror, type MirrorQuery, PetStore, type RawRequest } from './client.js';
export { ConnectionError, type FieldError, PetstoreError, RateLimitError } from './errors.js';
export type { EventStream } from './stream.js';
export type { ClientOptions, RequestOptions, Time } from './transport.js';
export type * from './types.js';
export type { FileSource } from './upload.js';
export { unwrapWebhook, WebhookError, type WebhookHeaders, type WebhookOptions, type WebhookPayload, } from './webhook.js';
