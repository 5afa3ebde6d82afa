import type { Actor } from '../events/event.ts';
import type { OwnedEvent } from '../events/owners.ts';
import { wantedOf } from '../events/public/list-events.ts';
import { sees } from '../events/public/visibility.ts';
import { type Params, query, type Reader, selectJsonNumbers, sql } from '../schema.ts';
import { rowOf, type WebhookColumns, type WebhookRow, webhookColumns } from './webhook-rows.ts';

/** An active webhook, with what decides which events it gets. */
export interface Subscription extends WebhookRow {
  /** Events up to this place are not for it. */
  readonly behindPlace: number;
  readonly actor: Actor;
}

/**
 * Every active webhook.
 * @param registry where accounts are kept: admins see more
 */
export async function subscriptions(reader: Reader, registry: Reader): Promise<Subscription[]> {
  const rows = await reader.all(activeWebhooks, {});
  if (rows.length === 0) return [];
  const admins = await adminsOf(
    registry,
    rows.map(({ accountId }) => accountId),
  );
  return rows.map(({ behindPlace, ...row }) => ({
    ...rowOf(row),
    behindPlace,
    actor: { accountId: row.accountId, admin: admins.has(row.accountId) },
  }));
}

/** Which of these accounts are admins'. */
export async function adminsOf(registry: Reader, accountIds: readonly number[]): Promise<ReadonlySet<number>> {
  const ids = JSON.stringify([...new Set(accountIds)]);
  return new Set((await registry.all(adminsAmong, { ids })).map(({ id }) => id));
}

/**
 * Which of these events each webhook gets: those that its owner may see, that came after it was activated, of the types
 * and categories that it asked for. A category is that of the animal that an event is about, before or after, as it was
 * then: whenever this is asked, the answer is the same. What is about no animal and no category has none.
 */
export async function wantedBy(
  reader: Reader,
  webhooks: readonly Subscription[],
  events: readonly OwnedEvent[],
): Promise<Map<Subscription, OwnedEvent[]>> {
  const byCategory = webhooks.some(({ categoryIds }) => categoryIds !== null);
  const categories = byCategory ? await categoriesOf(reader, events) : new Map<OwnedEvent, number[]>();
  const found = new Map<Subscription, OwnedEvent[]>();
  for (const webhook of webhooks) {
    const { actor, types, categoryIds, behindPlace } = webhook;
    const wanted = wantedOf(types ?? undefined);
    const among = categoryIds === null ? undefined : new Set(categoryIds);
    const its = events.filter(
      event =>
        event.place > behindPlace &&
        wanted(event) &&
        (among === undefined || categories.get(event)!.some(id => among.has(id))) &&
        sees(actor, event),
    );
    if (its.length > 0) found.set(webhook, its);
  }
  return found;
}

/** The categories of what each event is about, as they were when it happened. */
async function categoriesOf(reader: Reader, events: readonly OwnedEvent[]): Promise<Map<OwnedEvent, number[]>> {
  const categories = new Map(events.map(event => [event, ofItself(event)]));
  const asked = events.flatMap((event, index) => petIdsOf(event).map(petId => [index, petId, event.id]));
  if (asked.length === 0) return categories;
  for (const { index, categoryId } of await reader.all(categoriesThen, { asked: JSON.stringify(asked) })) {
    if (categoryId !== null) categories.get(events[index]!)!.push(categoryId);
  }
  return categories;
}

/** The categories that an event says itself. */
function ofItself({ kind, subjectId, data }: OwnedEvent): number[] {
  if (kind === 'category') return [subjectId];
  if (kind !== 'pet') return [];
  const { categoryId } = (data['pet'] ?? {}) as { categoryId?: number };
  return [categoryId, data.was?.['categoryId']].filter(id => typeof id === 'number');
}

/** The animals that a hold, an order or a message is about. */
function petIdsOf({ kind, data }: OwnedEvent): readonly number[] {
  if (kind === 'pet') return [];
  const { petId, petIds } = (data[kind] ?? {}) as { petId?: number; petIds?: readonly number[] };
  return petIds ?? (petId === undefined ? [] : [petId]);
}

const activeWebhooks = query<Record<never, never>, WebhookColumns & { behindPlace: number }>(db =>
  db
    .selectFrom('webhooks')
    .select([...webhookColumns, 'behind_place as behindPlace'])
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .orderBy('id'),
);

const adminsAmong = query((db, p: Params<{ ids: string }>, engine) =>
  db.selectFrom('accounts').select('id').where('admin', '=', 1).where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

/** What the log says last of each animal up to an event: of rows with an index of the caller's, the animal and the event. */
const categoriesThen = query<{ asked: string }, { index: number; categoryId: number | null }>((db, p, engine) =>
  db
    .selectFrom(
      engine === 'postgres'
        ? sql<{ index: number; petId: number; eventId: number }>`(
            select (value->>0)::int as "index", (value->>1)::bigint as "petId", (value->>2)::bigint as "eventId"
            from json_array_elements(${p.asked}::json))`.as('asked')
        : sql<{ index: number; petId: number; eventId: number }>`(
            select value->>0 as "index", value->>1 as "petId", value->>2 as "eventId"
            from json_each(${p.asked}))`.as('asked'),
    )
    .select(({ selectFrom }) => [
      'asked.index',
      selectFrom('events')
        .select(
          (engine === 'postgres'
            ? sql<number>`(data::json #>> '{pet,categoryId}')::bigint`
            : sql<number>`data ->> '$.pet.categoryId'`
          ).as('categoryId'),
        )
        .where('kind', '=', sql.lit('pet'))
        .whereRef('subject_id', '=', 'asked.petId')
        .whereRef('id', '<=', 'asked.eventId')
        .orderBy('id', 'desc')
        .limit(1)
        .as('categoryId'),
    ]),
);
