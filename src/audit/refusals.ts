import type { Actor } from '../events/event.ts';
import type { InsertRowOf } from '../lib/fields/field.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { DAY_MS } from '../lib/time.ts';
import {
  deletingOldest,
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  type Transaction,
} from '../schema.ts';
import { type RefusalRow, refusalColumns, type refusalFields } from './refusal.ts';

export interface RefusalFilter {
  readonly keyId?: string | undefined;
  readonly code?: string | undefined;
}

/** Refused requests to add to those of their day. */
export type NewRefusals = InsertRowOf<typeof refusalFields>;

/**
 * Returns one page of the refused requests with keys of an account, newest first: a row for each key, UTC day and error
 * code. Admins get those of all accounts.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listRefusals(
  reader: Reader,
  { accountId, admin }: Actor,
  { keyId = '', code = '' }: RefusalFilter,
  page: PageRequest,
): Promise<Page<RefusalRow>> {
  const shape = { admin, byKey: keyId !== '', byCode: code !== '' };
  const values = { accountId: accountId ?? 0, keyId, code };
  return paginate({
    list: ['refusals', admin, keyId, code],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery({ ...shape, ...scan }), { ...values, ...scan }),
  });
}

/** Adds refused requests to those of the same key, day and code. */
export async function recordRefusals(tx: Transaction, refusals: readonly NewRefusals[]): Promise<void> {
  for (const refusal of refusals) await tx.run(addRefusals, refusal);
}

/** Deletes the refused requests of days that ended more than `keptMs` ago, `limit` rows at most. Returns how many. */
export async function deleteOldRefusals(tx: Transaction, keptMs: number, limit: number): Promise<number> {
  return tx.run(deleteBefore, { before: Math.floor((tx.now - keptMs) / DAY_MS), limit });
}

interface Shape {
  readonly admin: boolean;
  readonly byKey: boolean;
  readonly byCode: boolean;
  readonly descending: boolean;
}

const pageQuery = queriesByShape(['admin', 'byKey', 'byCode', 'descending'], (shape: Shape) =>
  query((db, p: Params<KeysetParams & { accountId: number; keyId: string; code: string }>) => {
    const rows = db
      .selectFrom('refusals')
      .select(refusalColumns.full())
      .$if(!shape.admin, rows => rows.where('account_id', '=', p.accountId))
      .$if(shape.byKey, rows => rows.where('key_id', '=', p.keyId))
      .$if(shape.byCode, rows => rows.where('code', '=', p.code));
    return keysetPage(rows, 'id', shape.descending, p);
  }),
);

const endQuery = queriesByShape(['admin', 'descending'], ({ admin, descending }: Shape) =>
  query((db, p: Params<{ accountId: number; fromId: number; scanLimit: number }>) => {
    const rows = db.selectFrom('refusals').select('id');
    return keysetEnd(admin ? rows : rows.where('account_id', '=', p.accountId), 'id', descending, p);
  }),
);

const addRefusals = query((db, p: Params<NewRefusals>) =>
  db
    .insertInto('refusals')
    .values(refusalColumns.inserted(p))
    .onConflict(conflict =>
      conflict.columns(['key_id', 'day', 'code']).doUpdateSet(({ ref, eb }) => ({
        requests: eb('refusals.requests', '+', ref('excluded.requests')),
        last_at: ref('excluded.last_at'),
        last_request_id: ref('excluded.last_request_id'),
        last_address: ref('excluded.last_address'),
      })),
    ),
);

const deleteBefore = deletingOldest('refusals', ['id'], 'day');
