import type { Expression } from 'kysely';
import type { Actor } from '../events/event.ts';
import { eventColumns } from '../events/log.ts';
import { CLOCK_TOLERANCE_MS, selectPosition } from '../events/ordering.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import {
  amongTexts,
  type EventKind,
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
} from '../schema.ts';
import type { AuditRow } from './entry.ts';

export interface AuditFilter {
  /** For admins: only the entries that this account can see. */
  readonly accountId?: number | undefined;
  readonly keyId?: string | undefined;
  /** Only the changes that were made on pages in this session of a browser. */
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
 * Returns one page of the audit log, newest first: for an account the changes made with its keys, and those that the
 * operator made for it or to what it owns; for admins and the operator all of them.
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
  // An account sees no entries of others.
  if (accountId !== undefined && accountId !== visibleTo) return { rows: [] };
  const shape = {
    ofAccount: visibleTo !== undefined,
    byKey: keyId !== '',
    bySession: sessionId !== '',
    byRequest: requestId !== '',
    byAddress: address !== '',
    byType: types.length > 0,
    byResource: resource !== '',
  };
  const [kind, subjectId] = resource.split(/:\D*/);
  const values = {
    accountId: visibleTo ?? 0,
    ...{ keyId, sessionId, requestId, address, types: JSON.stringify(types) },
    ...{ kind: kind as EventKind, subjectId: Number(subjectId) },
    ...(await timeRange(reader, since, until)),
  };
  const { rows, ...links } = await paginate({
    list: ['audit', visibleTo, keyId, requestId, address, types, resource, since, until, ...(sessionId && [sessionId])],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery({ ...shape, ...scan }), { ...values, ...scan }),
  });
  return { ...links, rows: rows.map(row => ({ ...row, data: JSON.parse(row.data), origin: JSON.parse(row.origin) })) };
}

interface Shape {
  readonly ofAccount: boolean;
  readonly byKey: boolean;
  readonly bySession: boolean;
  readonly byRequest: boolean;
  readonly byAddress: boolean;
  readonly byType: boolean;
  readonly byResource: boolean;
  readonly descending: boolean;
}

interface TimeRange {
  readonly since: number;
  readonly until: number;
  /** All entries of the range are between these ids, exclusive. */
  readonly afterId: number;
  readonly beforeId: number;
}

type Values = TimeRange & {
  readonly accountId: number;
  readonly keyId: string;
  readonly sessionId: string;
  readonly requestId: string;
  readonly address: string;
  readonly types: string;
  readonly kind: EventKind;
  readonly subjectId: number;
};

const { MAX_SAFE_INTEGER } = Number;

/** Returns the range of ids that a range of times is in, so that a page scans no others. */
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

const pageQuery = queriesByShape(
  ['ofAccount', 'byKey', 'bySession', 'byRequest', 'byAddress', 'byType', 'byResource', 'descending'],
  (shape: Shape) =>
    query((db, p: Params<Values & KeysetParams>, engine) => {
      const origin = (member: string) =>
        engine === 'postgres'
          ? sql<string>`(origin::json ->> ${sql.lit(member)})`
          : sql<string>`cast(origin ->> ${sql.lit(member)} as text)`;
      const rows = db
        .selectFrom('events')
        .select([...eventColumns, selectPosition(engine), sql<string>`origin`.as('origin')])
        .where('origin', 'is not', null)
        .where('id', '>', p.afterId)
        .where('id', '<', p.beforeId)
        .where('at', '>=', p.since)
        .where('at', '<', p.until)
        .$if(shape.ofAccount, rows => rows.where('audit_account_id', '=', p.accountId))
        .$if(shape.byKey, rows => rows.where(origin('keyId'), '=', p.keyId))
        .$if(shape.bySession, rows => rows.where(origin('sessionId'), '=', p.sessionId))
        .$if(shape.byRequest, rows => rows.where(origin('requestId'), '=', p.requestId))
        .$if(shape.byAddress, rows => rows.where(origin('address'), '=', p.address))
        .$if(shape.byType, rows => rows.where(isAmongTypes(p.types, engine)))
        .$if(shape.byResource, rows => rows.where('kind', '=', p.kind).where('subject_id', '=', p.subjectId));
      return keysetPage(rows, 'id', shape.descending, p);
    }),
);

const endQuery = queriesByShape(['descending'], ({ descending }: Pick<Shape, 'descending'>) =>
  query((db, p: Params<Values & { fromId: number; scanLimit: number }>) => {
    const rows = db.selectFrom('events').select('id').where('id', '>', p.afterId).where('id', '<', p.beforeId);
    return keysetEnd(rows, 'id', descending, p);
  }),
);

function isAmongTypes(types: Expression<string>, engine: Reader['engine']) {
  return sql<boolean>`(${amongTexts(sql`kind || '.*'`, types, engine)} or ${amongTexts(sql`kind || '.' || action`, types, engine)})`;
}

const lastBefore = query((db, p: Params<{ time: number }>) =>
  db.selectFrom('events').select('id').where('at', '<', p.time).orderBy('at', 'desc').orderBy('id', 'desc').limit(1),
);

const firstAfter = query((db, p: Params<{ time: number }>) =>
  db.selectFrom('events').select('id').where('at', '>', p.time).orderBy('at').orderBy('id').limit(1),
);
