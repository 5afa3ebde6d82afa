import { signatureHeaders } from '../../lib/signature.ts';

/** An event, or a test of a webhook, as the API shows it. */
export interface SignedEvent {
  readonly type: string;
  readonly time: string;
  readonly id: string;
}

/**
 * Returns the request that delivers an event, in the format of Standard Webhooks.
 * @param sentAt milliseconds since the Unix epoch
 * @param secrets sign the request, the newest first
 */
export function signedRequest(
  { type, time, ...event }: SignedEvent,
  sentAt: number,
  secrets: readonly Buffer[],
  trace: { readonly traceparent?: string } = {},
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  // Standard Webhooks calls the time `timestamp`.
  const body = JSON.stringify({ type, timestamp: time, time, ...event });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Petstore-Webhooks/1',
    ...trace,
    ...signatureHeaders(event.id, sentAt, body, secrets),
  };
  return { headers, body };
}
