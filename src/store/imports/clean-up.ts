import { countDeleted } from '../../access/plans/stored-bytes.ts';
import { IMPORTS_KEPT, IMPORTS_KEPT_MS } from '../../model/rules.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import type { ImportRow } from './import.ts';
import { deleteWaiting } from './photos/sources.ts';
import type { ImportChange } from './steps.ts';

const ROWS = 500;
const CHUNKS = 20;

/**
 * Runs one step of the cleanup after an import: deletes its chunks and keys, then the oldest imports of its account
 * beyond the number to keep. First discards an import whose file stopped arriving.
 */
export async function cleanUp(tx: Transaction, row: ImportRow): Promise<ImportChange> {
  if (row.state === 'receiving') {
    return row.due_at! > tx.now ? { due_at: row.due_at } : { state: 'discarded', ended_at: tx.now };
  }
  if (row.state === 'discarded') {
    await deleteSome(tx, row);
    return {};
  }
  if ((await deleteFile(tx, row, ROWS)) > 0) return {};
  const beyond = await tx.first(importBeyond, { accountId: row.account_id, kept: IMPORTS_KEPT });
  if (beyond === undefined) return { due_at: null };
  await deleteSome(tx, beyond);
  return {};
}

/** Deletes up to `limit` rows of imports that ended `IMPORTS_KEPT_MS` ago. Returns their number. */
export async function deleteOldImports(tx: Transaction, limit: number): Promise<number> {
  const old = await tx.first(endedBefore, { before: tx.now - IMPORTS_KEPT_MS });
  return old === undefined ? 0 : deleteSome(tx, old, limit);
}

/** Deletes up to `limit` rows of the imports of an account, in any state. Returns their number. */
export async function deleteImportsOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  const oldest = await tx.first(oldestOf, { accountId });
  return oldest === undefined ? 0 : deleteSome(tx, oldest, limit);
}

type Owned = Pick<ImportRow, 'id' | 'account_id'>;

/** Deletes some rows of an import; its own row last. */
async function deleteSome(tx: Transaction, row: Owned, limit = ROWS): Promise<number> {
  const { id } = row;
  return (
    (await deleteFile(tx, row, limit)) || (await tx.run(deleteErrors, { id, limit })) || tx.run(deleteImport, { id })
  );
}

/** Deletes some of the rows of the file of an import, of their keys, and of the URLs that are not fetched. */
async function deleteFile(tx: Transaction, { id, account_id }: Owned, limit: number): Promise<number> {
  const chunks = await tx.all(deleteChunks, { id, limit: Math.min(limit, CHUNKS) });
  countDeleted(
    tx,
    chunks.map(({ bytes }) => ({ accountId: account_id, bytes })),
  );
  return chunks.length || (await tx.run(deleteKeys, { id, limit })) || tx.run(deleteWaiting, { id, limit });
}

const deleteChunks = query((db, p: Params<{ id: number; limit: number }>) =>
  db
    .deleteFrom('import_chunks')
    .where('import_id', '=', p.id)
    .where('number', 'in', db.selectFrom('import_chunks').select('number').where('import_id', '=', p.id).limit(p.limit))
    .returning(sql<number>`octet_length(rows)`.as('bytes')),
);

const deleteKeys = query((db, p: Params<{ id: number; limit: number }>) =>
  db
    .deleteFrom('import_keys')
    .where('import_id', '=', p.id)
    .where('key', 'in', db.selectFrom('import_keys').select('key').where('import_id', '=', p.id).limit(p.limit)),
);

const deleteErrors = query((db, p: Params<{ id: number; limit: number }>) =>
  db
    .deleteFrom('import_errors')
    .where('import_id', '=', p.id)
    .where(
      'number',
      'in',
      db.selectFrom('import_errors').select('number').where('import_id', '=', p.id).limit(p.limit),
    ),
);

const deleteImport = query((db, p: Params<{ id: number }>) => db.deleteFrom('imports').where('id', '=', p.id));

const importBeyond = query((db, p: Params<{ accountId: number; kept: number }>) =>
  db
    .selectFrom('imports')
    .select(['id', 'account_id'])
    .where('account_id', '=', p.accountId)
    .where('ended_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(p.kept as never),
);

const endedBefore = query((db, p: Params<{ before: number }>) =>
  db.selectFrom('imports').select(['id', 'account_id']).where('ended_at', '<=', p.before).orderBy('ended_at').limit(1),
);

const oldestOf = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('imports').select(['id', 'account_id']).where('account_id', '=', p.accountId).orderBy('id').limit(1),
);
