import { setImmediate as nextTurn } from 'node:timers/promises';
import { assignPositions, eventsAfter, lastPosition } from '../events/ordering.ts';
import { type OwnedEvent, withOwners } from '../events/owners.ts';
import { batchJob } from '../lib/jobs/batch-job.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { yieldToRequests } from '../lib/jobs/pacing.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { type Database, type NextDue, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { activeSubscriptions, matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import { insertDeliveriesTo, newDelivery } from './insert-deliveries.ts';
import { dispatchRedelivery, WebhookChanged } from './redeliveries.ts';

/** What the job that dispatches needs. */
export interface DispatchDeps {
  readonly database: Database;
  /** The database with the accounts. */
  readonly accounts: Reader;
  /** Called when deliveries were created. */
  onDeliveries(): void;
  /** Called when this process committed events while a webhook is active. */
  onEvents(): void;
}

/** The job that dispatches events: it creates a delivery of each event for each webhook that subscribes to it. */
export function dispatchJob({ database, accounts, onDeliveries, onEvents }: DispatchDeps): JobType<never> {
  /** The version of the webhooks table for which no webhook was active; `undefined` if one was. */
  let idleVersion: number | undefined;
  database.onChange?.('events', () => {
    if (idleVersion === undefined || database.dataVersion('webhooks') !== idleVersion) onEvents();
  });
  return batchJob('events', async () => {
    await yieldToRequests();
    const version = database.dataVersion('webhooks');
    const active = (await database.first(anyActiveWebhook, {})) !== undefined;
    idleVersion = active ? undefined : version;
    const rows = active ? await dispatch(database, accounts) : 0;
    if (rows > 0) onDeliveries();
    return rows;
  });
}

/** Due now if an event is not dispatched yet, or a redelivery is not complete, and a webhook is active. */
export const nextDispatch: NextDue = (db, engine) => {
  const [position, integer] = engine === 'postgres' ? ['seq', 'bigint'] : ['id', 'integer'];
  const unordered = engine === 'postgres' ? sql`or exists (select 1 from events where seq is null)` : sql``;
  const column = sql.ref(position!);
  return db
    .selectFrom('facts')
    .select(sql<number | null>`0`.as('dueAt'))
    .where('name', '=', sql.lit('dispatched'))
    .where(
      sql<boolean>`exists (select 1 from webhooks where status = 'active') and (
        cast(value as ${sql.raw(integer!)}) <
          (select ${column} from events where ${column} is not null order by ${column} desc limit 1)
        or exists (
          select 1 from redeliveries join webhooks on webhooks.id = webhook_id where webhooks.status = 'active'
        ) ${unordered})`,
    );
};

/** The maximum number of events dispatched together. */
const EVENTS_PER_DISPATCH = 500;
/** The maximum number of webhooks per transaction, with four statements each. */
const WEBHOOKS_PER_TRANSACTION = 50;
/** A transaction inserts about this many deliveries at most. */
const DELIVERIES_PER_TRANSACTION = 2000;

/**
 * Creates deliveries of the next events of the log, and of the oldest redelivery.
 *
 * Each event becomes exactly one delivery per subscription, however many processes dispatch: the transaction that inserts
 * deliveries moves the webhook's own position, and the last transaction moves the position of the whole dispatch. Each
 * transaction is small, however many webhooks there are.
 * @returns the number of examined events; 0 if none is left, 1 to try again because another process was faster
 */
export async function dispatch(database: Database, accounts: Reader): Promise<number> {
  await bestEffort(assignPositions(database));
  // Read first: a webhook that is activated from here on starts at this position or later.
  const end = await lastPosition(database);
  const subscriptions = await activeSubscriptions(database, accounts);
  if (subscriptions.length === 0) return 0;
  try {
    return (await dispatchLog(database, subscriptions, end)) + (await dispatchRedelivery(database, subscriptions));
  } catch (error) {
    if (error instanceof WebhookChanged) return 1;
    throw error;
  }
}

async function dispatchLog(database: Database, subscriptions: readonly Subscription[], end: number): Promise<number> {
  const from = (await database.first(dispatchedPosition, {}))!.position;
  if (from >= end) return 0;
  const events = await withOwners(database, await eventsAfter(database, from, end, EVENTS_PER_DISPATCH));
  const upTo = events.length < EVENTS_PER_DISPATCH ? end : events.at(-1)!.position;
  let last: Matches = [];
  for (let index = 0; index < subscriptions.length; index += WEBHOOKS_PER_TRANSACTION) {
    // Let other work of the event loop run.
    if (index > 0) await nextTurn();
    const matches = await matchEvents(database, subscriptions.slice(index, index + WEBHOOKS_PER_TRANSACTION), events);
    for (const batch of batchesOf(matches)) {
      const full = last;
      if (full.length > 0) await database.write(tx => insertMatches(tx, full, upTo));
      last = batch;
    }
  }
  const moved = await database.write(async tx => {
    if ((await tx.run(moveDispatched, { from: String(from), upTo: String(upTo) })) === 0) return false;
    await insertMatches(tx, last, upTo);
    return true;
  });
  return moved ? Math.max(1, events.length) : 0;
}

type Matches = readonly (readonly [Subscription, readonly OwnedEvent[]])[];

/** Splits matches into batches for one transaction each. */
function* batchesOf(matches: ReadonlyMap<Subscription, readonly OwnedEvent[]>): Generator<Matches> {
  let batch: (readonly [Subscription, readonly OwnedEvent[]])[] = [];
  let deliveries = 0;
  for (const match of matches) {
    if (batch.length > 0 && deliveries + match[1].length > DELIVERIES_PER_TRANSACTION) {
      yield batch;
      batch = [];
      deliveries = 0;
    }
    batch.push(match);
    deliveries += match[1].length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Inserts the deliveries of events up to a position, and moves the position of each webhook there.
 * @throws {WebhookChanged} if a webhook was changed, or another process moved its position
 */
async function insertMatches(tx: Transaction, matches: Matches, upTo: number): Promise<void> {
  for (const [webhook, events] of matches) {
    const { id, version, afterPosition } = webhook;
    if ((await tx.run(moveWebhookPosition, { id, version, afterPosition, upTo })) === 0) throw new WebhookChanged();
    await insertDeliveriesTo(tx, webhook, events.map(newDelivery));
  }
}

const anyActiveWebhook = query(db =>
  db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).limit(1),
);

const dispatchedPosition = query<Record<never, never>, { position: number }>((db, _, engine) => {
  const integer = sql.raw(engine === 'postgres' ? 'bigint' : 'integer');
  return db
    .selectFrom('facts')
    .select(sql<number>`cast(value as ${integer})`.as('position'))
    .where('name', '=', 'dispatched');
});

const moveDispatched = query((db, p: Params<{ from: string; upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', 'dispatched').where('value', '=', p.from),
);

type Move = { id: number; version: number; afterPosition: number; upTo: number };

const moveWebhookPosition = query((db, p: Params<Move>) =>
  db
    .updateTable('webhooks')
    .set({ behind_place: p.upTo })
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .where('version', '=', p.version)
    .where('behind_place', '=', p.afterPosition),
);
