import { factNamed } from '../../model/facts.ts';
import { causesAfter, eventsAbout, eventsAt } from '../../model/log/ordering.ts';
import { type OwnedEvent, withOwners } from '../../model/log/owners.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import {
  type Database,
  type Params,
  query,
  type Reader,
  selectJsonNumbers,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import {
  insertDeliveriesTo,
  lockedActiveWebhook,
  type NewDelivery,
  newDelivery,
  turnsOf,
  withoutAhead,
} from './insert-deliveries.ts';

// The log is dispatched in order, so an account that records many events at once would delay the events of all others.
// While events wait, events of accounts with few events are dispatched ahead. The dispatch of the log omits them later.

/** The name of the fact that stores the position of the last event considered for dispatch ahead. */
export const DISPATCHED_AHEAD = 'dispatched-ahead';

/** The maximum number of events of one account that are dispatched ahead at a time, per webhook. */
export const EVENTS_PER_TURN = 200;
/** The maximum number of events in which the events of each account are counted. */
const EVENTS_CONSIDERED = 2000;
/** How many events of each subject are searched for the previous event with an ordering key. */
const EARLIER_EVENTS = 10;
/** The maximum number of webhooks per transaction. */
const WEBHOOKS_PER_TRANSACTION = 50;

/**
 * Creates the deliveries of the next events whose accounts have at most `EVENTS_PER_TURN` of them, and as many unsent
 * deliveries to the webhook.
 *
 * An event is dispatched ahead only if no earlier event has its ordering key, or the webhook has a delivery of the
 * previous one. So the webhook has deliveries of all earlier events with that key: up to `createdUpTo` from the log,
 * and ahead after that.
 * @param range the part of the log that is not dispatched yet
 */
export async function dispatchAhead(
  database: Database,
  subscriptions: readonly Subscription[],
  { from, end }: { readonly from: number; readonly end: number },
): Promise<void> {
  const stored = (await database.first(factNamed, { name: DISPATCHED_AHEAD }))!.value;
  const after = Math.max(from, Number(stored));
  if (after >= end) return;
  const causes = await causesAfter(database, after, end, EVENTS_CONSIDERED);
  const byAccount = Map.groupBy(causes, ({ accountId }) => accountId);
  const few = causes.filter(({ accountId }) => byAccount.get(accountId)!.length <= EVENTS_PER_TURN);
  const events = await withOwners(
    database,
    await eventsAt(
      database,
      few.map(({ position }) => position),
    ),
  );
  for (let index = 0; index < subscriptions.length && events.length > 0; index += WEBHOOKS_PER_TRANSACTION) {
    const some = subscriptions.slice(index, index + WEBHOOKS_PER_TRANSACTION);
    const matches = await matchEvents(database, some, events);
    if (matches.size === 0) continue;
    const webhooks = [...matches.keys()];
    const since = Math.min(...webhooks.map(webhook => createdUpTo(webhook, from)));
    const candidates = new Set([...matches.values()].flat());
    const related = await relatedEvents(database, [...candidates], { since, after });
    const received = await matchEvents(database, webhooks, related.events);
    await database.write(async tx => {
      for (const [webhook, its] of received) {
        await insertAhead(tx, webhook, its.map(newDelivery), { readFrom: related.readFrom, since, from });
      }
    });
  }
  const upTo = causes.length < EVENTS_CONSIDERED ? end : causes.at(-1)!.position;
  await database.write(tx => tx.run(moveAhead, { from: stored, upTo: String(upTo) }));
}

/** Returns a position up to which a webhook has deliveries of all matching events. */
function createdUpTo({ waitsUpTo, afterPosition }: Position, from: number): number {
  return waitsUpTo === null ? Math.max(from, afterPosition) : afterPosition;
}

type Position = Pick<Subscription, 'waitsUpTo' | 'afterPosition'>;

/**
 * Returns events with the same ordering keys as these: all after a position, and the last ones before it.
 * @param range.since the position after which events count
 * @returns also the ordering keys that may have earlier events, with the position of the first event that was read
 */
