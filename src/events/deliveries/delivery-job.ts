import { createAuthorityCheck } from '../../access/keys/authority-check.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { adaptiveLimit } from '../../lib/jobs/pacing.ts';
import type { Reader } from '../../model/schema.ts';
import { type ClaimedDelivery, claimDueDeliveries, releaseClaims } from './claim.ts';
import { createResultRecorder, type RecorderDeps } from './record-result.ts';
import { sendDelivery } from './send.ts';
import { DeliverySlots, FAST_SLOTS, SLOTS } from './slots.ts';

/** The options of the delivery job. */
export interface DeliveryDeps extends RecorderDeps {
  readonly accounts: Reader;
  readonly outgoing: OutgoingClient;
  readonly encryptor: Encryptor;
  /** Called when more deliveries can be claimed, although none has ended. */
  onFreeSlot?(): void;
  now(): number;
}

/** How many deliveries to start at a time when the event loop is busy: requests have priority. */
const BATCH_MIN = 4;

/**
 * Returns the job that delivers events to webhooks: it claims due deliveries, sends each as a signed request, and
 * records the result, which schedules the next attempt.
 */
export function deliveryJob(deps: DeliveryDeps): JobType<ClaimedDelivery, 'deliveries'> {
  const { database, accounts, outgoing, encryptor, now } = deps;
  const recordResult = createResultRecorder(deps);
  const isAllowed = createAuthorityCheck(accounts, now);
  const slots = new DeliverySlots(() => deps.onFreeSlot?.());
  const batchSize = adaptiveLimit(BATCH_MIN, FAST_SLOTS);

  return {
    name: 'deliveries',
    concurrency: SLOTS,

    init: () => releaseClaims(database),

    async claim(limit) {
      const batch = Math.min(limit, await batchSize(), slots.fastFree);
      if (batch <= 0) return { rows: 0, jobs: [] };
      const { deliveries, webhooks, more } = await claimDueDeliveries(database, accounts, batch, slots, now);
      if (more) deps.onFreeSlot?.();
      return { rows: webhooks, jobs: deliveries };
    },

    idOf: ({ id }) => id,

    traceOf({ id, webhookId, event }) {
      return {
        traceparent: event?.traceparent ?? undefined,
        attributes: {
          'petstore.delivery.id': id,
          'petstore.webhook.id': webhookId,
          'petstore.event.type': event && `${event.kind}.${event.action}`,
        },
      };
    },

    run(delivery) {
      const at = Math.floor(now());
      return slots.run(
        delivery,
        () => sendDelivery(outgoing, encryptor, delivery, () => isAllowed(delivery.webhook)),
        outcome => recordResult({ delivery, at, outcome }),
      );
    },
  };
}
