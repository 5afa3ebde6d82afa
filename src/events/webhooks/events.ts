import type { Actor, NewEvent } from '../../model/log/event.ts';
import type { ActionOf } from '../../model/nouns.ts';
import { type WebhookRow, webhookValues } from '../../model/webhook.ts';

/** The members of a webhook event besides the webhook's state. */
interface WebhookChange {
  /** The webhook before the change. */
  readonly before?: WebhookRow;
  readonly reason?: string | undefined;
}

/**
 * Returns the event for a change of a webhook: the webhook after the change, or before its deletion. It has no secrets
 * and no key, and the URL without its query, because receivers may use that as a password and events cannot be deleted.
 * @param actor the account that made the change; `undefined` for the service
 */
export function webhookEvent(
  action: ActionOf<'webhook'>,
  webhook: WebhookRow,
  actor: Pick<Actor, 'accountId'> | undefined,
  { before, reason }: WebhookChange = {},
): NewEvent {
  const after = withoutQuery(webhook);
  const was = before && webhookValues.changesOf(withoutQuery(before), after);
  const data = {
    webhook: webhookValues.stateOf(after),
    ownerId: webhook.accountId,
    ...(was !== undefined && { was }),
    ...(reason !== undefined && { reason }),
  };
  return { kind: 'webhook', action, subjectId: webhook.id, accountId: actor?.accountId ?? null, data };
}

function withoutQuery(webhook: WebhookRow): WebhookRow {
  const [url] = webhook.url.split('?') as [string];
  return { ...webhook, url };
}
