import { setImmediate as turn } from 'node:timers/promises';
import { lastPlace, putInOrder } from '../events/log.ts';
import { eventsBehind } from '../events/ordering.ts';
import { type OwnedEvent, withOwners } from '../events/owners.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { giveWay } from '../lib/jobs/pacing.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { type Database, type NextDue, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { type Subscription, subscriptions, wantedBy } from '../webhooks/subscriptions.ts';
import { restsUntil } from './record-result.ts';

/** An event that is to be delivered to a webhook. */
export interface NewDelivery {
  /** The place of the event. */
  readonly place: number;
  readonly type: string;
  readonly lane: string;
}

/**
 * The work of making deliveries of what happens.
 * @param toDeliver told that there are more
 * @param toDispatch told that something happened, in this process
 */
export function dispatching({
  database,
  registry,
  toDeliver,
  toDispatch,
}: {
  readonly database: Database;
  readonly registry: Reader;
  toDeliver(): void;
  toDispatch(): void;
}): Work<never> {
  /** The state of the webhooks, as far as it can be told, in which nobody wanted anything. */
  let idle: number | undefined;
  database.onChange?.('events', () => {
    if (idle === undefined || database.dataVersion('webhooks') !== idle) toDispatch();
  });
  return {
    name: 'events',
    atOnce: 1,
    async take() {
      await giveWay();
      const version = database.dataVersion('webhooks');
      const active = (await database.first(anyActive, {})) !== undefined;
      idle = active ? undefined : version;
      const rows = active ? await dispatch(database, registry) : 0;
      if (rows > 0) toDeliver();
      return { rows, jobs: [] };
    },
    async work() {},
  };
}

/** At once where an event is behind the place up to which deliveries were made, or others are to be made once more. */
export const nextToDispatch: NextDue = (db, engine) => {
  const [place, integer] = engine === 'postgres' ? ['seq', 'bigint'] : ['id', 'integer'];
  const unplaced = engine === 'postgres' ? sql`or exists (select 1 from events where seq is null)` : sql``;
  return db
    .selectFrom('facts')
    .select(sql<number | null>`0`.as('dueAt'))
    .where('name', '=', sql.lit('dispatched'))
    .where(
      sql<boolean>`exists (select 1 from webhooks where status = 'active') and (
        cast(value as ${sql.raw(integer!)}) <
          (select ${sql.ref(place!)} from events where ${sql.ref(place!)} is not null order by ${sql.ref(place!)} desc limit 1)
        or exists (
          select 1 from redeliveries join webhooks on webhooks.id = webhook_id where webhooks.status = 'active'
        ) ${unplaced})`,
    );
};

/**
 * Makes deliveries of what happened since it was called last, a few hundred events at a time, and of what is to be
 * delivered once more.
 *
 * Each event becomes one delivery for each webhook that wants it, whoever else is at it: a webhook's own place moves in the
 * transaction that keeps them, and that of all with the last of these transactions. Each is small, however many
 * webhooks there are.
 * @returns how many events were looked at; 0 where others are at it, or nothing is left
 */
export async function dispatch(database: Database, registry: Reader): Promise<number> {
  await bestEffort(putInOrder(database));
  const end = await lastPlace(database);
  // Who is activated from here on begins at this end or behind it.
  const webhooks = await subscriptions(database, registry);
  if (webhooks.length === 0) return 0;
  try {
    return (await dispatchLog(database, webhooks, end)) + (await dispatchAgain(database, webhooks));
  } catch (error) {
    if (error instanceof Changed) return 1;
    throw error;
  }
}

/** What an event keeps its order with: an animal's events and those of its orders go out one after the other. */
export function laneOf({ kind, subjectId, data }: Pick<OwnedEvent, 'kind' | 'subjectId' | 'data'>): string {
  const { petId } = (kind === 'order' ? data[kind] : {}) as { petId?: number };
  return petId === undefined ? `${kind} ${subjectId}` : `pet ${petId}`;
}

/** The delivery that an event makes. */
export function deliveryOf(event: OwnedEvent): NewDelivery {
  return { place: event.place, type: `${event.kind}.${event.action}`, lane: laneOf(event) };
}

/**
 * Adds deliveries to a webhook, in this order: the first of each lane may go at once where nothing before it waits there.
 *
 * Whoever settles a delivery of the webhook waits until this is done, so that none is left behind.
 * @param version that of the webhook, where they are made for what it wanted then
 * @returns false where the webhook is not active any more, or of another version; then nothing was added
 */
export async function insertDeliveries(
  tx: Transaction,
  webhookId: number,
  deliveries: readonly NewDelivery[],
  version?: number,
): Promise<boolean> {
  const webhook = await tx.first(lockedWebhook, { id: webhookId });
  if (webhook === undefined || (version !== undefined && webhook.version !== version)) return false;
  await addTo(tx, webhook, deliveries);
  return true;
}

/** Adds deliveries to a webhook that is locked. */
async function addTo(
  tx: Transaction,
  { id: webhookId, failingSince }: Pick<Subscription, 'id' | 'failingSince'>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const lanes = JSON.stringify([...new Set(deliveries.map(({ lane }) => lane))]);
  const waiting = new Set((await tx.all(lanesThatWait, { webhookId, lanes })).map(({ lane }) => lane));
  const rows = deliveries.map(({ place, type, lane }) => {
    const first = !waiting.has(lane);
    waiting.add(lane);
    return { place, type, lane, due: first ? tx.now : null };
  });
  await tx.run(addDeliveries, { webhookId, rows: JSON.stringify(rows), now: tx.now });
  if (rows.some(({ due }) => due !== null)) {
    await tx.run(lookAt, { id: webhookId, at: restsUntil(tx.now, failingSince) });
  }
}

const EVENTS_AT_ONCE = 500;
/** How many webhooks one transaction adds to, each in four statements, and about how many deliveries it adds in all. */
const WEBHOOKS_AT_ONCE = 50;
const DELIVERIES_AT_ONCE = 2000;

async function dispatchLog(database: Database, webhooks: readonly Subscription[], end: number): Promise<number> {
  const from = (await database.first(dispatchedPlace, {}))!.place;
  if (from >= end) return 0;
  const events = await withOwners(database, await eventsBehind(database, from, end, EVENTS_AT_ONCE));
  const upTo = events.length < EVENTS_AT_ONCE ? end : events.at(-1)!.place;
  let last: Wanted = [];
  for (let some = 0; some < webhooks.length; some += WEBHOOKS_AT_ONCE) {
    // Others share the thread.
    if (some > 0) await turn();
    for (const portion of portionsOf(await wantedBy(database, webhooks.slice(some, some + WEBHOOKS_AT_ONCE), events))) {
      const full = last;
      if (full.length > 0) await database.write(tx => addBehind(tx, full, upTo));
      last = portion;
    }
  }
  const kept = await database.write(async tx => {
    if ((await tx.run(moveDispatched, { from: String(from), upTo: String(upTo) })) === 0) return false;
    await addBehind(tx, last, upTo);
    return true;
  });
  return kept ? Math.max(1, events.length) : 0;
}

type Wanted = readonly (readonly [Subscription, readonly OwnedEvent[]])[];

/** What is wanted in portions that are added at once: a few webhooks, or what one wants. */
function* portionsOf(wanted: ReadonlyMap<Subscription, readonly OwnedEvent[]>): Generator<Wanted> {
  let portion: (readonly [Subscription, readonly OwnedEvent[]])[] = [];
  let deliveries = 0;
  for (const one of wanted) {
    if (portion.length > 0 && deliveries + one[1].length > DELIVERIES_AT_ONCE) {
      yield portion;
      portion = [];
      deliveries = 0;
    }
    portion.push(one);
    deliveries += one[1].length;
  }
  if (portion.length > 0) yield portion;
}

/** Adds what came up to a place, and moves each webhook's own place there; or nothing where one has moved meanwhile. */
async function addBehind(tx: Transaction, wanted: Wanted, upTo: number): Promise<void> {
  for (const [webhook, events] of wanted) {
    const { id, version, behindPlace } = webhook;
    if ((await tx.run(moveBehind, { id, version, behindPlace, upTo })) === 0) throw new Changed();
    await addTo(tx, webhook, events.map(deliveryOf));
  }
}

/** One batch of the oldest stretch that is to be delivered once more. */
async function dispatchAgain(database: Database, webhooks: readonly Subscription[]): Promise<number> {
  const stretch = await database.first(oldestRedelivery, {});
  if (stretch === undefined) return 0;
  const { id, place, upTo, since } = stretch;
  const webhook = webhooks.find(one => one.id === stretch.webhookId);
  if (webhook === undefined) return 0;
  const read = await eventsBehind(database, place, upTo, EVENTS_AT_ONCE);
  const events = await withOwners(
    database,
    read.filter(({ at }) => at >= since),
  );
  const wanted = await wantedBy(database, [{ ...webhook, behindPlace: 0 }], events);
  const next = read.length < EVENTS_AT_ONCE ? upTo : read.at(-1)!.place;
  const kept = await database.write(async tx => {
    const moved =
      next >= upTo
        ? await tx.run(endRedelivery, { id, place })
        : await tx.run(moveRedelivery, { id, place, upTo: next });
    if (moved > 0) await addAll(tx, wanted);
    return moved > 0;
  });
  return kept ? Math.max(1, read.length) : 0;
}

/** All of them, or nothing where a webhook was changed meanwhile: then its wishes are to be read anew. */
async function addAll(tx: Transaction, wanted: ReadonlyMap<Subscription, readonly OwnedEvent[]>): Promise<void> {
  for (const [{ id, version }, events] of wanted) {
    if (!(await insertDeliveries(tx, id, events.map(deliveryOf), version))) throw new Changed();
  }
}

/** Thrown to undo a transaction. */
class Changed extends Error {}

const anyActive = query(db => db.selectFrom('webhooks').select('id').where('status', '=', sql.lit('active')).limit(1));

const dispatchedPlace = query<Record<never, never>, { place: number }>((db, _, engine) =>
  db
    .selectFrom('facts')
    .select(
      engine === 'postgres' ? sql<number>`value::bigint`.as('place') : sql<number>`cast(value as integer)`.as('place'),
    )
    .where('name', '=', 'dispatched'),
);

const moveDispatched = query((db, p: Params<{ from: string; upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', 'dispatched').where('value', '=', p.from),
);

const lockedWebhook = query((db, p: Params<{ id: number }>, engine) => {
  const webhook = db
    .selectFrom('webhooks')
    .select(['id', 'version', 'failing_since as failingSince'])
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null);
  return engine === 'postgres' ? webhook.forUpdate() : webhook;
});

const moveBehind = query((db, p: Params<{ id: number; version: number; behindPlace: number; upTo: number }>) =>
  db
    .updateTable('webhooks')
    .set({ behind_place: p.upTo })
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .where('version', '=', p.version)
    .where('behind_place', '=', p.behindPlace),
);

/** Those of these lanes in which something waits, one look at the index for each. */
const lanesThatWait = query((db, p: Params<{ webhookId: number; lanes: string }>, engine) =>
  db
    .selectFrom(
      engine === 'postgres'
        ? sql<{ lane: string }>`(select value as lane from json_array_elements_text(${p.lanes}::json))`.as('lanes')
        : sql<{ lane: string }>`(select value as lane from json_each(${p.lanes}))`.as('lanes'),
    )
    .select('lanes.lane')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('deliveries')
          .select('id')
          .where('webhook_id', '=', p.webhookId)
          .whereRef('deliveries.lane', '=', 'lanes.lane')
          .where('status', '=', sql.lit('pending')),
      ),
    ),
);

