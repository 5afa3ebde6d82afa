import { authoritiesOf } from '../../access/keys/authority.ts';
import type { Actor } from '../../model/log/event.ts';
import type { OwnedEvent } from '../../model/log/owners.ts';
import { query, type Reader, sql } from '../../model/schema.ts';
import { webhookColumns } from '../../model/webhook.ts';
import { typeFilter } from '../public/list-events.ts';
import { canSee } from '../public/visibility.ts';

/** An active webhook with the criteria of its events. */
export interface Subscription {
  readonly id: number;
  readonly version: number;
  readonly failingSince: number | null;
  /** Event types such as `pet.created` and `pet.*`; null for all. */
  readonly types: readonly string[] | null;
  /** Category ids; null for all. */
  readonly categoryIds: readonly number[] | null;
  /** Only events after this position are delivered. */
  readonly afterPosition: number;
  /** Events after `afterPosition` up to this position wait in the log; null if none waits. */
  readonly waitsUpTo: number | null;
  /** The number of its pending deliveries. */
  readonly pending: number;
  /** The owner with the scopes of the webhook, whose visibility of events applies. */
  readonly actor: Actor;
}

/**
 * Returns the subscriptions of all active webhooks.
 * @param accounts the database with the accounts, because admins see more events
 */
export async function activeSubscriptions(reader: Reader, accounts: Reader): Promise<Subscription[]> {
  const rows = await reader.all(activeWebhooks, {});
  if (rows.length === 0) return [];
  // The delivery job checks keys and accounts before each attempt, so expired and revoked keys are included here.
  const authorities = await authoritiesOf(accounts, rows, 0);
  return rows.map(({ types, categoryIds, ...row }, index) => ({
    ...row,
    types: types === null ? null : JSON.parse(types),
    categoryIds: categoryIds === null ? null : JSON.parse(categoryIds),
    actor: authorities[index]!.actor,
  }));
}

/**
 * Returns the events that each subscription receives: events after its position that its owner can see with its scopes,
 * of its types and categories, except events about the webhook itself. Omits subscriptions without events.
 *
 * The categories of an event are those of its pets before and after the event, as of that time, so the result never
 * changes. An event about neither a pet nor a category has no categories.
 */
export async function matchEvents(
  reader: Reader,
  subscriptions: readonly Subscription[],
  events: readonly OwnedEvent[],
): Promise<Map<Subscription, OwnedEvent[]>> {
  const filtered = subscriptions.some(({ categoryIds }) => categoryIds !== null);
  const categories = filtered ? await categoriesOf(reader, events) : new Map<OwnedEvent, number[]>();
  const matches = new Map<Subscription, OwnedEvent[]>();
  for (const subscription of subscriptions) {
    const { id, actor, types, categoryIds, afterPosition } = subscription;
    const hasType = typeFilter(types ?? undefined);
    const hasCategory = (event: OwnedEvent) =>
      categoryIds === null || categories.get(event)!.some(id => categoryIds.includes(id));
    const isOwn = ({ kind, subjectId }: OwnedEvent) => kind === 'webhook' && subjectId === id;
    const received = events.filter(
      event =>
        event.position > afterPosition && hasType(event) && hasCategory(event) && canSee(actor, event) && !isOwn(event),
    );
    if (received.length > 0) matches.set(subscription, received);
  }
  return matches;
}

/** Returns the categories of each event as of that event. */
async function categoriesOf(reader: Reader, events: readonly OwnedEvent[]): Promise<Map<OwnedEvent, number[]>> {
  const categories = new Map(events.map(event => [event, recordedCategories(event)]));
  const pets = events.flatMap((event, index) => petIdsOf(event).map(petId => [index, petId, event.id]));
  if (pets.length === 0) return categories;
  for (const { index, categoryId } of await reader.all(petCategories, { pets: JSON.stringify(pets) })) {
    if (categoryId !== null) categories.get(events[index]!)!.push(categoryId);
  }
  return categories;
}

/** Returns the categories that the event itself records. */
function recordedCategories({ kind, subjectId, data }: OwnedEvent): number[] {
  if (kind === 'category') return [subjectId];
  if (kind !== 'pet') return [];
  const { categoryId } = (data['pet'] ?? {}) as { categoryId?: number };
  return [categoryId, data.was?.['categoryId']].filter(id => typeof id === 'number');
}

/** Returns the pets of the hold, order or message that an event is about. */
function petIdsOf({ kind, data }: OwnedEvent): readonly number[] {
  if (kind === 'pet') return [];
  const { petId, petIds } = (data[kind] ?? {}) as { petId?: number; petIds?: readonly number[] };
  return petIds ?? (petId === undefined ? [] : [petId]);
}

const activeWebhooks = query(db =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.stored())
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .orderBy('id'),
);

/** The category of each pet as of an event. A row has an index of the caller's, a pet id and an event id. */
const petCategories = query<{ pets: string }, { index: number; categoryId: number | null }>((db, p, engine) =>
  db
    .selectFrom(
      engine === 'postgres'
        ? sql<{ index: number; petId: number; eventId: number }>`(
            select (value->>0)::int as "index", (value->>1)::bigint as "petId", (value->>2)::bigint as "eventId"
            from json_array_elements(${p.pets}::json))`.as('requested')
        : sql<{ index: number; petId: number; eventId: number }>`(
            select value->>0 as "index", value->>1 as "petId", value->>2 as "eventId"
            from json_each(${p.pets}))`.as('requested'),
    )
    .select(({ selectFrom }) => [
      'requested.index',
      selectFrom('events')
        .select(
          (engine === 'postgres'
            ? sql<number>`(data::json #>> '{pet,categoryId}')::bigint`
            : sql<number>`data ->> '$.pet.categoryId'`
          ).as('categoryId'),
        )
        .where('kind', '=', sql.lit('pet'))
        .whereRef('subject_id', '=', 'requested.petId')
        .whereRef('id', '<=', 'requested.eventId')
        .orderBy('id', 'desc')
        .limit(1)
        .as('categoryId'),
    ]),
);
