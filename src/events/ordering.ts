import { type Params, query, type Reader, selectJsonNumbers, sql } from '../schema.ts';
import type { PlacedEvent } from './latest.ts';

/**
 * The events behind a place, in the one order of all events; those that have no place yet are not among them.
 *
 * Costs what it gives: it follows the index of places.
 * @param upTo the last place that is looked at
 * @param limit how many events at most
 */
export async function eventsBehind(
  reader: Reader,
  after: number,
  upTo: number,
  limit: number,
): Promise<PlacedEvent<unknown>[]> {
  const rows = await reader.all(behind, { after, upTo, limit });
  return rows.map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) as unknown }));
}

/** The events at these places, in order; those that are not there are left out. */
export async function eventsAt(reader: Reader, places: readonly number[]): Promise<PlacedEvent<unknown>[]> {
  const rows = await reader.all(at, { places: JSON.stringify(places) });
  return rows.map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) as unknown }));
}

type Row = Omit<PlacedEvent<never>, 'data'> & { data: string };

/** Embedded, writes come one by one: the id is the place. */
const placeOn = (engine: Reader['engine']) => (engine === 'sqlite' ? ('id' as const) : ('seq' as const));

const columnsWith = (place: 'id' | 'seq') =>
  [
    sql<number>`${sql.ref(place)}`.as('place'),
    'id',
    'at',
    'kind',
    'action',
    'subject_id as subjectId',
    'account_id as accountId',
    'data',
  ] as const;

const behind = query<{ after: number; upTo: number; limit: number }, Row>(
  (db, p: Params<{ after: number; upTo: number; limit: number }>, engine) => {
    const place = placeOn(engine);
    return db
      .selectFrom('events')
      .select(columnsWith(place))
      .where(place, '>', p.after)
      .where(place, '<=', p.upTo)
      .orderBy(place)
      .limit(p.limit);
  },
);

const at = query<{ places: string }, Row>((db, p: Params<{ places: string }>, engine) => {
  const place = placeOn(engine);
  return db
    .selectFrom('events')
    .select(columnsWith(place))
    .where(place, 'in', selectJsonNumbers(p.places, engine))
    .orderBy(place);
});
