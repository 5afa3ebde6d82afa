import { type Params, query, type Reader, selectJsonNumbers, sql } from '../schema.ts';
import type { PlacedEvent } from './latest.ts';

/** An event with what decides who may see it. */
export interface OwnedEvent extends PlacedEvent<LoggedData> {
  /** Whose things are concerned: the owner of the animal, the category or the key, the owners of a hold's animals. */
  readonly ownerIds: readonly number[];
}

/** What the log says of anything: the thing under the name of its kind, and what the rooms add. */
export interface LoggedData {
  readonly [kind: string]: unknown;
  readonly was?: Readonly<Record<string, unknown>>;
  readonly at?: number;
  readonly reason?: string;
  readonly holdId?: number;
  readonly orderId?: number;
  readonly intoId?: number;
  readonly keyId?: string;
  readonly note?: string;
  readonly ownerId?: number;
  readonly ownerIds?: readonly number[];
}

/**
 * Events with the owners of what they are about. Those that earlier releases wrote down do not say them: they are looked
 * up, one query for each kind of thing.
 */
export async function withOwners(reader: Reader, events: readonly PlacedEvent<unknown>[]): Promise<OwnedEvent[]> {
  const logged = events as readonly PlacedEvent<LoggedData>[];
  const unsaid = Map.groupBy(
    logged.filter(event => saidOf(event) === undefined),
    ({ kind }) => kind,
  );
  const found = new Map<string, number[]>();
  for (const [kind, ownersOf] of Object.entries(lookUps)) {
    const some = unsaid.get(kind as keyof typeof lookUps);
    if (some === undefined) continue;
    const ids = JSON.stringify([...new Set(some.map(({ subjectId }) => subjectId))]);
    for (const { id, ownerId } of await reader.all(ownersOf, { ids })) {
      if (ownerId !== null) found.set(`${kind} ${id}`, [...(found.get(`${kind} ${id}`) ?? []), ownerId]);
    }
  }
  return logged.map(event => ({
    ...event,
    ownerIds: saidOf(event) ?? found.get(`${event.kind} ${event.subjectId}`) ?? [],
  }));
}

/** What an event says of its owners itself; a category that is nobody's says nothing, and nothing is looked up. */
function saidOf({ kind, data }: PlacedEvent<LoggedData>): readonly number[] | undefined {
  if (data.ownerIds !== undefined) return data.ownerIds;
  if (data.ownerId !== undefined) return [data.ownerId];
  return kind === 'category' ? [] : undefined;
}

/** An animal belongs to who added it. */
const ownersOfPets = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('events')
    .select(['subject_id as id', 'account_id as ownerId'])
    .where('kind', '=', sql.lit('pet'))
    .where('subject_id', 'in', selectJsonNumbers(p.ids, engine))
    .where('action', '=', 'created'),
);

const ownersOfHolds = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('reservations')
    .select([sql<number>`hold_id`.as('id'), sql<number | null>`owner_id`.as('ownerId')])
    .distinct()
    .where('hold_id', 'in', selectJsonNumbers(p.ids, engine)),
);

const ownersOfOrders = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('orders')
    .select(['id', sql<number | null>`owner_id`.as('ownerId')])
    .where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const lookUps = { pet: ownersOfPets, hold: ownersOfHolds, order: ownersOfOrders } as const;
