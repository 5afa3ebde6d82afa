import type { Actor } from '../events/event.ts';
import type { OwnedEvent } from '../events/owners.ts';
import { wantedOf } from '../feed/list-events.ts';
import { sees } from '../feed/seen-by.ts';
import { numbersIn, type Params, query, type Reader, sql } from '../schema.ts';
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
 * and categories that it asked for. A category is that of the animal that an event is about, before or after; what is
 * about no animal and no category has none.
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

/** The categories of what each event is about. */
async function categoriesOf(reader: Reader, events: readonly OwnedEvent[]): Promise<Map<OwnedEvent, number[]>> {
  const petIds = new Set(events.filter(({ kind }) => kind !== 'pet').flatMap(petIdsOf));
  const rows = petIds.size === 0 ? [] : await reader.all(categoriesOfPets, { ids: JSON.stringify([...petIds]) });
  const ofPets = new Map(rows.map(({ id, categoryId }) => [id, categoryId]));
  return new Map(
    events.map(event => {
      const { kind, subjectId, data } = event;
      if (kind === 'category') return [event, [subjectId]];
      const ids =
        kind === 'pet'
          ? [(data['pet'] as { categoryId?: number } | undefined)?.categoryId, data.was?.['categoryId']]
          : petIdsOf(event).map(id => ofPets.get(id));
      return [event, ids.filter(id => typeof id === 'number')];
    }),
  );
}

/** The animals that an event is about. */
export function petIdsOf({ kind, subjectId, data }: Pick<OwnedEvent, 'kind' | 'subjectId' | 'data'>): number[] {
  if (kind === 'pet') return [subjectId];
  const { petId, petIds } = (data[kind] ?? {}) as { petId?: number; petIds?: number[] };
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
  db.selectFrom('accounts').select('id').where('admin', '=', 1).where('id', 'in', numbersIn(p.ids, engine)),
);

const categoriesOfPets = query((db, p: Params<{ ids: string }>, engine) =>
  db.selectFrom('pets').select(['id', 'category_id as categoryId']).where('id', 'in', numbersIn(p.ids, engine)),
);
