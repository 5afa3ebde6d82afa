import { causesAfter, eventsAbout, eventsAt } from '../events/ordering.ts';
import { type OwnedEvent, withOwners } from '../events/owners.ts';
import { factNamed } from '../facts.ts';
import { type Database, type Params, query, type Reader, selectJsonNumbers, type Transaction } from '../schema.ts';
import { matchEvents, type Subscription } from '../webhooks/subscriptions.ts';
import {
  insertDeliveriesTo,
  lockedActiveWebhook,
  type NewDelivery,
  newDelivery,
  turnsOf,
  withoutAhead,
} from './insert-deliveries.ts';
import { PENDING_MAX } from './waiting-events.ts';

// The log is dispatched in order, so an account that records many events at once would delay those of all others. While
// events wait, those of accounts with few of them are dispatched ahead. The dispatch of the log omits them later.

/** The name of the fact that stores the position up to which events were considered to be dispatched ahead. */
export const DISPATCHED_AHEAD = 'dispatched-ahead';

/** The maximum number of events of one account that go ahead of others at a time, per webhook. */
export const EVENTS_PER_TURN = 200;
/** The maximum number of events among which those of an account are counted. */
const EVENTS_CONSIDERED = 2000;
/** The maximum number of webhooks per transaction. */
const WEBHOOKS_PER_TRANSACTION = 50;

/**
 * Creates the deliveries of the next events whose accounts have at most `EVENTS_PER_TURN` of them, and as many unsent
 * deliveries to a webhook. An event never goes ahead of an earlier one with its ordering key.
 * @param range the part of the log that is not dispatched
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
    const earlier = await matchEvents(database, [...matches.keys()], await eventsWithKeysOf(database, matches));
    await database.write(async tx => {
      for (const [webhook, received] of matches) {
        await insertAhead(tx, webhook, received.map(newDelivery), (earlier.get(webhook) ?? []).map(newDelivery));
      }
    });
  }
  const upTo = causes.length < EVENTS_CONSIDERED ? end : causes.at(-1)!.position;
  await database.write(tx => tx.run(moveAhead, { from: stored, upTo: String(upTo) }));
}

/** Returns the first events with the ordering keys of these, which the webhooks may not have received yet. */
async function eventsWithKeysOf(
  reader: Reader,
  matches: ReadonlyMap<Subscription, readonly OwnedEvent[]>,
): Promise<OwnedEvent[]> {
  const events = new Set([...matches.values()].flat());
  const subjects = new Map(
    [...events].map(({ kind, subjectId }) => [`${kind} ${subjectId}`, [kind, subjectId] as const]),
  );
  const petIds = [...events].map(newDelivery).flatMap(({ orderingKey }) => /^pet (\d+)$/.exec(orderingKey)?.[1] ?? []);
  for (const petId of petIds) subjects.set(`pet ${petId}`, ['pet', Number(petId)]);
  for (const { id } of await reader.all(ordersOfPets, { petIds: `[${petIds}]` }))
    subjects.set(`order ${id}`, ['order', id]);
  return withOwners(
    reader,
    await eventsAbout(reader, [...subjects.values()], {
      after: Math.min(...Array.from(matches.keys(), ({ afterPosition }) => afterPosition)),
      upTo: Math.max(...Array.from(events, ({ position }) => position)),
      limit: EVENTS_PER_TURN,
    }),
  );
}

/** Inserts those deliveries that need not wait for earlier events with their ordering key, as far as there is room. */
async function insertAhead(
  tx: Transaction,
  { id, version }: Subscription,
  deliveries: readonly NewDelivery[],
  earlier: readonly NewDelivery[],
): Promise<void> {
  const webhook = await tx.first(lockedActiveWebhook, { id });
  if (webhook === undefined || webhook.version !== version) return;
  const candidates = new Set(deliveries.map(({ position }) => position));
  const { afterPosition } = webhook;
  const inOrder = [...deliveries, ...earlier.filter(({ position }) => !candidates.has(position))]
    .filter(({ position }) => position > afterPosition)
    .sort((one, other) => one.position - other.position);
  const turns = await turnsOf(tx, id, deliveries);
  const room = (causeId: number) => turns.current + EVENTS_PER_TURN - (turns.last.get(causeId) ?? 0);
  const waiting = new Set<string>();
  const taken: NewDelivery[] = [];
  for (const delivery of await withoutAhead(tx, id, inOrder)) {
    const { position, orderingKey, causeId } = delivery;
    const fits = webhook.pending + taken.length < PENDING_MAX && room(causeId) > 0;
    if (!(fits && candidates.has(position)) || waiting.has(orderingKey)) {
      waiting.add(orderingKey);
      continue;
    }
    taken.push(delivery);
    turns.last.set(causeId, Math.max(turns.current, turns.last.get(causeId) ?? 0) + 1);
  }
  if (taken.length > 0) await insertDeliveriesTo(tx, webhook, taken, true);
}

const ordersOfPets = query((db, p: Params<{ petIds: string }>, engine) =>
  db.selectFrom('orders').select('id').where('pet_id', 'in', selectJsonNumbers(p.petIds, engine)),
);

const moveAhead = query((db, p: Params<{ from: string; upTo: string }>) =>
  db.updateTable('facts').set({ value: p.upTo }).where('name', '=', DISPATCHED_AHEAD).where('value', '=', p.from),
);
