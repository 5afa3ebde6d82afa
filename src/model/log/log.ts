import type { Origin } from '../../lib/origin.ts';
import { isUpgraded } from '../facts.ts';
import {
  type EventKind,
  type KeysetParams,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  selectJsonNumbers,
  sql,
  type Transaction,
} from '../schema.ts';
import { countEventBytes } from './bytes.ts';
import type { Event, NewEvent } from './event.ts';
import { recordReplaced, withoutLongValues } from './long-values.ts';
import type { LoggedData } from './owners.ts';

/**
 * Records an event in the transaction of the change, with the origin of the transaction for the audit log. The event
 * log is append-only. It omits long values of the resource; see `withLongValues`.
 */
export async function record(tx: Transaction, event: NewEvent): Promise<void> {
  const { kind, action, subjectId, accountId } = event;
  const { origin, auditAccountId } = auditColumnsOf(tx, event);
  const { bytes, data, whole } = textsOf(tx, event);
  countEventBytes(tx, accountId, bytes + (origin?.length ?? 0));
  // Without spread syntax, which takes longer than the JSON of the event.
  const row = { at: tx.now, kind, action, subjectId, accountId, data, whole, origin, auditAccountId };
  await tx.queue(whole === null ? insertEvent : insertShortened, row);
  if (kind === 'pet' && action !== 'created') await recordReplaced(tx, event);
}

/** Records several events in this order, a hundred per statement. Each must be about a different resource. */
export async function recordEvents(tx: Transaction, events: readonly NewEvent[]): Promise<void> {
  for (let start = 0; start < events.length; start += EVENTS_PER_INSERT) {
    const rows = events.slice(start, start + EVENTS_PER_INSERT).map(event => {
      const { kind, action, subjectId, accountId } = event;
      const { origin, auditAccountId } = auditColumnsOf(tx, event);
      const { data, whole, bytes } = textsOf(tx, event);
      countEventBytes(tx, accountId, bytes + (origin?.length ?? 0));
      return [kind, action, subjectId, accountId, data, origin, auditAccountId, whole];
    });
    await tx.queue(insertEvents, { at: tx.now, rows: JSON.stringify(rows) });
  }
  for (const event of events) {
    if (event.kind === 'pet' && event.action !== 'created') await recordReplaced(tx, event);
  }
}

/**
 * Returns the data of an event without long values, and the bytes that the change stores: those of the data and of the
 * long values in the row. On PostgreSQL, also returns the `whole` data if it differs, which is stored while an older
 * release serves the same database.
 */
function textsOf(tx: Transaction, event: NewEvent) {
  const short = withoutLongValues(event);
  const data = JSON.stringify(short?.data ?? event.data);
  const isEither = short !== undefined && tx.engine === 'postgres';
  return {
    data,
    whole: isEither ? JSON.stringify(event.data) : null,
    bytes: Buffer.byteLength(data) + (short?.rowBytes ?? 0),
  };
}

const EVENTS_PER_INSERT = 100;

type Scan = KeysetParams & { readonly descending: boolean };

/** Returns the events of one resource, oldest first. With a scan, returns only those of one page of a list. */
export async function eventsOf<Data>(
  reader: Reader,
  kind: EventKind,
  subjectId: number,
  scan: Partial<Scan> = {},
): Promise<Event<Data>[]> {
  const { MAX_SAFE_INTEGER } = Number;
  const range = { descending: false, fromId: 0, endId: MAX_SAFE_INTEGER, rows: MAX_SAFE_INTEGER, ...scan };
  return (await reader.all(eventsOfSubject(range), { kind, subjectId, ...range })).map(parseEvent<Data>);
}

/** Returns the events of several resources of one kind with one query: by resource, oldest first. */
export async function eventsOfAll<Data>(
  reader: Reader,
  kind: EventKind,
  subjectIds: readonly number[],
): Promise<Event<Data>[]> {
  if (subjectIds.length === 0) return [];
  return (await reader.all(eventsOfSubjects, { kind, ids: JSON.stringify(subjectIds) })).map(parseEvent<Data>);
}

export function parseEvent<Data, Row extends { readonly data: string } = EventRow>({ data, ...event }: Row) {
  return { ...event, data: JSON.parse(data) as Data };
}

