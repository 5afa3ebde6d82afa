import {
  type Database,
  type EventKind,
  type Params,
  type Query,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../schema.ts';
import type { Event, NewEvent } from './event.ts';

/**
 * Writes down what happened, in the transaction in which it does. The log is append-only and the one place where the
 * past is kept.
 */
export async function record(tx: Transaction, { data, ...event }: NewEvent): Promise<void> {
  await tx.run(insertEvent, { ...event, at: tx.now, data: JSON.stringify(data) });
}

/** Writes several things down, in one statement. */
export async function recordAll(tx: Transaction, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const values: Record<string, unknown> = { at: tx.now };
  for (const [row, event] of events.entries()) {
    for (const [member, value] of Object.entries(event)) values[`${member}${row}`] = value;
    values[`data${row}`] = JSON.stringify(event.data);
  }
  await tx.run(insertEvents(events.length), values as never);
}

/**
 * What happened to one thing, oldest first.
 * @param after only what came after the event with this id
 * @param limit how many events at most
 */
export async function eventsOf<Data>(
  reader: Reader,
  kind: EventKind,
  subjectId: number,
  { after = 0, limit = Number.MAX_SAFE_INTEGER }: { after?: number; limit?: number } = {},
): Promise<Event<Data>[]> {
  return (await reader.all(eventsOfOne, { kind, subjectId, after, limit })).map(parsed<Data>);
}

/** What happened to one thing before the event with this id, newest first. */
export async function eventsBefore<Data>(
  reader: Reader,
  kind: EventKind,
  subjectId: number,
  before: number,
  limit: number,
): Promise<Event<Data>[]> {
  return (await reader.all(eventsOfOneBefore, { kind, subjectId, before, limit })).map(parsed<Data>);
}

/** What happened to several things of one kind, in one query: oldest first for each of them. */
export async function eventsOfAll<Data>(
  reader: Reader,
  kind: EventKind,
  subjectIds: readonly number[],
): Promise<Event<Data>[]> {
  if (subjectIds.length === 0) return [];
  const ids = Object.fromEntries(subjectIds.map((id, index) => [`id${index}`, id]));
  return (await reader.all(eventsOfMany(subjectIds.length), { kind, ...ids })).map(parsed<Data>);
}

/**
 * Gives every event that was committed until now its place in the one order of all events, behind those that have one.
 *
 * A reader that goes through the log in that order sees each event that was committed before this call, and nothing
 * ever appears behind it. Embedded, writes come one by one and the order is theirs: there is nothing to do. PostgreSQL
 * numbers rows when they are inserted but shows them when they are committed, so a number of its own is given
 * afterwards, by one process at a time.
 * @throws {StorageError} when it cannot be written; those without a place are then seen later, none is lost
 */
export async function putInOrder(database: Database): Promise<void> {
  if (database.engine === 'sqlite') return;
  while ((await database.first(anyWithoutOrder, {})) !== undefined) {
    const placed = await database.write(async tx => {
      await tx.first(orderAlone, {});
      return tx.run(giveOrder, { most: PLACED_AT_ONCE });
    });
    if (placed < PLACED_AT_ONCE) return;
  }
}

/** The place of the last event that has one; 0 where there is none. */
export async function lastPlace(reader: Reader): Promise<number> {
  return (await reader.first(lastInOrder, {}))?.place ?? 0;
}

/**
 * A place before every event that was written at this time or later; some that were written shortly before stand behind
 * it, too. Processes' clocks may differ, and what was begun before may be committed after, so times are in the order of
 * events only roughly.
 */
export async function placeBefore(reader: Reader, time: number): Promise<number> {
  return (await reader.first(lastBefore, { time: time - ROUGHLY_MS }))?.place ?? 0;
}

/** How many events get their places in one transaction: few enough that it ends in time. */
const PLACED_AT_ONCE = 5000;

/**
 * An event never stands before another one that was written so much earlier: the clocks of processes that share a
 * database differ by less, with the time that a transaction takes.
 */
const ROUGHLY_MS = 10_000;

function parsed<Data>({ data, ...event }: Omit<Event<Data>, 'data'> & { data: string }): Event<Data> {
  return { ...event, data: JSON.parse(data) as Data };
}

const insertEvent = query((db, p: Params<{ at: number; data: string } & Omit<NewEvent, 'data'>>) =>
  db.insertInto('events').values({
    at: p.at,
    kind: p.kind,
    action: p.action,
    subject_id: p.subjectId,
    account_id: p.accountId,
    data: p.data,
  }),
);

const inserts = new Map<number, Query<Record<string, never>, unknown>>();

function insertEvents(rows: number): Query<Record<string, never>, unknown> {
  let insert = inserts.get(rows);
  if (insert === undefined) {
    insert = query((db, p: Params<Record<string, never>>) =>
      db.insertInto('events').values(
        Array.from({ length: rows }, (_, row) => ({
          at: p['at']!,
          kind: p[`kind${row}`]!,
          action: p[`action${row}`]!,
          subject_id: p[`subjectId${row}`]!,
          account_id: p[`accountId${row}`]!,
          data: p[`data${row}`]!,
        })),
      ),
    );
    inserts.set(rows, insert);
  }
  return insert;
}

const eventsOfOne = query((db, p: Params<{ kind: EventKind; subjectId: number; after: number; limit: number }>) =>
  db
    .selectFrom('events')
    .select(['id', 'at', 'kind', 'action', 'subject_id as subjectId', 'account_id as accountId', 'data'])
    .where('kind', '=', p.kind)
    .where('subject_id', '=', p.subjectId)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
);

const eventsOfOneBefore = query(
  (db, p: Params<{ kind: EventKind; subjectId: number; before: number; limit: number }>) =>
    db
      .selectFrom('events')
      .select(['id', 'at', 'kind', 'action', 'subject_id as subjectId', 'account_id as accountId', 'data'])
      .where('kind', '=', p.kind)
      .where('subject_id', '=', p.subjectId)
      .where('id', '<', p.before)
      .orderBy('id', 'desc')
      .limit(p.limit),
);

type ManyValues = { kind: EventKind } & Record<`id${number}`, number>;
const many = new Map<number, Query<ManyValues, Omit<Event<never>, 'data'> & { data: string }>>();

function eventsOfMany(count: number): Query<ManyValues, Omit<Event<never>, 'data'> & { data: string }> {
  let found = many.get(count);
  if (found === undefined) {
    found = query((db, p: Params<ManyValues>) =>
      db
        .selectFrom('events')
        .select(['id', 'at', 'kind', 'action', 'subject_id as subjectId', 'account_id as accountId', 'data'])
        .where('kind', '=', p.kind)
        .where(
          'subject_id',
          'in',
          Array.from({ length: count }, (_, index) => p[`id${index}`]!),
        )
        .orderBy('subject_id')
        .orderBy('id'),
    );
    many.set(count, found);
  }
  return found;
}

const anyWithoutOrder = query(db => db.selectFrom('events').select('id').where('seq', 'is', null).limit(1));

/** Taken until the transaction ends; the number means nothing but this. */
const orderAlone = query(db => db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore events'), 0)`.as('taken')));

const giveOrder = query((db, p: Params<{ most: number }>) =>
  db
    .updateTable('events')
    .from(
      sql<{ id: number; place: number }>`(
        select id, (select coalesce(max(seq), 0) from events) + row_number() over (order by id) as place
        from (select id from events where seq is null order by id limit ${p.most}) as first
      )`.as('new'),
    )
    .set({ seq: sql`new.place` })
    .whereRef('events.id', '=', 'new.id' as never),
);

const lastInOrder = query((db, _: Params<Record<never, never>>, engine) => {
  const place = engine === 'sqlite' ? ('id' as const) : ('seq' as const);
  return db
    .selectFrom('events')
    .select(sql<number>`${sql.ref(place)}`.as('place'))
    .where(place, 'is not', null)
    .orderBy(place, 'desc')
    .limit(1);
});

const lastBefore = query((db, p: Params<{ time: number }>, engine) => {
  const place = engine === 'sqlite' ? ('id' as const) : ('seq' as const);
  return db
    .selectFrom('events')
    .select(sql<number>`${sql.ref(place)}`.as('place'))
    .where('at', '<', p.time)
    .where(place, 'is not', null)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(1);
});
