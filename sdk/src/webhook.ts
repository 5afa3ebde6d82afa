import type { PetstoreEvent, WebhookTestEvent } from './types.ts';

/** The content of a delivery: an event, or the test of a webhook. */
export type WebhookPayload = (PetstoreEvent & { readonly timestamp: string }) | WebhookTestEvent;

/** The headers of a request: those of `fetch`, or of a server of Node.js. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** The greatest age of a delivery, in seconds; 300 by default. */
  readonly tolerance?: number;
}

/** A delivery that the service did not sign, or not recently. Respond with 401. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/**
 * Returns the content of a webhook delivery after it has checked its signature and its age.
 * @param body the bytes of the body as they arrived, not parsed
 * @param secret the secret of the webhook: `whsec_…`
 * @throws {WebhookError}
 */
export async function unwrapWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string,
  { tolerance = 300 }: WebhookOptions = {},
): Promise<WebhookPayload> {
  const header = (name: string) => headerOf(headers, `webhook-${name}`);
  const [id, timestamp, signatures] = [header('id'), header('timestamp'), header('signature')];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance))
    throw new WebhookError('The delivery is not recent.');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const key = await crypto.subtle.importKey(
    ...['raw' as const, bytesOf(secret.replace(/^whsec_/, '')), { name: 'HMAC', hash: 'SHA-256' }, false],
    ['verify'],
  );
  const content = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const signature of signatures.split(' ')) {
    const [, mac] = signature.match(/^v1,([A-Za-z0-9+/]{43}=)$/) ?? [];
    if (mac && (await crypto.subtle.verify('HMAC', key, bytesOf(mac), content)))
      return JSON.parse(text) as WebhookPayload;
  }
  throw new WebhookError('The signature is wrong.');
}

/** Returns a header, whatever the case of its name. */
function headerOf(headers: WebhookHeaders, name: string): string {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return String(entries.find(([one]) => one.toLowerCase() === name)?.[1] ?? '');
}

/** Decodes base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0));
}
