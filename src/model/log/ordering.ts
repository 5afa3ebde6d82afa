import type { Builder } from '../../lib/storage/query.ts';
import {
  amongTexts,
  type Database,
  type EventKind,
  type Params,
  query,
  type Reader,
  selectJsonNumbers,
  sql,
  type Tables,
  type Transaction,
} from '../schema.ts';
import type { PositionedEvent } from './event.ts';
import { eventColumns, parseEvent, selectTraceparent } from './log.ts';

/**
 * Assigns a position in the total order of all events to every committed event without one, after all assigned
 * positions.
 *
 * A reader that reads the log in this order gets every event that was committed before this call. No event ever gets a
 * position before one that a reader has passed.
 *
 * SQLite commits one transaction at a time, so the id is the position and there is nothing to do. PostgreSQL assigns
 * ids at the insert but makes rows visible at the commit, so one process at a time assigns positions after the commit.
 * @throws {StorageError} if it cannot write; the next call assigns the positions, and no event is lost
 */
export async function assignPositions(database: Database): Promise<void> {
  if (database.engine === 'sqlite') return;
  while ((await database.first(anyWithoutPosition, {})) !== undefined) {
    const assigned = await database.write(async tx => {
      await tx.first(lockOrdering, {});
      return tx.run(assignBatch, { most: ASSIGN_BATCH_SIZE });
    });
    if (assigned < ASSIGN_BATCH_SIZE) return;
  }
}

/** Assigns the positions in a transaction of PostgreSQL that has locked the table. */
export async function assignPositionsIn(tx: Pick<Transaction, 'run'>): Promise<void> {
  await tx.run(assignBatch, { most: Number.MAX_SAFE_INTEGER });
}

/**
 * Returns the position of the last event, 0 without events, and whether there are committed events without a position.
 */
export async function logEnd(reader: Reader): Promise<{ readonly position: number; readonly unordered: boolean }> {
  const { position, unordered } = (await reader.first(lastInOrder, {}))!;
  return { position: position ?? 0, unordered: Boolean(unordered) };
}

/** Returns the position of the last event; 0 without events. */
export async function lastPosition(reader: Reader): Promise<number> {
  return (await logEnd(reader)).position;
}

/**
 * Returns a position before all events recorded at `time` or later. A few events recorded shortly before `time` may
 * also follow it, because clocks of processes differ, and transactions commit in a different order than they start.
 */
export async function positionBefore(reader: Reader, time: number): Promise<number> {
  return (await reader.first(lastRecordedBefore, { time: time - CLOCK_TOLERANCE_MS }))?.position ?? 0;
}

/**
 * Returns the events after a position, in order, without events that have no position yet. Uses the index of positions.
 * @param upTo the last position to read
 * @param limit the maximum number of events
 * @param types only events of these types: `pet.created`, or `pet.*`
 */
export async function eventsAfter(
  reader: Reader,
  after: number,
  upTo: number,
  limit: number,
  types?: readonly string[],
): Promise<PositionedEvent<unknown>[]> {
  const range = { after, upTo, limit };
  const rows =
    types === undefined
      ? reader.all(eventsInRange, range)
      : reader.all(eventsOfTypes, { ...range, types: JSON.stringify(types) });
  return (await rows).map(parseEvent<unknown, Row>);
}

/** Returns the events at these positions with their traces, in order; omits missing ones. */
export async function eventsAt(reader: Reader, positions: readonly number[]): Promise<PositionedEvent<unknown>[]> {
  return (await reader.all(eventsAtPositions, { positions: JSON.stringify(positions) })).map(parseEvent<unknown, Row>);
}

/** Returns the position and account of the events after a position, in order; see `eventsAfter`. */
export function causesAfter(
  reader: Reader,
  after: number,
  upTo: number,
  limit: number,
): Promise<readonly Pick<PositionedEvent<never>, 'position' | 'accountId'>[]> {
  return Promise.resolve(reader.all(causesInRange, { after, upTo, limit }));
}