async function relatedEvents(
  reader: Reader,
  candidates: readonly OwnedEvent[],
  { since, after }: { readonly since: number; readonly after: number },
): Promise<{ readonly events: readonly OwnedEvent[]; readonly readFrom: ReadonlyMap<string, number> }> {
  const subjects = new Map(candidates.map(event => [subjectOf(event), [event.kind, event.subjectId] as const]));
  const keys = new Set(candidates.map(event => newDelivery(event).orderingKey));
  const petIds = [...keys].flatMap(key => /^pet (\d+)$/.exec(key)?.[1] ?? []);
  for (const petId of petIds) subjects.set(`pet ${petId}`, ['pet', Number(petId)]);
  for (const { id } of await reader.all(ordersOfPets, { petIds: `[${petIds}]` }))
    subjects.set(`order ${id}`, ['order', id!]);
  const upTo = Math.max(...candidates.map(({ position }) => position));
  const range = { since, after, upTo, limit: EARLIER_EVENTS };
  const events = await withOwners(reader, await eventsAbout(reader, [...subjects.values()], range));
  const earlier = Map.groupBy(
    events.filter(({ position }) => position <= after),
    subjectOf,
  );
  const readFrom = new Map<string, number>();
  for (const [first, ...others] of earlier.values()) {
    if (others.length < EARLIER_EVENTS - 1) continue;
    const { orderingKey, position } = newDelivery(first!);
    readFrom.set(orderingKey, Math.max(position, readFrom.get(orderingKey) ?? 0));
  }
  // Some of the orders have other ordering keys, for example those of other pets in a bonded group.
  const isRead = (event: OwnedEvent) => {
    const { orderingKey, position } = newDelivery(event);
    return keys.has(orderingKey) && position >= (readFrom.get(orderingKey) ?? 0);
  };
  return { events: events.filter(isRead), readFrom };
}

const subjectOf = ({ kind, subjectId }: OwnedEvent) => `${kind} ${subjectId}`;

/**
 * Inserts, in order, the deliveries that need not wait for earlier events with their ordering key, as many as the bound
 * allows.
 */
async function insertAhead(
  tx: Transaction,
  { id, version }: Subscription,
  deliveries: readonly NewDelivery[],
  { readFrom, since, from }: { readonly readFrom: ReadonlyMap<string, number> } & Record<'since' | 'from', number>,
): Promise<void> {
  const webhook = await tx.first(lockedActiveWebhook, { id });
  if (webhook === undefined || webhook.version !== version) return;
  const created = createdUpTo(webhook, from);
  // Since the webhook was read, events before those that were read began to wait.
  if (created < since) return;
  const missing = new Set(await withoutAhead(tx, id, deliveries));
  const turns = await turnsOf(tx, id, deliveries);
  const room = (causeId: number) => turns.current + EVENTS_PER_TURN - (turns.last.get(causeId) ?? 0);
  const unknown = new Set([...readFrom].filter(([, position]) => position > created).map(([key]) => key));
  const waiting = new Set<string>();
  const taken: NewDelivery[] = [];
  for (const delivery of deliveries) {
    const { position, orderingKey, causeId } = delivery;
    if (position <= created || !missing.has(delivery)) {
      unknown.delete(orderingKey);
      continue;
    }
    const fits = webhook.pending + taken.length < PENDING_MAX && room(causeId) > 0;
    if (!fits || waiting.has(orderingKey) || unknown.has(orderingKey)) {
      waiting.add(orderingKey);
      continue;
    }
    taken.push(delivery);
    turns.last.set(causeId, Math.max(turns.current, turns.last.get(causeId) ?? 0) + 1);
  }
  if (taken.length > 0) await insertDeliveriesTo(tx, webhook, taken, true);
}

/** Orders of pets, found by the index of their reservations; also deleted orders whose events are not deleted yet. */
const ordersOfPets = query((db, p: Params<{ petIds: string }>, engine) =>
  db
    .selectFrom('reservations')
    .select('order_id as id')
    .where('pet_id', 'in', selectJsonNumbers(p.petIds, engine))
    .where('order_id', 'is not', null)
    .union(db.selectFrom('event_deletions').select('subject_id as id').where('kind', '=', sql.lit('order'))),
);

const moveAhead = query((db, p: Params<{ from: string; upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', DISPATCHED_AHEAD).where('value', '=', p.from),
);
