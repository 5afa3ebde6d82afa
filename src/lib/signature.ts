import { createHmac } from 'node:crypto';

/** Formats a signing secret as Standard Webhooks does: `whsec_` and base64. */
export function formatSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/**
 * Returns the headers that sign a delivery by Standard Webhooks 1.0.0: `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`, with one signature (`v1`, HMAC-SHA256) per secret.
 * @param id identifies the event; equal for all attempts, so that receivers can ignore repeated deliveries
 * @param sentAt milliseconds since the Unix epoch; receivers reject timestamps more than five minutes old
 */
export function signatureHeaders(
  id: string,
  sentAt: number,
  body: string,
  secrets: readonly Buffer[],
): Readonly<Record<`webhook-${'id' | 'timestamp' | 'signature'}`, string>> {
  const timestamp = String(Math.floor(sentAt / 1000));
  const content = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map(secret => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
