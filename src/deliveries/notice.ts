import { sendNotification } from '../messages/messages.ts';
import type { Transaction } from '../schema.ts';
import type { SwitchedOff } from './record-result.ts';

/** Tells the owner of a webhook that the store switched it off, why, and what to do, by a message from the store. */
export async function tellOwner(tx: Transaction, { id, accountId, url, reason }: SwitchedOff): Promise<void> {
  const why = {
    gone: 'because its receiver answered 410: it is gone for good',
    failing: 'because no delivery to it has succeeded for five days',
  };
  await sendNotification(
    tx,
    accountId,
    `Your webhook ${id} was switched off, ${why[reason]}.\n\nIt sent events to ${url}\n\n` +
      `Nothing is sent to it any more. What waits is kept: when the receiver works again, activate the webhook with ` +
      `POST /v1/webhooks/${id}/activation. What happened meanwhile comes with POST /v1/webhooks/${id}/redeliveries.`,
  );
}
