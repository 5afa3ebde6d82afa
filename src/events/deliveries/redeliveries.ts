import type { Kysely } from 'kysely';
import { type Deployment, nowOf } from '../../access/deployment.ts';
import { authoritiesOf } from '../../access/keys/authority.ts';
import { countText } from '../../lib/text.ts';
import { formatTime } from '../../lib/time.ts';
import { invalidBody, problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { assignPositions, eventsAt, lastPosition, positionBefore } from '../../model/log/ordering.ts';
import { withOwners } from '../../model/log/owners.ts';
import { positionOf } from '../../model/public-event.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import { type Database, type Params, query, sql, type Tables, type Transaction } from '../../model/schema.ts';
import type { WebhookRow } from '../../model/webhook.ts';
import { canSee } from '../public/visibility.ts';
import { webhookEvent } from '../webhooks/events.ts';
import type { Subscription } from '../webhooks/subscriptions.ts';
import { lockWebhook } from '../webhooks/webhooks.ts';
import { insertDeliveries, newDelivery, withoutAhead } from './insert-deliveries.ts';
import { nextBatch, WebhookChanged } from './waiting-events.ts';

/**
 * Delivers one event to a webhook again, even if the webhook does not subscribe to its type or category.
 * @param owner the owner of the webhook, whose visibility of events applies
 * @param retainedFrom events that were recorded before this time are expired
 * @throws {Problem} `webhook_not_found`; `webhook_not_active`; `event_not_found`, also if the owner cannot see the
 *   event; `delivery_limit_exceeded`
 */
export async function redeliverEvent(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  eventId: string,
  owner: Actor,
  retainedFrom: number,
): Promise<void> {
  const webhook = await lockWebhook(tx, actor, webhookId);
  requireActive(webhook);
  const [event] = await withOwners(tx, await eventsAt(tx, [positionOf(eventId)]));
  if (event === undefined || event.at < retainedFrom || !canSee(owner, event)) {
    throw problem('event_not_found', `There is no event ${eventId}.`);
  }
  const { pending } = (await tx.first(pendingOf, { webhookId }))!;
  if (pending >= PENDING_MAX) {
    const message = `Webhook ${webhookId} already has the maximum of ${countText(PENDING_MAX)} pending deliveries.`;
    throw problem('delivery_limit_exceeded', message);
  }
  await insertDeliveries(tx, webhookId, [newDelivery(event)]);
  await record(tx, webhookEvent('redelivery_requested', webhook, actor));
}

/** Returns the owner of a webhook with its scopes, whose visibility of events applies to its redeliveries. */
export async function ownerActorOf(deployment: Deployment, webhook: WebhookRow): Promise<Actor> {
  const [authority] = await authoritiesOf(deployment.webhooks.accounts, [webhook], nowOf(deployment));
  return authority!.actor;
}

/**
 * Makes the events that were committed before now available to `redeliverSince`.
 * @throws {Problem} `invalid_body` if `since` is in the future
 */
export async function prepareRedelivery(deployment: Deployment, since: number): Promise<void> {
  const now = nowOf(deployment);
  if (since > now) throw invalidBody('/since', 'out_of_range', `Must not be later than now, ${formatTime(now)}.`);
  await assignPositions(deployment.database);
}

/**
 * Starts to deliver all events again that were recorded since a time and that the webhook subscribes to. `dispatch`
 * creates the deliveries in batches.
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
  const webhook = await lockWebhook(tx, actor, webhookId);
  requireActive(webhook);
  if (since < retainedFrom) {
    throw problem('events_expired', `Events before ${formatTime(retainedFrom)} have expired.`);
  }
  const running = await tx.first(runningRedelivery, { webhookId });
  if (running !== undefined) {
    const events = running.since === CONTINUED ? 'that waited for room' : `since ${formatTime(running.since)}`;
    throw problem('redelivery_running', `The redelivery of all events ${events} is still running.`);
  }
  const after = await positionBefore(tx, since);
  await record(tx, webhookEvent('redelivery_requested', webhook, actor));
  return (await tx.first(insertRedelivery, { webhookId, after, upTo: await lastPosition(tx), since, now: tx.now }))!;
}

/**
 * A redelivery pauses above this number of pending deliveries, so that new events do not wait for the whole redelivery.
 */
const PAUSED_ABOVE = 500;

/**
 * Creates the deliveries of one batch of a redelivery: the oldest redelivery of the webhook with the fewest pending
 * deliveries.
 * @returns the number of examined events; 0 if no redelivery can continue, or another process has done the batch
 * @throws {WebhookChanged}
 */
export async function dispatchRedelivery(database: Database, subscriptions: readonly Subscription[]): Promise<number> {
  const redelivery = await database.first(nextRedelivery, {});
  const webhook = subscriptions.find(one => one.id === redelivery?.webhookId);
  if (redelivery === undefined || webhook === undefined) return 0;
  const { id, after, upTo, since } = redelivery;
  const { deliveries, next, examined } = await nextBatch(database, webhook, redelivery);
  const moved = await database.write(async tx => {
    const rows =
      next >= upTo
        ? await tx.run(deleteRedelivery, { id, after })
        : await tx.run(moveRedelivery, { id, after, to: next });
    if (rows === 0) return false;
    const missing = since === CONTINUED ? await withoutAhead(tx, webhook.id, deliveries) : deliveries;
    if (!(await insertDeliveries(tx, webhook.id, missing, webhook.version))) throw new WebhookChanged();
    return true;
  });
  return moved ? Math.max(1, examined) : 0;
}

/** The `since` of a redelivery that `continueWaiting` started. */
const CONTINUED = 0;

/** Starts a redelivery of the events that waited in the log when a webhook became inactive, and stores their range. */
export const continueWaiting = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .insertInto('redeliveries')
    .columns(['webhook_id', 'place', 'up_to', 'since', 'created_at'])
    .expression(({ selectFrom, lit }) =>
      selectFrom('webhooks')
        .select([
          'id',
          'behind_place',
          'waits_up_to',
          lit(CONTINUED).as('since'),
          sql<number>`cast(${p.now} as bigint)`.as('now'),
        ])
        .where('id', '=', p.id)
        .where('waits_up_to', 'is not', null),
    ),
);

