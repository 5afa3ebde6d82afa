import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import { eventColumns } from '../../model/log/log.ts';
import { CLOCK_TOLERANCE_MS, selectPosition } from '../../model/log/ordering.ts';
import { amongTexts, type EventKind, type Params, query, type Reader, sql } from '../../model/schema.ts';
import type { AuditRow } from './entry.ts';

export interface AuditFilter {
  /** For admins: only the entries that this account can see. */
  readonly accountId?: number | undefined;
  readonly keyId?: string | undefined;
  /** Only the changes made on pages in this session of a browser. */
  readonly sessionId?: number | undefined;
  readonly requestId?: string | undefined;
  readonly address?: string | undefined;
  /** Types such as `pet.created`, or all types of a kind such as `pet.*`. */
  readonly types?: readonly string[] | undefined;
  /** Only changes of this resource: its kind and id, `pet:7`. */
  readonly resource?: string | undefined;
  /** Only changes at this time or later, in milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Only changes before this time. */
  readonly until?: number | undefined;
}

/**
 * Returns one page of the audit log, newest first. An account sees the changes made with its keys, and changes of the
 * operator for it or its resources; admins and the operator see all changes.
 *
 * A page scans up to 20,000 events of all accounts, so it may be short or empty and still have a next page.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function listAuditEntries(
  reader: Reader,
  actor: Actor,
  filter: AuditFilter,
  page: PageRequest,
): Promise<Page<AuditRow>> {
  const { accountId, keyId = '', requestId = '', address = '', types = [], resource = '', since, until } = filter;
  const sessionId = filter.sessionId === undefined ? '' : String(filter.sessionId);
  const visibleTo = actor.admin ? accountId : actor.accountId!;
  // An account cannot see entries of other accounts.
  if (accountId !== undefined && accountId !== visibleTo) return { rows: [] };
  const [kind, subjectId] = resource.split(/:\D*/);
  const values = {
    ...(await timeRange(reader, since, until)),
    accountId: visibleTo,
    ...{ keyId: keyId || undefined, sessionId: sessionId || undefined, requestId: requestId || undefined },
    ...{ address: address || undefined, types: types.length > 0 ? JSON.stringify(types) : undefined },
    ...(resource !== '' && { kind: kind as EventKind, subjectId: Number(subjectId) }),
  };
  const { rows, ...links } = await pageOf(reader, values, {
    list: ['audit', visibleTo, keyId, requestId, address, types, resource, since, until, ...(sessionId && [sessionId])],
    page,
    descending: true,
  });
  return { ...links, rows: rows.map(row => ({ ...row, data: JSON.parse(row.data), origin: JSON.parse(row.origin) })) };
}

interface TimeRange {
  readonly since: number;
  readonly until: number;
  /** All entries of the range are between these ids, exclusive. */
  readonly afterId: number;
  readonly beforeId: number;
}

const { MAX_SAFE_INTEGER } = Number;

/** Returns the range of ids for a range of times, so that a page scans only those. */
async function timeRange(reader: Reader, since?: number, until?: number): Promise<TimeRange> {
  const before = since !== undefined && (await reader.first(lastBefore, { time: since - CLOCK_TOLERANCE_MS }));
  const after = until !== undefined && (await reader.first(firstAfter, { time: until + CLOCK_TOLERANCE_MS }));
  return {
    since: since ?? 0,
    until: until ?? MAX_SAFE_INTEGER,
    afterId: before ? before.id : 0,
    beforeId: after ? after.id : MAX_SAFE_INTEGER,
  };
}

const pageOf = declareList({
  table: 'events',
  rows: (db, engine) =>
    db
      .selectFrom('events')
      .select([...eventColumns, selectPosition(engine), sql<string>`origin`.as('origin')])
      .where('origin', 'is not', null),
  filters: {
    afterId: (rows, id: Expression<number>) => rows.where('id', '>', id),
    beforeId: (rows, id: Expression<number>) => rows.where('id', '<', id),
    since: (rows, time: Expression<number>) => rows.where('at', '>=', time),
    until: (rows, time: Expression<number>) => rows.where('at', '<', time),
    accountId: (rows, id: Expression<number>) => rows.where('audit_account_id', '=', id),
    keyId: (rows, id: Expression<string>, engine) => rows.where(origin('keyId', engine), '=', id),
    sessionId: (rows, id: Expression<string>, engine) => rows.where(origin('sessionId', engine), '=', id),
    requestId: (rows, id: Expression<string>, engine) => rows.where(origin('requestId', engine), '=', id),
    address: (rows, address: Expression<string>, engine) => rows.where(origin('address', engine), '=', address),
    types: (rows, types: Expression<string>, engine) => rows.where(isAmongTypes(types, engine)),
    kind: (rows, kind: Expression<EventKind>) => rows.where('kind', '=', kind),
    subjectId: (rows, id: Expression<number>) => rows.where('subject_id', '=', id),
  },
  indexed: ['afterId', 'beforeId'],
});

/** Selects a member of the origin of a change. */
function origin(member: string, engine: Reader['engine']) {
  return engine === 'postgres'
    ? sql<string>`(origin::json ->> ${sql.lit(member)})`
    : sql<string>`cast(origin ->> ${sql.lit(member)} as text)`;
}

function isAmongTypes(types: Expression<string>, engine: Reader['engine']) {
  return sql<boolean>`(${amongTexts(sql`kind || '.*'`, types, engine)} or ${amongTexts(sql`kind || '.' || action`, types, engine)})`;
}

const lastBefore = query((db, p: Params<{ time: number }>) =>
  db.selectFrom('events').select('id').where('at', '<', p.time).orderBy('at', 'desc').orderBy('id', 'desc').limit(1),
);

const firstAfter = query((db, p: Params<{ time: number }>) =>
  db.selectFrom('events').select('id').where('at', '>', p.time).orderBy('at').orderBy('id').limit(1),
);
