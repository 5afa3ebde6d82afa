import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { DAY_MS } from '../../lib/time.ts';
import { declareList } from '../../model/list.ts';
import { type LoggedRequestRow, loggedRequestColumns, type NewLoggedRequest } from '../../model/logged-request.ts';
import { type DeploymentName, type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/** The maximum number of requests in the log of an account. Briefly exceeded between two trims. */
export const REQUESTS_KEPT = 10_000;
/** How long a request stays in the log at most. */
export const REQUESTS_KEPT_MS = 7 * DAY_MS;

/** The filters of the list of requests. */
interface RequestFilter {
  /** Both deployments by default. */
  readonly deployment?: DeploymentName | undefined;
  readonly requestId?: string | undefined;
  /** A status, such as `404`, or a class of statuses, such as `4xx`. */
  readonly status?: string | undefined;
  readonly operation?: string | undefined;
  readonly keyId?: string | undefined;
}

/** Adds requests to the log, in this order. */
export async function addRequests(tx: Transaction, requests: readonly NewLoggedRequest[]): Promise<void> {
  const rows = requests.map(row => [
    ...[row.accountId, row.deployment, row.keyId, row.requestId, row.time, row.method],
    ...[row.path, row.operation, row.status, row.code, row.durationMs],
  ]);
  await tx.run(insertRequests, { rows: JSON.stringify(rows) });
}

/** Deletes requests of an account beyond the latest `REQUESTS_KEPT`, at most `limit` rows. Returns their number. */
export async function trimRequests(tx: Transaction, accountId: number, limit: number): Promise<number> {
  const newestBeyond = await tx.first(requestBeyond, { accountId, kept: REQUESTS_KEPT });
  return newestBeyond === undefined ? 0 : tx.run(deleteUpTo, { accountId, id: newestBeyond.id, limit });
}

/**
 * Deletes requests that arrived more than `REQUESTS_KEPT_MS` ago, at most `limit` rows. Uses their ids, which increase
 * with time. Returns their number.
 */
export async function deleteOldRequests(tx: Transaction, limit: number): Promise<number> {
  const oldest = await tx.all(oldestRequests, { limit });
  const firstKept = oldest.findIndex(({ at }) => at > tx.now - REQUESTS_KEPT_MS);
  const last = (firstKept < 0 ? oldest : oldest.slice(0, firstKept)).at(-1);
  return last === undefined ? 0 : tx.run(deleteThrough, { id: last.id });
}

/** Deletes requests of an account, at most `limit` rows. Returns their number. */
export async function deleteRequestsOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  return tx.run(deleteUpTo, { accountId, id: Number.MAX_SAFE_INTEGER, limit });
}

/**
 * Returns one page of the requests of an account, newest first.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listRequests(
  reader: Reader,
  accountId: number,
  { deployment, requestId = '', status = '', operation = '', keyId = '' }: RequestFilter,
  page: PageRequest,
): Promise<Page<LoggedRequestRow>> {
  const [statusMin, statusMax] = status === '' ? [] : statusRange(status);
  const texts = { requestId: requestId || undefined, operation: operation || undefined, keyId: keyId || undefined };
  return pageOf(
    reader,
    { accountId, deployment, statusMin, statusMax, ...texts },
    { list: ['requests', accountId, deployment, requestId, status, operation, keyId], page, descending: true },
  );
}

/** Returns a request of an account by the id of its entry. */
export async function findRequest(
  reader: Reader,
  accountId: number,
  id: number,
): Promise<LoggedRequestRow | undefined> {
  return Number.isSafeInteger(id) ? reader.first(requestById, { accountId, id }) : undefined;
}

/** Returns the lowest and the highest status that a filter selects. */
function statusRange(status: string): [number, number] {
  const first = Number(status.replace('xx', '00'));
  return [first, status.endsWith('xx') ? first + 99 : first];
}

const insertRequests = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('requests')
    .columns([
      ...(['account_id', 'deployment', 'key_id', 'request_id', 'at', 'method'] as const),
      ...(['path', 'operation', 'status', 'code', 'duration_us'] as const),
    ])
    .expression(
      engine === 'sqlite'
        ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
                value ->> 8, value ->> 9, value ->> 10
              from json_each(${p.rows})`
        : sql`select (r ->> 0)::bigint, r ->> 1, r ->> 2, r ->> 3, (r ->> 4)::bigint, r ->> 5, r ->> 6, r ->> 7,
                (r ->> 8)::bigint, r ->> 9, (r ->> 10)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (r, number) order by number`,
    ),
);

const pageOf = declareList({
  table: 'requests',
  rows: db => db.selectFrom('requests').select(loggedRequestColumns.full()),
  filters: {
    accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id),
    deployment: (rows, name: Expression<DeploymentName>) => rows.where('deployment', '=', name),
    requestId: (rows, id: Expression<string>) => rows.where('request_id', '=', id),
    statusMin: (rows, status: Expression<number>) => rows.where('status', '>=', status),
    statusMax: (rows, status: Expression<number>) => rows.where('status', '<=', status),
    operation: (rows, name: Expression<string>) => rows.where('operation', '=', name),
    keyId: (rows, id: Expression<string>) => rows.where('key_id', '=', id),
  },
  indexed: ['accountId'],
});

const requestById = query((db, p: Params<{ accountId: number; id: number }>) =>
  db
    .selectFrom('requests')
    .select(loggedRequestColumns.full())
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId),
);

const requestBeyond = query((db, p: Params<{ accountId: number; kept: number }>) =>
  db
    .selectFrom('requests')
    .select('id')
    .where('account_id', '=', p.accountId)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(p.kept as never),
);

const deleteUpTo = query((db, p: Params<{ accountId: number; id: number; limit: number }>, engine) =>
  db.deleteFrom('requests').where(
    'id',
    'in',
    db
      .selectFrom('requests')
      .select('id')
      .where('account_id', '=', p.accountId)
      .where('id', '<=', p.id)
      .orderBy('id')
      .limit(p.limit)
      .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
  ),
);

const oldestRequests = query((db, p: Params<{ limit: number }>) =>
  db.selectFrom('requests').select(['id', 'at']).orderBy('id').limit(p.limit),
);

const deleteThrough = query((db, p: Params<{ id: number }>) => db.deleteFrom('requests').where('id', '<=', p.id));
