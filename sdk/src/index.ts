export type { Call, Download, Lines, Page, Pages, Result } from './calls.ts';
export { type Mirror, type MirrorQuery, PetStore, type RawRequest } from './client.ts';
export { ConnectionError, type FieldError, PetstoreError, RateLimitError } from './errors.ts';
export type { EventStream } from './stream.ts';
export type { ClientOptions, RequestOptions, Time } from './transport.ts';
export type * from './types.ts';
export type { FileSource } from './upload.ts';
export {
  unwrapWebhook,
  WebhookError,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookPayload,
} from './webhook.ts';
