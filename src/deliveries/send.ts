import { canSeeActor, publicEvent } from '../events/public/visibility.ts';
import type { Encryptor } from '../lib/encryption.ts';
import type { OutgoingClient } from '../lib/http/client/client.ts';
import type { Outcome } from '../lib/http/client/outcome.ts';
import { signatureHeaders } from '../lib/signature.ts';
import { decryptSecret } from '../webhooks/secrets.ts';
import type { ClaimedDelivery } from './claim.ts';
import type { AttemptRow } from './delivery.ts';

/** Sends a claimed delivery as a signed request. Returns its outcome; `undefined` if the event is no longer retained. */
export async function sendDelivery(
  outgoing: OutgoingClient,
  encryptor: Encryptor,
  { webhookId, url, encryptedSecrets, owner, event }: ClaimedDelivery,
): Promise<Outcome | undefined> {
  if (event === undefined) return undefined;
  const visible = publicEvent(event, canSeeActor(owner, event));
  const secrets = encryptedSecrets.map(secret => decryptSecret(encryptor, webhookId, secret));
  return postSigned(outgoing, url, visible, secrets);
}

/** Posts an event, or a test event, in the format of Standard Webhooks. */
export function postSigned(
  outgoing: OutgoingClient,
  url: string,
  { type, time, ...event }: { readonly type: string; readonly time: string; readonly id: string },
  secrets: readonly Buffer[],
): Promise<Outcome> {
  // Standard Webhooks calls the time `timestamp`.
  const body = JSON.stringify({ type, timestamp: time, time, ...event });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Petstore-Webhooks/1',
    ...signatureHeaders(event.id, outgoing.now(), body, secrets),
  };
  return outgoing.post({ url, headers, body });
}

/** Reports whether the receiver accepted a delivery: it responded with a status from 200 to 299. */
export function isSuccess(outcome: Outcome): boolean {
  return 'status' in outcome && outcome.status >= 200 && outcome.status < 300;
}

/** Returns what is stored of the attempt that began `at` and had this outcome. */
export function attemptRow(deliveryId: number, number: number, at: number, outcome: Outcome): Required<AttemptRow> {
  const attempt = { deliveryId, number, at, durationMs: Math.round(outcome.durationMs) };
  return 'fault' in outcome
    ? { ...attempt, status: null, fault: outcome.fault, answer: null }
    : { ...attempt, status: outcome.status, fault: null, answer: outcome.body };
}
