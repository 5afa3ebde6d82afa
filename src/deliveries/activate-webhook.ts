import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { lastPosition } from '../events/ordering.ts';
import type { PreconditionCheck } from '../lib/http/route.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';
import type { WebhookRow } from '../webhooks/webhook.ts';
import { webhookEtag } from '../webhooks/webhook.ts';
import { lockWebhook } from '../webhooks/webhooks.ts';
import { nextDueTime } from './due-time.ts';

/**
 * Activates a webhook whose receiver has accepted a test delivery. It receives the events that are committed from now on,
 * and its pending deliveries continue. An active webhook stays as it is.
 *
 * Only the tested version is activated. If no other webhook is active, the dispatch skips all earlier events.
 * @param tested the webhook as it was before the test
 * @throws {Problem} `webhook_not_found`; `webhook_test_failed` if it was changed since; what `checkPreconditions` throws
 */
export async function activateTested(
  tx: Transaction,
  actor: Actor,
  tested: Pick<WebhookRow, 'id' | 'version' | 'url'>,
  checkPreconditions: PreconditionCheck = () => {},
): Promise<WebhookRow> {
  const { id } = tested;
  // Lock the position of the dispatch first and the webhook second, in the order of the dispatch.
  const dispatched = (await tx.first(lockedDispatchedPosition, {}))!;
  const webhook = await lockWebhook(tx, actor, id);
  // A concurrent request may have tested and activated the same URL.
  if (webhook.status === 'active' && webhook.url === tested.url) return webhook;
  checkPreconditions(webhookEtag(webhook));
  if (webhook.version !== tested.version) {
    throw problem('webhook_test_failed', `Webhook ${id} was changed during the test. Activate it again.`);
  }
  const end = await lastPosition(tx);
  if (Number(dispatched.value) < end && (await tx.first(otherActiveWebhook, { id })) === undefined) {
    await tx.run(moveDispatched, { upTo: String(end) });
  }
  await tx.run(activate, { id, end, now: tx.now, notBefore: 0 });
  return {
    ...webhook,
    status: 'active',
    disabledReason: null,
    failingSince: null,
    version: webhook.version + 1,
    updatedAt: tx.now,
  };
}

const lockedDispatchedPosition = query((db, _: Params<Record<never, never>>, engine) => {
  const position = db.selectFrom('facts').select('value').where('name', '=', 'dispatched');
  return engine === 'postgres' ? position.forUpdate() : position;
});

const otherActiveWebhook = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).where('id', '<>', p.id).limit(1),
);

const moveDispatched = query((db, p: Params<{ upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', 'dispatched'),
);

const activate = query((db, p: Params<{ id: number; end: number; now: number; notBefore: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({
      status: 'active',
      disabled_reason: null,
      failing_since: null,
      behind_place: p.end,
      due_at: nextDueTime(eb, p),
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
);