/**
 * Returns events about these subjects, in order: all events after a position, and the last ones of each subject before
 * it.
 * @param subjects the kinds and ids
 * @param range.since the position after which events count
 * @param range.limit the maximum number of events of each subject up to `after`
 */
export async function eventsAbout(
  reader: Reader,
  subjects: readonly (readonly [kind: string, id: number])[],
  range: Range & { readonly since: number },
): Promise<PositionedEvent<unknown>[]> {
  const rows = await reader.all(eventsOfSubjects, { subjects: JSON.stringify(subjects), ...range });
  return rows.map(parseEvent<unknown, Row>);
}

interface EventRange {
  readonly after: number;
  readonly upTo: number;
  /** The last position at which a later event of a resource counts; at least `upTo`. */
  readonly end: number;
}

/**
 * Returns the last event of each resource of a kind in a range, in order. An event is the last of its resource if none
 * follows up to the `end` of the range. Only deletions have their data. Reads every event of the range, so limit the
 * range.
 */
export async function lastEvents<Data>(
  reader: Reader,
  kind: EventKind,
  range: EventRange,
): Promise<PositionedEvent<Partial<Data>>[]> {
  return (await reader.all(lastOfEachSubject, { kind, ...range })).map(parseEvent<Partial<Data>, Row>);
}

/** On SQLite the id is the position. */
function positionColumn(engine: Reader['engine']): 'id' | 'seq' {
  return engine === 'sqlite' ? 'id' : 'seq';
}

/** The number of events per transaction that assigns positions, so that each ends within the time limit. */
const ASSIGN_BATCH_SIZE = 5000;

/**
 * The maximum clock difference of processes that share a database, including the duration of a transaction: an event
 * recorded this much earlier always has an earlier position.
 */
export const CLOCK_TOLERANCE_MS = 10_000;

type Row = Omit<PositionedEvent<never>, 'data'> & { data: string };

const anyWithoutPosition = query(db => db.selectFrom('events').select('id').where('seq', 'is', null).limit(1));

/** Holds an advisory lock until the transaction ends. */
const lockOrdering = query(db =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore events'), 0)`.as('locked')),
);

const assignBatch = query((db, p: Params<{ most: number }>) =>
  db
    .updateTable('events')
    .from(
      sql<{ id: number; position: number }>`(
        select id, (select coalesce(max(seq), 0) from events) + row_number() over (order by id) as position
        from (select id from events where seq is null order by id limit ${p.most}) as first
      )`.as('new'),
    )
    .set({ seq: sql`new.position` })
    .whereRef('events.id', '=', 'new.id' as never),
);

/** Selects the position of an event; null while it has none. */
export const selectPosition = (engine: Reader['engine'], table = 'events') =>
  sql<number>`${sql.ref(`${table}.${positionColumn(engine)}`)}`.as('position');

const lastInOrder = query<Record<never, never>, { position: number | null; unordered: number | boolean }>(
  (db, _, engine) => {
    const column = positionColumn(engine);
    const unordered = engine === 'sqlite' ? sql`0` : sql`exists(select 1 from events where seq is null)`;
    return db.selectNoFrom(({ selectFrom }) => {
      const events = selectFrom('events').select(selectPosition(engine)).where(column, 'is not', null);
      return [
        events.orderBy(column, 'desc').limit(1).as('position'),
        unordered.$castTo<number | boolean>().as('unordered'),
      ];
    });
  },
);

const lastRecordedBefore = query((db, p: Params<{ time: number }>, engine) => {
  const events = db.selectFrom('events').select(selectPosition(engine)).where('at', '<', p.time);
  return events.where(positionColumn(engine), 'is not', null).orderBy('at', 'desc').orderBy('id', 'desc').limit(1);
});

interface Range {
  after: number;
  upTo: number;
  limit: number;
}

const selectRange = (db: Builder<Tables>, p: Params<Range>, engine: Reader['engine']) => {
  const column = positionColumn(engine);
  const events = db
    .selectFrom('events')
    .select([selectPosition(engine), ...eventColumns])
    .$castTo<Row>();
  return events.where(column, '>', p.after).where(column, '<=', p.upTo).orderBy(column).limit(p.limit);
};

