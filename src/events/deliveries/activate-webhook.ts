import { type Deployment, nowOf } from '../../access/deployment.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { problem } from '../../model/errors.ts';
import { lockedFact, storeFact } from '../../model/facts.ts';
import type { Actor } from '../../model/log/event.ts';
import { assignPositions, lastPosition } from '../../model/log/ordering.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { type WebhookRow, webhookEtag } from '../../model/webhook.ts';
import { authorityOf, lockWebhook, storeVersion } from '../webhooks/webhooks.ts';
import { DISPATCHED } from './dispatch-job.ts';
import { nextDueTime } from './due-time.ts';
import { continueWaiting } from './redeliveries.ts';
import { requireSuccess, sendTest, storeTest } from './test-delivery.ts';

/**
 * Sends an inactive or disabled webhook the test that precedes its activation, and stores the test. Activates nothing:
 * `activateTested` does.
 * @param isAllowed reports whether the caller may still send it; called directly before sending
 * @throws {Problem} `webhook_test_failed`; `webhook_test_running`
 */
export async function testForActivation(
  deployment: Deployment,
  webhook: Pick<WebhookRow, 'id' | 'url'>,
  isAllowed: () => MaybePromise<boolean>,
): Promise<void> {
  const { database, webhooks } = deployment;
  const result = await sendTest(database, webhooks, webhook, nowOf(deployment), isAllowed);
  await database.write(tx => storeTest(tx, webhook.id, result));
  requireSuccess(result.outcome);
  // Events that were committed before now are not delivered.
  await assignPositions(database);
}

/**
 * Activates a webhook whose receiver has accepted a test delivery. It receives the events that are committed from now
 * on, and its pending deliveries continue. From now on it depends on the actor's key. An active webhook does not
 * change.
 *
 * Events that waited in the log continue as a redelivery. Only the tested version is activated. If no other webhook is
 * active, the dispatch skips all earlier events.
 * @param tested the webhook as it was before the test
 * @throws {Problem} `webhook_not_found`; `webhook_test_failed` if it was changed since; also any error of
 *   `checkPreconditions`
 */
export async function activateTested(
  tx: Transaction,
  actor: Actor,
  tested: Pick<WebhookRow, 'id' | 'version' | 'url'>,
  checkPreconditions: PreconditionCheck = () => {},
): Promise<WebhookRow> {
  const { id } = tested;
  // Lock the position of the dispatch before the webhook, in the same order as the dispatch.
  const dispatched = (await tx.first(lockedFact, { name: DISPATCHED }))!;
  const webhook = await lockWebhook(tx, actor, id);
  // A concurrent request may have tested and activated the same URL.
  if (webhook.status === 'active' && webhook.url === tested.url) return webhook;
  checkPreconditions(webhookEtag(webhook));
  if (webhook.version !== tested.version) {
    throw problem('webhook_test_failed', `Webhook ${id} was changed during the test. Activate it again.`);
  }
  const end = await lastPosition(tx);
  if (Number(dispatched.value) < end && (await tx.first(otherActiveWebhook, { id })) === undefined) {
    await tx.run(storeFact, { name: DISPATCHED, value: String(end) });
  }
  await tx.run(continueWaiting, { id, now: tx.now });
  await tx.run(startAfter, { id, end, notBefore: 0 });
  const active = { status: 'active', disabledReason: null, failingSince: null } as const;
  return storeVersion(tx, webhook, { ...active, ...authorityOf(actor) }, 'activated', actor);
}

const otherActiveWebhook = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).where('id', '<>', p.id).limit(1),
);

/** Starts the dispatch to a webhook after a position, and makes its pending deliveries due. */
const startAfter = query((db, p: Params<{ id: number; end: number; notBefore: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({ behind_place: p.end, waits_up_to: null, due_at: nextDueTime(eb, p) }))
    .where('id', '=', p.id),
);
