import type { EventCause } from '../public-event.ts';
import { type Params, query, type Reader, selectJsonNumbers, sql } from '../schema.ts';
import type { PositionedEvent } from './event.ts';

/** An event with the accounts that determine who can see it. */
export interface OwnedEvent extends PositionedEvent<LoggedData> {
  /** The owner of the pet, category or key; the owners of the pets of a hold. */
  readonly ownerIds: readonly number[];
}

/** The data of any event: the resource under the name of its kind, and members that the room of the kind adds. */
export interface LoggedData extends EventCause {
  readonly [kind: string]: unknown;
  readonly was?: Readonly<Record<string, unknown>>;
  readonly at?: number;
  readonly ownerId?: number;
  readonly ownerIds?: readonly number[];
  /** True for the delivery of a message that its recipient is not notified of. */
  readonly isSpam?: true;
}

/**
 * Adds the owners to events. Events of earlier releases do not record them, so they are read with one query per kind.
 */
export async function withOwners(reader: Reader, events: readonly PositionedEvent<unknown>[]): Promise<OwnedEvent[]> {
  const logged = events as readonly PositionedEvent<LoggedData>[];
  const found = new Map<string, number[]>();
  for (const [kind, ownersOf] of Object.entries(ownerQueries)) {
    const unnamed = logged.filter(event => event.kind === kind && namedOwners(event) === undefined);
    if (unnamed.length === 0) continue;
    const ids = JSON.stringify([...new Set(unnamed.map(({ subjectId }) => subjectId))]);
    for (const { id, ownerId } of await reader.all(ownersOf, { ids })) {
      if (ownerId !== null) found.set(`${kind} ${id}`, [...(found.get(`${kind} ${id}`) ?? []), ownerId]);
    }
  }
  return logged.map(event => ({
    ...event,
    ownerIds: namedOwners(event) ?? found.get(`${event.kind} ${event.subjectId}`) ?? [],
  }));
}

/** Returns the owners that the event itself records. A built-in category has none. */
function namedOwners({ kind, data }: PositionedEvent<LoggedData>): readonly number[] | undefined {
  if (data.ownerIds !== undefined) return data.ownerIds;
  if (data.ownerId !== undefined) return [data.ownerId];
  return kind === 'category' ? [] : undefined;
}

const ownerQueries = {
  // A pet belongs to the account that created it.
  pet: query((db, p: Params<{ ids: string }>, engine) =>
    db
      .selectFrom('events')
      .select(['subject_id as id', 'account_id as ownerId'])
      .where('kind', '=', sql.lit('pet'))
      .where('subject_id', 'in', selectJsonNumbers(p.ids, engine))
      .where('action', '=', 'created'),
  ),
  hold: query((db, p: Params<{ ids: string }>, engine) =>
    db
      .selectFrom('reservations')
      .select([sql<number>`hold_id`.as('id'), sql<number | null>`owner_id`.as('ownerId')])
      .distinct()
      .where('hold_id', 'in', selectJsonNumbers(p.ids, engine)),
  ),
  order: query((db, p: Params<{ ids: string }>, engine) =>
    db
      .selectFrom('orders')
      .select(['id', sql<number | null>`owner_id`.as('ownerId')])
      .where('id', 'in', selectJsonNumbers(p.ids, engine)),
  ),
} as const;
