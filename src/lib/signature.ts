import { createHmac } from 'node:crypto';

/** How secrets that sign are written: this, then base64. */
const PREFIX = 'whsec_';

/** A secret that signs, as it is shown to who is to verify. */
export function secretText(secret: Buffer): string {
  return PREFIX + secret.toString('base64');
}

/**
 * The headers that sign a delivery as Standard Webhooks 1.0.0 has it: `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`, with one signature (`v1`, HMAC-SHA256) for each secret.
 * @param id the same for every attempt, so that a receiver can tell what it has had
 * @param at when it is sent, in milliseconds since the Unix epoch; the receiver refuses what is minutes old
 */
export function signed(
  id: string,
  at: number,
  body: string,
  secrets: readonly Buffer[],
): Readonly<Record<`webhook-${'id' | 'timestamp' | 'signature'}`, string>> {
  const timestamp = String(Math.floor(at / 1000));
  const signatures = secrets.map(
    secret => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