const eventsInRange = query(selectRange);

const eventsOfTypes = query((db, p: Params<Range & { types: string }>, engine) =>
  selectRange(db, p, engine).where(({ or }) =>
    or([
      amongTexts(sql<string>`kind || '.' || action`, p.types, engine),
      amongTexts(sql<string>`kind || '.*'`, p.types, engine),
    ]),
  ),
);

const causesInRange = query((db, p: Params<Range>, engine) => {
  const column = positionColumn(engine);
  const events = db.selectFrom('events').select([selectPosition(engine), 'account_id as accountId']);
  return events.where(column, '>', p.after).where(column, '<=', p.upTo).orderBy(column).limit(p.limit);
});

const eventsOfSubjects = query((db, p: Params<Range & { since: number; subjects: string }>, engine) => {
  const column = positionColumn(engine);
  const subjects =
    engine === 'postgres'
      ? sql<{ kind: EventKind; id: number }>`(
          select value->>0 as kind, (value->>1)::bigint as id from json_array_elements(${p.subjects}::json))`
      : sql<{ kind: EventKind; id: number }>`(select value->>0 as kind, value->>1 as id from json_each(${p.subjects}))`;
  // Read the index backward once per subject, which may have any number of events.
  const firsts = db
    .selectFrom(subjects.as('subjects'))
    .select(({ fn, selectFrom, lit }) => [
      'subjects.kind as subjectKind',
      'subjects.id as id',
      fn
        .coalesce(
          selectFrom('events')
            .select('events.id')
            .whereRef('events.kind', '=', 'subjects.kind')
            .whereRef('events.subject_id', '=', 'subjects.id')
            .where(`events.${column}`, '<=', p.after)
            .orderBy('events.id', 'desc')
            .limit(1)
            .offset(sql<number>`cast(${p.limit} as bigint) - 1`),
          lit(0),
        )
        .as('firstEvent'),
    ]);
  return db
    .with(
      cte => cte('firsts').materialized(),
      () => firsts,
    )
    .selectFrom('firsts')
    .innerJoin('events', join =>
      join
        .onRef('kind', '=', 'firsts.subjectKind')
        .onRef('subject_id', '=', 'firsts.id')
        .onRef('events.id', '>=', 'firsts.firstEvent'),
    )
    .select([selectPosition(engine), 'events.id as id', 'at', 'kind', 'action', 'subject_id as subjectId'])
    .select(['account_id as accountId', 'data'])
    .where(`events.${column}`, '>', p.since)
    .where(`events.${column}`, '<=', p.upTo)
    .orderBy('position')
    .$castTo<Row>();
});

const eventsAtPositions = query<{ positions: string }, Row>((db, p, engine) => {
  const column = positionColumn(engine);
  const events = db.selectFrom('events').select([selectPosition(engine), ...eventColumns, selectTraceparent(engine)]);
  return events.where(column, 'in', selectJsonNumbers(p.positions, engine)).orderBy(column);
});

const lastOfEachSubject = query<EventRange & { kind: EventKind }, Row>((db, p, engine) => {
  const column = positionColumn(engine);
  return (
    db
      .selectFrom('events as event')
      .select([selectPosition(engine, 'event'), ...eventColumns.filter(column => column !== 'data')])
      .select(sql<string>`case when action = 'deleted' then data else '{}' end`.as('data'))
      .where(`event.${column}`, '>', p.after)
      .where(`event.${column}`, '<=', p.upTo)
      // No index serves this expression: otherwise SQLite would read and sort all events of the kind.
      .where(sql`(event.kind || '')`, '=', p.kind)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('events as later')
              .select('later.id')
              .where('later.kind', '=', p.kind)
              .whereRef('later.subject_id', '=', 'event.subject_id')
              .whereRef('later.id', '>', 'event.id')
              .where(`later.${column}`, '<=', p.end),
          ),
        ),
      )
      .orderBy(`event.${column}`)
  );
});
