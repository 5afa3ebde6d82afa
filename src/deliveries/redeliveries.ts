import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { lastPlace, placeBefore } from '../events/log.ts';
import { eventsAt } from '../events/ordering.ts';
import { withOwners } from '../events/owners.ts';
import { placeIn } from '../events/public/public-event.ts';
import { sees } from '../events/public/visibility.ts';
import { formatTime } from '../lib/time.ts';
import { type Params, query, type Transaction } from '../schema.ts';
import { lockWebhook } from '../webhooks/get-webhook.ts';
import type { WebhookRow } from '../webhooks/webhook-rows.ts';
import { deliveryOf, insertDeliveries } from './dispatch.ts';

/**
 * Has one event delivered to a webhook once more, whether or not it is of the types and categories that the webhook asks
 * for: who names an event wants it.
 * @param owner whose view of the events the webhook has
 * @param keptFrom only what was written down at this time or later is told
 * @throws {Problem} `webhook_not_found`; `webhook_not_active`; `event_not_found`, also where the owner may not see it
 */
export async function redeliverEvent(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  eventId: string,
  owner: Actor,
  keptFrom: number,
): Promise<void> {
  requireActive(await lockWebhook(tx, actor, webhookId));
  const [event] = await withOwners(tx, await eventsAt(tx, [placeIn(eventId)]));
  if (event === undefined || event.at < keptFrom || !sees(owner, event)) {
    throw problem('event_not_found', `There is no event ${eventId}.`);
  }
  await insertDeliveries(tx, webhookId, [deliveryOf(event)]);
}

/**
 * Has everything that a webhook asks for, of what was written down since a time until now, delivered once more; a batch
 * at a time (`dispatch.ts`).
 * @param since milliseconds since the Unix epoch, at most `tx.now`
 * @param keptFrom only what was written down at this time or later is told
 * @throws {Problem} `webhook_not_found`; `webhook_not_active`; `events_expired` for a time before `keptFrom`;
 *   `redelivery_running` while one is worked off
 */
export async function redeliverSince(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  since: number,
  keptFrom: number,
): Promise<{ readonly id: number }> {
  requireActive(await lockWebhook(tx, actor, webhookId));
  if (since < keptFrom) {
    throw problem('events_expired', `Events before ${formatTime(keptFrom)} are no longer told.`);
  }
  const running = await tx.first(redeliveryOf, { webhookId });
  if (running !== undefined) {
    throw problem(
      'redelivery_running',
      `Everything since ${formatTime(running.since)} is still being delivered again.`,
    );
  }
  const place = await placeBefore(tx, since);
  return (await tx.first(insertRedelivery, { webhookId, place, upTo: await lastPlace(tx), since, now: tx.now }))!;
}

function requireActive({ id, status }: WebhookRow): void {
  if (status === 'active') return;
  throw problem('webhook_not_active', `Webhook ${id} is ${status}; nothing is delivered to it before it is activated.`);
}

const redeliveryOf = query((db, p: Params<{ webhookId: number }>) =>
  db.selectFrom('redeliveries').select('since').where('webhook_id', '=', p.webhookId).limit(1),
);

const insertRedelivery = query(
  (db, p: Params<{ webhookId: number; place: number; upTo: number; since: number; now: number }>) =>
    db
      .insertInto('redeliveries')
      .values({ webhook_id: p.webhookId, place: p.place, up_to: p.upTo, since: p.since, created_at: p.now })
      .returning('id'),
);
