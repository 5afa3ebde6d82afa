import { type EventKind, type Params, query, type Reader, sql } from '../schema.ts';
import type { Event } from './event.ts';

/** An event with its place in the one order of all events. */
export interface PlacedEvent<Data> extends Event<Data> {
  readonly place: number;
}

/** A stretch of the log. */
export interface Stretch {
  /** Behind this place. */
  readonly after: number;
  /** Up to this place, itself included. */
  readonly upTo: number;
  /** The end of what is looked at for a later event: this place, or one behind `upTo`. */
  readonly end: number;
}

/**
 * The last event of each thing of a kind to which something happened, in the order of the log.
 *
 * An event counts as the last of its thing where none came after it up to the stretch's `end`. Looks at every event of
 * the stretch: it should have an end.
 * @param limit how many events at most
 */
export async function lastEvents<Data>(
  reader: Reader,
  kind: EventKind,
  stretch: Stretch,
  limit: number,
): Promise<PlacedEvent<Data>[]> {
  const rows = await reader.all(lastOfEach, { kind, ...stretch, limit });
  return rows.map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) as Data }));
}

type Row = Omit<PlacedEvent<never>, 'data'> & { data: string };

const lastOfEach = query<Stretch & { kind: EventKind; limit: number }, Row>(
  (db, p: Params<Stretch & { kind: EventKind; limit: number }>, engine) => {
    // Embedded, writes come one by one: the id is the place.
    const place = engine === 'sqlite' ? ('id' as const) : ('seq' as const);
    return (
      db
        .selectFrom('events as event')
        .select([
          sql<number>`event.${sql.ref(place)}`.as('place'),
          'id',
          'at',
          'kind',
          'action',
          'subject_id as subjectId',
          'account_id as accountId',
          'data',
        ])
        .where(`event.${place}`, '>', p.after)
        .where(`event.${place}`, '<=', p.upTo)
        // An expression has no index: else SQLite would read all events of the kind, and sort them.
        .where(sql`(event.kind || '')`, '=', p.kind)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('events as later')
                .select('later.id')
                .where('later.kind', '=', p.kind)
                .whereRef('later.subject_id', '=', 'event.subject_id')
                .whereRef('later.id', '>', 'event.id')
                .where(`later.${place}`, '<=', p.end),
            ),
          ),
        )
        .orderBy(`event.${place}`)
        .limit(p.limit)
    );
  },
);
