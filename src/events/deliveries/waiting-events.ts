import type { Kysely } from 'kysely';
import { eventsAfter } from '../../model/log/ordering.ts';
import { type OwnedEvent, withOwners } from '../../model/log/owners.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import {
  type Database,
  type Params,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';
import { matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import { insertDeliveriesTo, type NewDelivery, newDelivery, withoutAhead } from './insert-deliveries.ts';

// A webhook has a bounded number of pending deliveries. When another batch might exceed the bound, further events wait
// in the log: the events after the webhook's position, up to `waitsUpTo`. They are dispatched in batches as deliveries
// finish.

/** The maximum number of events in a batch. */
export const EVENTS_PER_BATCH = 500;
/** A webhook with more pending deliveries gets no further batch, except events that are dispatched ahead. */
export const FULL_ABOVE = PENDING_MAX - 2 * EVENTS_PER_BATCH;

/** Thrown to roll back a transaction whose deliveries were selected for another version or position of a webhook. */
export class WebhookChanged extends Error {}

/**
 * Inserts deliveries to a webhook, and moves its position to that of the last examined event.
 * @param upTo the position of the last examined event
 * @throws {WebhookChanged} if the webhook was changed, is full, or another process moved its position
 */
async function insertAndAdvance(
  tx: Transaction,
  webhook: Subscription,
  deliveries: readonly NewDelivery[],
  upTo: number,
): Promise<void> {
  const { id, version, afterPosition, waitsUpTo } = webhook;
  const waiting = waitsUpTo === null ? 0 : 1;
  if ((await tx.run(advance, { id, version, afterPosition, waiting, upTo })) === 0) throw new WebhookChanged();
  await insertDeliveriesTo(tx, webhook, await withoutAhead(tx, id, deliveries));
}

/**
 * Inserts the deliveries of events that follow a webhook's position. Lets the events wait in the log if the webhook is
 * full or earlier events wait.
 * @param range the examined part of the log
 * @throws {WebhookChanged}
 */
export async function insertOrWait(
  tx: Transaction,
  webhook: Subscription,
  events: readonly OwnedEvent[],
  range: { readonly from: number; readonly upTo: number },
): Promise<void> {
  const { id, version, afterPosition, waitsUpTo, pending } = webhook;
  if (waitsUpTo === null && pending <= FULL_ABOVE) {
    await insertAndAdvance(tx, webhook, events.map(newDelivery), range.upTo);
  } else if ((await tx.run(extendWaiting, { id, version, afterPosition, ...range })) === 0) {
    throw new WebhookChanged();
  }
}

/**
 * Creates the deliveries of one batch of waiting events, to the webhook with the fewest pending deliveries.
 * @returns the number of examined events; 0 if all webhooks with waiting events are full
 * @throws {WebhookChanged}
 */
export async function dispatchWaiting(database: Database, subscriptions: readonly Subscription[]): Promise<number> {
  const [webhook] = subscriptions
    .filter(({ waitsUpTo, pending }) => waitsUpTo !== null && pending <= FULL_ABOVE)
    .sort((one, other) => one.pending - other.pending);
  if (webhook === undefined) return 0;
  const range = { after: webhook.afterPosition, upTo: webhook.waitsUpTo!, since: 0 };
  const { deliveries, next, examined } = await nextBatch(database, webhook, range);
  await database.write(tx => insertAndAdvance(tx, webhook, deliveries, next));
  return Math.max(1, examined);
}

/** Returns the deliveries of the next batch of a range of the log, and the position at which the batch ends. */
export async function nextBatch(
  reader: Reader,
  webhook: Subscription,
  { after, upTo, since }: { readonly after: number; readonly upTo: number; readonly since: number },
): Promise<{ readonly deliveries: readonly NewDelivery[]; readonly next: number; readonly examined: number }> {
  const batch = await eventsAfter(reader, after, upTo, EVENTS_PER_BATCH);
  const recordedSince = batch.filter(({ at }) => at >= since);
  const events = await withOwners(reader, recordedSince);
  const matches = await matchEvents(reader, [{ ...webhook, afterPosition: 0 }], events);
  return {
    deliveries: [...matches.values()].flat().map(newDelivery),
    next: batch.length < EVENTS_PER_BATCH ? upTo : batch.at(-1)!.position,
    examined: batch.length,
  };
}

type Position = { id: number; version: number; afterPosition: number };

/**
 * Selects an active webhook to update, unless it has another version or position than when its events were selected.
 */
const unchanged = (db: Kysely<Tables>, p: Params<Position>) =>
  db
    .updateTable('webhooks')
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .where('version', '=', p.version)
    .where('behind_place', '=', p.afterPosition);

/**
 * Moves the position of a webhook that is not full, unless events began or ceased to wait meanwhile. After the last
 * waiting event, none waits.
 */
const advance = query((db, p: Params<Position & { waiting: number; upTo: number }>) =>
  unchanged(db, p)
    .set({
      behind_place: p.upTo,
      waits_up_to: sql<number | null>`case when waits_up_to > ${p.upTo} then waits_up_to end`,
    })
    .where('pending', '<=', sql.lit(FULL_ABOVE))
    .where(sql<number>`case when waits_up_to is null then 0 else 1 end`, '=', p.waiting),
);

/**
 * The position stays, or moves to the beginning of the first waiting events, because earlier events were not selected.
 */
const extendWaiting = query((db, p: Params<Position & { from: number; upTo: number }>) =>
  unchanged(db, p).set({
    behind_place: sql<number>`case when waits_up_to is null and behind_place < ${p.from} then ${p.from} else behind_place end`,
    waits_up_to: sql<number>`case when waits_up_to > ${p.upTo} then waits_up_to else ${p.upTo} end`,
  }),
);