function requireActive({ id, status }: WebhookRow): void {
  if (status === 'active') return;
  throw problem('webhook_not_active', `Webhook ${id} is ${status}. Activate it first.`);
}

const runningRedelivery = query((db, p: Params<{ webhookId: number }>) =>
  db.selectFrom('redeliveries').select('since').where('webhook_id', '=', p.webhookId).limit(1),
);

const pendingOf = query((db, p: Params<{ webhookId: number }>) =>
  db.selectFrom('webhooks').select('pending').where('id', '=', p.webhookId),
);

type NewRow = { webhookId: number; after: number; upTo: number; since: number; now: number };

const insertRedelivery = query((db, p: Params<NewRow>) =>
  db
    .insertInto('redeliveries')
    .values({ webhook_id: p.webhookId, place: p.after, up_to: p.upTo, since: p.since, created_at: p.now })
    .returning('id'),
);

/** The redeliveries that can continue: of active webhooks with few pending deliveries. */
export const redeliveryWithRoom = (db: Kysely<Tables>) =>
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
    .where('webhooks.pending', '<=', sql.lit(PAUSED_ABOVE));

const nextRedelivery = query(db =>
  redeliveryWithRoom(db).orderBy('webhooks.pending').orderBy('redeliveries.id').limit(1),
);

const moveRedelivery = query((db, p: Params<{ id: number; after: number; to: number }>) =>
  db.updateTable('redeliveries').set({ place: p.to }).where('id', '=', p.id).where('place', '=', p.after),
);

const deleteRedelivery = query((db, p: Params<{ id: number; after: number }>) =>
  db.deleteFrom('redeliveries').where('id', '=', p.id).where('place', '=', p.after),
);
