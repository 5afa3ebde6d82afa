import { type Params, query, type Reader, sql } from '../schema.ts';
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

type Row = Omit<PlacedEvent<never>, 'data'> & { data: string };

const behind = query<{ after: number; upTo: number; limit: number }, Row>(
  (db, p: Params<{ after: number; upTo: number; limit: number }>, engine) => {
    // Embedded, writes come one by one: the id is the place.
    const place = engine === 'sqlite' ? ('id' as const) : ('seq' as const);
    return db
      .selectFrom('events')
      .select([
        sql<number>`${sql.ref(place)}`.as('place'),
        'id',
        'at',
        'kind',
        'action',
        'subject_id as subjectId',
        'account_id as accountId',
        'data',
      ])
      .where(place, '>', p.after)
      .where(place, '<=', p.upTo)
      .orderBy(place)
      .limit(p.limit);
  },
);
