import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { DAY_MS } from '../lib/time.ts';
import {
  type DeploymentName,
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../schema.ts';
import { type LoggedRequestRow, loggedRequestColumns, type NewLoggedRequest } from './logged-request.ts';

/** The size of the log of an account. It can be larger for a moment, and smaller when requests are too old. */
export const REQUESTS_KEPT = 10_000;
/** The longest time that a request stays in the log. */
const REQUESTS_KEPT_MS = 7 * DAY_MS;

/** The filters of the list of requests. */
export interface RequestFilter {
  /** Of both deployments by default. */
  readonly deployment?: DeploymentName | undefined;
  readonly requestId?: string | undefined;
  /** A status, such as `404`, or a class of them, such as `4xx`. */
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

/** Deletes requests of an account beyond the latest `REQUESTS_KEPT`, `limit` rows at most. Returns how many. */
export async function trimRequests(tx: Transaction, accountId: number, limit: number): Promise<number> {
  const newestBeyond = await tx.first(requestBeyond, { accountId, kept: REQUESTS_KEPT });
  return newestBeyond === undefined ? 0 : tx.run(deleteUpTo, { accountId, id: newestBeyond.id, limit });
}

/**
 * Deletes requests that arrived more than `REQUESTS_KEPT_MS` ago, `limit` rows at most. It follows their ids, which rise
 * with time. Returns how many.
 */
export async function deleteOldRequests(tx: Transaction, limit: number): Promise<number> {
  const oldest = await tx.all(oldestRequests, { limit });
  const firstKept = oldest.findIndex(({ at }) => at > tx.now - REQUESTS_KEPT_MS);
  const last = (firstKept < 0 ? oldest : oldest.slice(0, firstKept)).at(-1);
  return last === undefined ? 0 : tx.run(deleteThrough, { id: last.id });
}

/** Deletes requests of an account, `limit` rows at most. Returns how many. */
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
  const shape = {
    byDeployment: deployment !== undefined,
    byRequest: requestId !== '',
    byStatus: status !== '',
    byOperation: operation !== '',
    byKey: keyId !== '',
  };
  const [statusMin, statusMax] = statusRange(status);
  const deploymentName: DeploymentName = deployment ?? 'production';
  const values = { accountId, deployment: deploymentName, requestId, statusMin, statusMax, operation, keyId };
  return paginate({
    list: ['requests', accountId, deployment, requestId, status, operation, keyId],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery(scan), { ...values, ...scan }),
  });
}

/** Returns a request of an account by the id of its entry. */
export async function findRequest(
  reader: Reader,
  accountId: number,
  id: number,
): Promise<LoggedRequestRow | undefined> {
  return Number.isSafeInteger(id) ? reader.first(requestById, { accountId, id }) : undefined;
}

/** Returns the first and the last status that a filter selects. */
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

interface Shape {
  readonly byDeployment: boolean;
  readonly byRequest: boolean;
  readonly byStatus: boolean;
  readonly byOperation: boolean;
  readonly byKey: boolean;
  readonly descending: boolean;
}

interface Values extends KeysetParams {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly requestId: string;
  readonly statusMin: number;
  readonly statusMax: number;
  readonly operation: string;
  readonly keyId: string;
}

const pageQuery = queriesByShape(
  ['byDeployment', 'byRequest', 'byStatus', 'byOperation', 'byKey', 'descending'],
  (shape: Shape) =>
    query((db, p: Params<Values>) => {
      const rows = db
        .selectFrom('requests')
        .select(loggedRequestColumns.full())
        .where('account_id', '=', p.accountId)
        .$if(shape.byDeployment, rows => rows.where('deployment', '=', p.deployment))
        .$if(shape.byRequest, rows => rows.where('request_id', '=', p.requestId))
        .$if(shape.byStatus, rows => rows.where('status', '>=', p.statusMin).where('status', '<=', p.statusMax))
        .$if(shape.byOperation, rows => rows.where('operation', '=', p.operation))
        .$if(shape.byKey, rows => rows.where('key_id', '=', p.keyId));
      return keysetPage(rows, 'id', shape.descending, p);
    }),
);

const endQuery = queriesByShape(['descending'], ({ descending }: Pick<Shape, 'descending'>) =>
  query((db, p: Params<{ accountId: number; fromId: number; scanLimit: number }>) => {
    const rows = db.selectFrom('requests').select('id').where('account_id', '=', p.accountId);
    return keysetEnd(rows, 'id', descending, p);
  }),
);

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
