import type { Encryptor } from '../../lib/encryption.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { Outcome } from '../../lib/http/client/outcome.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import type { AttemptRow } from '../../model/delivery.ts';
import { canSee, publicEvent, sightOf } from '../public/visibility.ts';
import { decryptSecret } from '../webhooks/secrets.ts';
import type { ClaimedDelivery } from './claim.ts';
import { type SignedEvent, signedRequest } from './signed-request.ts';

/**
 * Sends a claimed delivery as a signed request.
 * @param isAllowed reports whether the webhook may be sent events now; called directly before sending
 * @returns its outcome; `undefined` if the event is no longer retained, or no longer visible to the webhook
 */
export async function sendDelivery(
  outgoing: OutgoingClient,
  encryptor: Encryptor,
  { webhookId, url, encryptedSecrets, authority: { actor }, event }: ClaimedDelivery,
  isAllowed: () => MaybePromise<boolean>,
): Promise<Outcome | undefined> {
  if (event === undefined || !canSee(actor, event)) return undefined;
  const sight = sightOf(actor, event);
  const visible = publicEvent(event, sight);
  const secrets = encryptedSecrets.map(secret => decryptSecret(encryptor, webhookId, secret));
  // The trace belongs to the caller who caused the event.
  const { traceparent } = event;
  return postSigned(
    outgoing,
    url,
    visible,
    secrets,
    isAllowed,
    sight !== 'public' && traceparent ? { traceparent } : {},
  );
}

/** Posts an event, or a test event, in the format of Standard Webhooks. */
export function postSigned(
  outgoing: OutgoingClient,
  url: string,
  event: SignedEvent,
  secrets: readonly Buffer[],
  isAllowed: () => MaybePromise<boolean>,
  trace: { readonly traceparent?: string } = {},
): Promise<Outcome> {
  return outgoing.post({ url, ...signedRequest(event, outgoing.now(), secrets, trace), isAllowed });
}

/** Reports whether the receiver accepted a delivery: it responded with a status from 200 to 299. */
export function isSuccess(outcome: Outcome): boolean {
  return 'status' in outcome && outcome.status >= 200 && outcome.status < 300;
}

/** Returns the row of an attempt that began `at` and had this outcome. */
export function attemptRow(deliveryId: number, number: number, at: number, outcome: Outcome): Required<AttemptRow> {
  const attempt = { deliveryId, number, at, durationMs: Math.round(outcome.durationMs) };
  return 'fault' in outcome
    ? { ...attempt, status: null, fault: outcome.fault, answer: null }
    : { ...attempt, status: outcome.status, fault: null, answer: outcome.body };
}
