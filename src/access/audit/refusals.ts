import type { Expression } from 'kysely';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { DAY_MS } from '../../lib/time.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import { type RefusalRow, refusalColumns, type refusalFields } from '../../model/refusal.ts';
import { deletingOldest, type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

export interface RefusalFilter {
  readonly keyId?: string | undefined;
  readonly code?: string | undefined;
}

/** Numbers of refusals to add to the counts of their day. */
export type NewRefusals = InsertRowOf<typeof refusalFields>;

/**
 * Returns one page of the refusals of an account's keys, newest first: a row per key, UTC day and error code. Admins
 * get those of all accounts.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listRefusals(
  reader: Reader,
  { accountId, admin }: Actor,
  { keyId = '', code = '' }: RefusalFilter,
  page: PageRequest,
): Promise<Page<RefusalRow>> {
  const values = { accountId: admin ? undefined : accountId!, keyId: keyId || undefined, code: code || undefined };
  return pageOf(reader, values, { list: ['refusals', admin, keyId, code], page, descending: true });
}

/** Adds refusals to the counts of the same key, day and code. */
export async function recordRefusals(tx: Transaction, refusals: readonly NewRefusals[]): Promise<void> {
  for (const refusal of refusals) await tx.run(addRefusals, refusal);
}

/** Deletes the refusals of days that ended more than `keptMs` ago, at most `limit` rows. Returns their number. */
export async function deleteOldRefusals(tx: Transaction, keptMs: number, limit: number): Promise<number> {
  return tx.run(deleteBefore, { before: Math.floor((tx.now - keptMs) / DAY_MS), limit });
}

const pageOf = declareList({
  table: 'refusals',
  rows: db => db.selectFrom('refusals').select(refusalColumns.full()),
  filters: {
    accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id),
    keyId: (rows, id: Expression<string>) => rows.where('key_id', '=', id),
    code: (rows, code: Expression<string>) => rows.where('code', '=', code),
  },
  indexed: ['accountId'],
});

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