/** Rows of a JSON array, in its order. */
const addDeliveries = query((db, p: Params<{ webhookId: number; rows: string; now: number }>, engine) =>
  db
    .insertInto('deliveries')
    .columns(['webhook_id', 'place', 'type', 'lane', 'status', 'due_at', 'created_at', 'updated_at'])
    .expression(
      engine === 'postgres'
        ? sql`select ${p.webhookId}::bigint, (value->>'place')::bigint, value->>'type', value->>'lane', 'pending',
            (value->>'due')::bigint, ${p.now}::bigint, ${p.now}::bigint
            from json_array_elements(${p.rows}::json) with ordinality as rows(value, number) order by number`
        : sql`select ${p.webhookId}, value->>'place', value->>'type', value->>'lane', 'pending', value->>'due',
            ${p.now}, ${p.now} from json_each(${p.rows}) order by key`,
    ),
);

/** Then, or before where that is known already. */
const lookAt = query((db, p: Params<{ id: number; at: number }>) =>
  db
    .updateTable('webhooks')
    .set({ due_at: p.at })
    .where('id', '=', p.id)
    .where(eb => eb.or([eb('due_at', 'is', null), eb('due_at', '>', p.at)])),
);

const oldestRedelivery = query(db =>
  db
    .selectFrom('redeliveries')
    .innerJoin('webhooks', 'webhooks.id', 'redeliveries.webhook_id')
    .select([
      'redeliveries.id',
      'redeliveries.webhook_id as webhookId',
      'redeliveries.place',
      'redeliveries.up_to as upTo',
      'redeliveries.since',
    ])
    .where('webhooks.status', '=', sql.lit('active'))
    .where('webhooks.deleted_at', 'is', null)
    .orderBy('redeliveries.id')
    .limit(1),
);

const moveRedelivery = query((db, p: Params<{ id: number; place: number; upTo: number }>) =>
  db.updateTable('redeliveries').set({ place: p.upTo }).where('id', '=', p.id).where('place', '=', p.place),
);

const endRedelivery = query((db, p: Params<{ id: number; place: number }>) =>
  db.deleteFrom('redeliveries').where('id', '=', p.id).where('place', '=', p.place),
);
