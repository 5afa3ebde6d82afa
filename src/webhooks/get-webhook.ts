import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { rowOf, type WebhookColumns, type WebhookRow, webhookColumns } from './webhook-rows.ts';

/**
 * The webhook with this id, for the account that it belongs to and for admins.
 * @throws {Problem} `webhook_not_found`, also for everybody else
 */
export async function getWebhook(reader: Reader, actor: Actor, id: number): Promise<WebhookRow> {
  return visible(await reader.first(webhookById, { id }), actor, id);
}

/**
 * The same, until the transaction ends in nobody else's hands.
 * @throws {Problem} `webhook_not_found`
 */
export async function lockWebhook(tx: Transaction, actor: Actor, id: number): Promise<WebhookRow> {
  const webhook = visible(await tx.first(lockedWebhook, { id }), actor, id);
  tx.refreshNow(webhook.updatedAt);
  return webhook;
}

function visible(columns: WebhookColumns | undefined, { accountId, admin }: Actor, id: number): WebhookRow {
  if (columns === undefined || !(admin || columns.accountId === accountId)) {
    throw problem('webhook_not_found', `There is no webhook ${id}.`);
  }
  return rowOf(columns);
}

const webhookById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select(webhookColumns).where('id', '=', p.id).where('deleted_at', 'is', null),
);

const lockedWebhook = query((db, p: Params<{ id: number }>, engine) => {
  const webhook = db
    .selectFrom('webhooks')
    .select(webhookColumns)
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null);
  return engine === 'postgres' ? webhook.forUpdate() : webhook;
});