/** The columns of an event, under the names of `Event`. */
export const eventColumns = [
  'id',
  'at',
  'kind',
  'action',
  'subject_id as subjectId',
  'account_id as accountId',
  'data',
] as const;

type EventRow = Omit<Event<never>, 'data'> & { data: string };

type InsertedEvent = Omit<EventRow, 'id'> & AuditColumns;

const insertEvent = query((db, p: Params<InsertedEvent>) =>
  db.insertInto('events').values({ ...sharedValues(p), data: p.data }),
);

const insertShortened = query((db, p: Params<InsertedEvent & { whole: string | null }>) =>
  db.insertInto('events').values({
    ...sharedValues(p),
    data: sql`case when ${isUpgraded} then cast(${p.data} as text) else cast(${p.whole} as text) end`,
  }),
);

const sharedValues = (p: Params<InsertedEvent>) => ({
  at: p.at,
  kind: p.kind,
  action: p.action,
  subject_id: p.subjectId,
  account_id: p.accountId,
  origin: p.origin,
  audit_account_id: p.auditAccountId,
});

const insertEvents = query((db, p: Params<{ at: number; rows: string }>, engine) =>
  db
    .insertInto('events')
    .columns(['at', 'kind', 'action', 'subject_id', 'account_id', 'data', 'origin', 'audit_account_id'])
    .expression(
      engine === 'sqlite'
        ? sql`select ${p.at}, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
              from json_each(${p.rows})`
        : sql`select cast(${p.at} as bigint), row ->> 0, row ->> 1, (row ->> 2)::bigint, (row ->> 3)::bigint,
                case when row ->> 7 is null or ${isUpgraded} then row ->> 4 else row ->> 7 end,
                row ->> 5, (row ->> 6)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (row, number) order by number`,
    ),
);

const eventsOfSubject = queriesByShape(['descending'], ({ descending }: Pick<Scan, 'descending'>) =>
  query((db, p: Params<KeysetParams & { kind: EventKind; subjectId: number }>) => {
    const events = db.selectFrom('events').select(eventColumns).where('kind', '=', p.kind);
    return keysetPage(events.where('subject_id', '=', p.subjectId), 'id', descending, p);
  }),
);

const eventsOfSubjects = query((db, p: Params<{ kind: EventKind; ids: string }>, engine) =>
  db
    .selectFrom('events')
    .select(eventColumns)
    .where('kind', '=', p.kind)
    .where('subject_id', 'in', selectJsonNumbers(p.ids, engine))
    .orderBy('subject_id')
    .orderBy('id'),
);

/** The columns of an event that only the audit log shows; both are `null` for automatic changes. */
interface AuditColumns {
  /** The key, request id and address of a request, or the command of the operator, as a JSON object. */
  readonly origin: string | null;
  /** The account that can see the entry: the account of the key, or the one for or on which a command acted. */
  readonly auditAccountId: number | null;
}

/** The JSON of the latest origin, because a request records several events. */
let latest: { readonly origin: Origin; readonly json: string } | undefined;

/** Returns the audit columns of an event recorded in `tx`. */
function auditColumnsOf({ origin }: Pick<Transaction, 'origin'>, event: NewEvent): AuditColumns {
  if (origin === undefined || event.automatic) return none;
  if ('command' in origin) {
    const { ownerId = null } = event.data as LoggedData;
    return { origin: JSON.stringify(origin), auditAccountId: event.accountId ?? ownerId };
  }
  if (latest?.origin !== origin) latest = { origin, json: JSON.stringify({ ...origin, accountId: undefined }) };
  return { origin: latest.json, auditAccountId: origin.accountId };
}

const none: AuditColumns = { origin: null, auditAccountId: null };

/** Selects the `traceparent` header of the request that caused an event; null if it had none. */
export function selectTraceparent(engine: Reader['engine']) {
  const origin = engine === 'sqlite' ? sql`origin` : sql`origin::json`;
  return sql<string | null>`${origin} ->> 'traceparent'`.as('traceparent');
}

/** Selects the `traceparent` header of the first event of a resource. */
export const traceOfCreation = query((db, p: Params<{ kind: EventKind; subjectId: number }>, engine) =>
  db
    .selectFrom('events')
    .select(selectTraceparent(engine))
    .where('kind', '=', p.kind)
    .where('subject_id', '=', p.subjectId)
    .orderBy('id')
    .limit(1),
);
