import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { lastPlace } from '../events/log.ts';
import type { Precondition } from '../pets/pets.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';
import { lockWebhook } from './get-webhook.ts';
import { type WebhookRow, webhookEtag } from './webhook-rows.ts';

/**
 * Makes a webhook active whose receiver has just taken a test: what is committed from now on is delivered to it, and what
 * waits goes on. One that is active already stays as it is.
 *
 * Only the version that was tested is activated: its URL and nobody's later wish are what counts. Where no other webhook
 * is active nobody wants deliveries of what happened before, so none are made.
 * @param tested the webhook as it was before the test
 * @throws {Problem} `webhook_not_found`; `webhook_test_failed` where it was changed since; what `expect` throws
 */
export async function activateTested(
  tx: Transaction,
  actor: Actor,
  tested: Pick<WebhookRow, 'id' | 'version' | 'url'>,
  expect: Precondition = () => {},
): Promise<WebhookRow> {
  const { id } = tested;
  // First what says how far deliveries were made, then the webhook: as who makes them takes them.
  const dispatched = (await tx.first(dispatchedPlace, {}))!;
  const webhook = await lockWebhook(tx, actor, id);
  // Somebody else may have tested the same and been quicker.
  if (webhook.status === 'active' && webhook.url === tested.url) return webhook;
  expect(webhookEtag(webhook));
  if (webhook.version !== tested.version) {
    throw problem('webhook_test_failed', `Webhook ${id} was changed while it was tested. Activate it once more.`);
  }
  const end = await lastPlace(tx);
  if (Number(dispatched.value) < end && (await tx.first(otherActive, { id })) === undefined) {
    await tx.run(moveDispatched, { upTo: String(end) });
  }
  await tx.run(activate, { id, end, now: tx.now });
  return {
    ...webhook,
    status: 'active',
    disabledReason: null,
    failingSince: null,
    version: webhook.version + 1,
    updatedAt: tx.now,
  };
}

const dispatchedPlace = query((db, _: Params<Record<never, never>>, engine) => {
  const fact = db.selectFrom('facts').select('value').where('name', '=', 'dispatched');
  return engine === 'postgres' ? fact.forUpdate() : fact;
});

const otherActive = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).where('id', '<>', p.id).limit(1),
);

const moveDispatched = query((db, p: Params<{ upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', 'dispatched'),
);

const activate = query((db, p: Params<{ id: number; end: number; now: number }>) =>
  db
    .updateTable('webhooks')
    .set(({ eb, selectFrom }) => ({
      status: 'active',
      disabled_reason: null,
      failing_since: null,
      behind_place: p.end,
      due_at: selectFrom('deliveries')
        .select('due_at')
        .where('webhook_id', '=', p.id)
        .where('due_at', 'is not', null)
        .orderBy('due_at')
        .limit(1),
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
);
