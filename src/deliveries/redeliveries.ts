import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { eventsAfter, eventsAt, lastPosition, positionBefore } from '../events/ordering.ts';
import { withOwners } from '../events/owners.ts';
import { positionOf } from '../events/public/public-event.ts';
import { canSee } from '../events/public/visibility.ts';
import { formatTime } from '../lib/time.ts';
import { type Database, type Params, query, sql, type Transaction } from '../schema.ts';
import { matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import type { WebhookRow } from '../webhooks/webhook.ts';
import { lockWebhook } from '../webhooks/webhooks.ts';
import { insertDeliveries, newDelivery } from './insert-deliveries.ts';

/**
 * Delivers one event to a webhook again, even if the webhook does not subscribe to its type or category.
 * @param owner the owner of the webhook, whose visibility of events applies
 * @param retainedFrom events that were recorded before this time are expired
 * @throws {Problem} `webhook_not_found`; `webhook_not_active`; `event_not_found`, also if the owner cannot see the event
 */
export async function redeliverEvent(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  eventId: string,
  owner: Actor,
  retainedFrom: number,
): Promise<void> {
  requireActive(await lockWebhook(tx, actor, webhookId));
  const [event] = await withOwners(tx, await eventsAt(tx, [positionOf(eventId)]));
  if (event === undefined || event.at < retainedFrom || !canSee(owner, event)) {
    throw problem('event_not_found', `There is no event ${eventId}.`);
  }
  await insertDeliveries(tx, webhookId, [newDelivery(event)]);
}

/**
 * Starts to deliver all events again that were recorded from a time until now and that the webhook subscribes to.
 * `dispatch` creates the deliveries in batches.
 * @param since milliseconds since the Unix epoch, at most `tx.now`
 * @param retainedFrom events that were recorded before this time are expired
 * @throws {Problem} `webhook_not_found`; `webhook_not_active`; `events_expired` for a time before `retainedFrom`;
 *   `redelivery_running` if the webhook has one in progress
 */
export async function redeliverSince(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  since: number,
  retainedFrom: number,
): Promise<{ readonly id: number }> {
  requireActive(await lockWebhook(tx, actor, webhookId));
  if (since < retainedFrom) {
    throw problem('events_expired', `Events before ${formatTime(retainedFrom)} have expired.`);
  }
  const running = await tx.first(runningRedelivery, { webhookId });
  if (running !== undefined) {
    const from = formatTime(running.since);
    throw problem('redelivery_running', `The redelivery of all events since ${from} is still running.`);
  }
  const after = await positionBefore(tx, since);
  return (await tx.first(insertRedelivery, { webhookId, after, upTo: await lastPosition(tx), since, now: tx.now }))!;
}

/** Thrown to roll back a transaction whose deliveries were selected for another version of a webhook. */
export class WebhookChanged extends Error {}

const EVENTS_PER_BATCH = 500;

/**
 * Creates the deliveries of one batch of the oldest redelivery.
 * @returns the number of examined events; 0 if there is no redelivery, or another process was faster
 * @throws {WebhookChanged}
 */
export async function dispatchRedelivery(database: Database, subscriptions: readonly Subscription[]): Promise<number> {
  const redelivery = await database.first(oldestRedelivery, {});
  const subscription = subscriptions.find(({ id }) => id === redelivery?.webhookId);
  if (redelivery === undefined || subscription === undefined) return 0;
  const { id, after, upTo, since } = redelivery;
  const batch = await eventsAfter(database, after, upTo, EVENTS_PER_BATCH);
  const recordedSince = batch.filter(({ at }) => at >= since);
  const events = await withOwners(database, recordedSince);
  const matches = await matchEvents(database, [{ ...subscription, afterPosition: 0 }], events);
  const next = batch.length < EVENTS_PER_BATCH ? upTo : batch.at(-1)!.position;
  const moved = await database.write(async tx => {
    const rows =
      next >= upTo
        ? await tx.run(deleteRedelivery, { id, after })
        : await tx.run(moveRedelivery, { id, after, to: next });
    if (rows === 0) return false;
    for (const [{ id, version }, events] of matches) {
      if (!(await insertDeliveries(tx, id, events.map(newDelivery), version))) throw new WebhookChanged();
    }
    return true;
  });
  return moved ? Math.max(1, batch.length) : 0;
}

function requireActive({ id, status }: WebhookRow): void {
  if (status === 'active') return;
  throw problem('webhook_not_active', `Webhook ${id} is ${status}. Activate it first.`);
}

const runningRedelivery = query((db, p: Params<{ webhookId: number }>) =>
  db.selectFrom('redeliveries').select('since').where('webhook_id', '=', p.webhookId).limit(1),
);

type NewRow = { webhookId: number; after: number; upTo: number; since: number; now: number };

const insertRedelivery = query((db, p: Params<NewRow>) =>
  db
    .insertInto('redeliveries')
    .values({ webhook_id: p.webhookId, place: p.after, up_to: p.upTo, since: p.since, created_at: p.now })
    .returning('id'),
);

const oldestRedelivery = query(db =>
  db
    .selectFrom('redeliveries')
    .innerJoin('webhooks', 'webhooks.id', 'redeliveries.webhook_id')
    .select([
      'redeliveries.id',
      'redeliveries.webhook_id as webhookId',
      'redeliveries.place as after',
      'redeliveries.up_to as upTo',
      'redeliveries.since',
    ])
    .where('webhooks.status', '=', sql.lit('active'))
    .where('webhooks.deleted_at', 'is', null)
    .orderBy('redeliveries.id')
    .limit(1),
);

const moveRedelivery = query((db, p: Params<{ id: number; after: number; to: number }>) =>
  db.updateTable('redeliveries').set({ place: p.to }).where('id', '=', p.id).where('place', '=', p.after),
);

const deleteRedelivery = query((db, p: Params<{ id: number; after: number }>) =>
  db.deleteFrom('redeliveries').where('id', '=', p.id).where('place', '=', p.after),
);
