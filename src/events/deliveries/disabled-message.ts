import { durationIn } from '../../lib/time.ts';
import { FAILING_MAX_MS } from '../../model/rules.ts';
import type { Transaction } from '../../model/schema.ts';
import { sendNotification } from '../../store/messages/messages.ts';
import type { DisabledWebhook } from './record-result.ts';

/** Sends the owner of a disabled webhook a message from the store: the reason, and what to do. */
export async function sendDisabledMessage(tx: Transaction, webhook: DisabledWebhook): Promise<void> {
  const { id, accountId, url, reason } = webhook;
  const why = {
    gone: 'because its receiver responded with status 410 (Gone)',
    failing: `because no delivery to it has succeeded for ${durationIn('day', FAILING_MAX_MS, 'words')}`,
  };
  await sendNotification(
    tx,
    accountId,
    `Your webhook ${id} was disabled, ${why[reason]}.\n\nIts URL: ${url}\n\n` +
      `No events are sent to it any more. Pending deliveries are kept: when the receiver works again, activate the webhook ` +
      `with POST /v1/webhooks/${id}/activation. To get the events that you missed, use POST ` +
      `/v1/webhooks/${id}/redeliveries.`,
  );
}
