import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import {
  type KeysetParams,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../schema.ts';
import { type ImportRow, importById } from './import.ts';

/** How many ended imports of an account are kept, and for how long at most. */
export const IMPORTS_KEPT = 20;

/** Returns an import, which its account and admins can see. @throws {Problem} `import_not_found` */
export async function getImport(reader: Reader, actor: Actor, id: number): Promise<ImportRow> {
  const row = await reader.first(importById, { id });
  const isVisible = row !== undefined && (actor.admin || row.account_id === actor.accountId);
  if (!isVisible || row.state === 'discarded') throw problem('import_not_found');
  return row;
}

/** Returns one page of the imports of an account, the newest first. @throws {Problem} `invalid_parameter` */
export function listImports(reader: Reader, accountId: number, page: PageRequest): Promise<Page<ImportRow>> {
  return paginate({
    list: ['imports', accountId],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery(scan), { ...scan, accountId }),
  });
}

/**
 * Begins to apply an import whose file has arrived.
 * @throws {Problem} `import_canceled`
 */
export async function activateImport(tx: Transaction, id: number): Promise<ImportRow> {
  const row = await tx.first(activate, { id, now: tx.now });
  if (row === undefined) throw problem('import_canceled');
  return row;
}

/**
 * Ends an import early; what it has done stays. One that has ended stays as it is.
 * @throws {Problem} `import_not_found`
 */
export async function cancelImport(tx: Transaction, actor: Actor, id: number): Promise<ImportRow> {
  const row = await getImport(tx, actor, id);
  return (await tx.first(cancel, { id, now: tx.now })) ?? row;
}

const pageQuery = queriesByShape(['descending'], ({ descending }: { readonly descending: boolean }) =>
  query((db, p: Params<KeysetParams & { accountId: number }>) =>
    keysetPage(
      db
        .selectFrom('imports')
        .selectAll()
        .where('account_id', '=', p.accountId)
        .where('state', '<>', sql.lit('discarded')),
      'id',
      descending,
      p,
    ),
  ),
);

const activate = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('imports')
    .set(eb => ({
      state: eb
        .case()
        .when('mode', '=', sql.lit('replace'))
        .then(sql.lit('checking' as const))
        .else(sql.lit('applying' as const))
        .end(),
      up_to_id: sql<number>`coalesce((select max(id) from pets where pets.account_id = imports.account_id), 0)`,
      started_at: p.now,
      due_at: p.now,
    }))
    .where('id', '=', p.id)
    .where('state', '=', sql.lit('receiving'))
    .returningAll(),
);

const cancel = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('imports')
    .set({ state: sql.lit('canceled' as const), ended_at: p.now, due_at: p.now })
    .where('id', '=', p.id)
    .where('ended_at', 'is', null)
    .returningAll(),
);
