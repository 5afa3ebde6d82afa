import type { PetstoreEvent, WebhookTestEvent } from './types.js';
/** The content of a delivery: an event, or the test of a webhook. */
export type WebhookPayload = (PetstoreEvent & {
    readonly timestamp: string;
}) | WebhookTestEvent;
/** The headers of a request: those of `fetch`, or of a server of Node.js. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
export interface WebhookOptions {
    /** The greatest age of a delivery, in seconds; 300 by default. */
    readonly tolerance?: number;
}
/** A delivery that the service did not sign, or not recently. Respond with 401. */
export declare class WebhookError extends Error {
    readonly name = "WebhookError";
}
/**
 * Returns the content of a webhook delivery after it has checked its signature and its age.
 * @param body the bytes of the body as they arrived, not parsed
 * @param secret the secret of the webhook: `whsec_…`
 * @throws {WebhookError}
 */
export declare function unwrapWebhook(body: string | Uint8Array | ArrayBuffer, headers: WebhookHeaders, secret: string, { tolerance }?: WebhookOptions): Promise<WebhookPayload>;
