import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchJob } from '../../lib/jobs/batch-job.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { yieldToRequests } from '../../lib/jobs/pacing.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import { factNamed } from '../../model/facts.ts';
import { assignPositions, eventsAfter, lastPosition } from '../../model/log/ordering.ts';
import { type OwnedEvent, withOwners } from '../../model/log/owners.ts';
import {
  type Database,
  type NextDue,
  type Params,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { activeSubscriptions, matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import { dispatchAhead } from './dispatch-ahead.ts';
import { dispatchRedelivery, redeliveryWithRoom } from './redeliveries.ts';
import { dispatchWaiting, EVENTS_PER_BATCH, FULL_ABOVE, insertOrWait, WebhookChanged } from './waiting-events.ts';

/** The name of the fact that stores the position up to which events are dispatched. */
export const DISPATCHED = 'dispatched';

/** The options of the dispatch job. */
interface DispatchDeps {
  readonly database: Database;
  readonly accounts: Reader;
  onDeliveries(): void;
  /** Called when this process committed events and a webhook may be active. */
  onEvents(): void;
}

/**
 * Returns the job that dispatches events: it creates a delivery of each event for each webhook that subscribes to it.
 */
export function dispatchJob({ database, accounts, onDeliveries, onEvents }: DispatchDeps): JobType<never, 'events'> {
  /**
   * The version of the webhooks table in which no webhook was active. `undefined` if one was active or the version is
   * unknown.
   */
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

/**
 * Due now if a webhook is active and an event is not dispatched yet, or if waiting events or a redelivery can continue.
 */
export const nextDispatch: NextDue = (db, engine) => {
  const [position, integer] = engine === 'postgres' ? ['seq', 'bigint'] : ['id', 'integer'];
  const unordered = engine === 'postgres' ? sql`or exists (select 1 from events where seq is null)` : sql``;
  const column = sql.ref(position!);
  return db
    .selectFrom('facts')
    .select(sql<number | null>`0`.as('dueAt'))
    .where('name', '=', sql.lit(DISPATCHED))
    .where(
      sql<boolean>`exists (select 1 from webhooks where status = 'active') and (
        cast(value as ${sql.raw(integer!)}) <
          (select ${column} from events where ${column} is not null order by ${column} desc limit 1)
        or exists (
          select 1 from webhooks where status = 'active' and waits_up_to is not null and pending <= ${sql.lit(FULL_ABOVE)}
        )
        or exists ${redeliveryWithRoom(db)} ${unordered})`,
    );
};

/** The maximum number of webhooks per transaction, with four statements each. */
const WEBHOOKS_PER_TRANSACTION = 50;
/** The approximate maximum number of deliveries that a transaction inserts. */
const DELIVERIES_PER_TRANSACTION = 2000;

/**
 * Creates deliveries of the next events of the log, of events that waited in the log, and of a redelivery, in small
 * transactions.
 *
 * Each subscription gets exactly one delivery of an event, even if several processes dispatch. Each webhook stores the
 * position up to which it has deliveries, and the transaction that inserts them moves it. The last transaction moves
 * the position of the dispatch, from which the next one starts.
 * @returns the number of examined events, at least 1 if the position moved; 1 if a webhook changed meanwhile; 0 if no
 *   event is left or another process moved the position
 */
export async function dispatch(database: Database, accounts: Reader): Promise<number> {
  await bestEffort(assignPositions(database));
  // Read this first: a webhook that is activated later starts at this position or after it.
  const end = await lastPosition(database);
  const subscriptions = await activeSubscriptions(database, accounts);
  if (subscriptions.length === 0) return 0;
  try {
    const from = Number((await database.first(factNamed, { name: DISPATCHED }))!.value);
    const waits = subscriptions.some(({ waitsUpTo, pending }) => waitsUpTo !== null || pending > FULL_ABOVE);
    if (waits || end - from > EVENTS_PER_BATCH) await dispatchAhead(database, subscriptions, { from, end });
    const examined = await dispatchLog(database, subscriptions, { from, end });
    const waiting = await dispatchWaiting(database, subscriptions);
    return examined + waiting + (await dispatchRedelivery(database, subscriptions));
  } catch (error) {
    if (error instanceof WebhookChanged) return 1;
    throw error;
  }
}

async function dispatchLog(
  database: Database,
  subscriptions: readonly Subscription[],
  { from, end }: { readonly from: number; readonly end: number },
): Promise<number> {
  if (from >= end) return 0;
  const events = await withOwners(database, await eventsAfter(database, from, end, EVENTS_PER_BATCH));
  const upTo = events.length < EVENTS_PER_BATCH ? end : events.at(-1)!.position;
  // Insert each batch only when the next one is known: the transaction that moves the position of the dispatch inserts
  // the last batch.
  let last: Matches = [];
  for await (const batch of matchInBatches(database, subscriptions, events)) {
    const previous = last;
    if (previous.length > 0) await database.write(tx => insertMatches(tx, previous, { from, upTo }));
    last = batch;
  }
  const moved = await database.write(async tx => {
    if ((await tx.run(moveDispatched, { from: String(from), upTo: String(upTo) })) === 0) return false;
    await insertMatches(tx, last, { from, upTo });
    return true;
  });
  return moved ? Math.max(1, events.length) : 0;
}

type Matches = readonly (readonly [Subscription, readonly OwnedEvent[]])[];

/** Yields the webhooks that subscribe to events, with the matching events, in batches for one transaction each. */
async function* matchInBatches(
  database: Database,
  subscriptions: readonly Subscription[],
  events: readonly OwnedEvent[],
): AsyncGenerator<Matches> {
  for (let index = 0; index < subscriptions.length; index += WEBHOOKS_PER_TRANSACTION) {
    // Let other work of the event loop run.
    if (index > 0) await nextTurn();
    yield* batchesOf(await matchEvents(database, subscriptions.slice(index, index + WEBHOOKS_PER_TRANSACTION), events));
  }
}

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

async function insertMatches(
  tx: Transaction,
  matches: Matches,
  range: { readonly from: number; readonly upTo: number },
): Promise<void> {
  for (const [webhook, events] of matches) await insertOrWait(tx, webhook, events, range);
}

const anyActiveWebhook = query(db =>
  db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).limit(1),
);

const moveDispatched = query((db, p: Params<{ from: string; upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', DISPATCHED).where('value', '=', p.from),
);
