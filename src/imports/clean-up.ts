import { DAY_MS } from '../lib/time.ts';
import { countDeleted } from '../plans/stored-bytes.ts';
import { type Database, type Params, query, sql, type Transaction } from '../schema.ts';
import { type ImportRow, importById } from './import.ts';
import { IMPORTS_KEPT } from './imports.ts';
import { deleteWaiting } from './photos/sources.ts';
import { discard } from './receive.ts';
import { runImportStep } from './steps.ts';

const ROWS = 500;
const CHUNKS = 20;
/** How long imports are kept. */
const KEPT_MS = 30 * DAY_MS;

/**
 * Does a step of what remains of an import that has ended: deletes its chunks and keys, then all of the oldest imports of
 * its account beyond the number that is kept. An import whose file stopped to arrive is discarded first.
 * @returns 1; 0 if another process does the step
 */
export async function cleanUp(database: Database, row: ImportRow): Promise<number> {
  if (row.state === 'receiving')
    return database.write(tx => tx.run(discard, { id: row.id, now: tx.now, dueUpTo: tx.now }));
  return runImportStep(database, row, async (tx, row) => {
    const chunks = await tx.all(deleteChunks, { id: row.id, limit: CHUNKS });
    if (chunks.length > 0) {
      const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
      countDeleted(tx, [{ accountId: row.account_id, bytes }]);
      return {};
    }
    if ((await tx.run(deleteKeys, { id: row.id, limit: ROWS })) > 0) return {};
    if ((await deleteWaiting(tx, row.id, ROWS)) > 0) return {};
    if (row.state === 'discarded') {
      if ((await tx.run(deleteErrors, { id: row.id, limit: ROWS })) === 0) await tx.run(deleteImport, { id: row.id });
      return {};
    }
    const beyond = await tx.first(importBeyond, { accountId: row.account_id, kept: IMPORTS_KEPT });
    if (beyond === undefined) return { due_at: null };
    await deleteSome(tx, beyond);
    return {};
  });
}

/** Deletes up to `limit` rows of imports that ended 30 days ago, and returns how many. */
export async function deleteOldImports(tx: Transaction, limit: number): Promise<number> {
  const old = await tx.first(endedBefore, { before: tx.now - KEPT_MS });
  return old === undefined ? 0 : deleteSome(tx, old, limit);
}

/** Deletes up to `limit` rows of the imports of an account, in any state, and returns how many. */
export async function deleteImportsOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  const oldest = await tx.first(oldestOf, { accountId });
  return oldest === undefined ? 0 : deleteSome(tx, oldest, limit);
}

/** Deletes some rows of an import, the last of them its own. */
async function deleteSome(tx: Transaction, { id }: { readonly id: number }, limit = ROWS): Promise<number> {
  const row = await tx.first(importById, { id });
  const chunks = await tx.all(deleteChunks, { id, limit: Math.min(limit, CHUNKS) });
  countDeleted(
    tx,
    chunks.map(({ bytes }) => ({ accountId: row!.account_id, bytes })),
  );
  if (chunks.length > 0) return chunks.length;
  const rows =
    (await tx.run(deleteKeys, { id, limit })) ||
    (await deleteWaiting(tx, id, limit)) ||
    (await tx.run(deleteErrors, { id, limit }));
  return rows || tx.run(deleteImport, { id });
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
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('ended_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(p.kept as never),
);

const endedBefore = query((db, p: Params<{ before: number }>) =>
  db.selectFrom('imports').select('id').where('ended_at', '<=', p.before).orderBy('ended_at').limit(1),
);

const oldestOf = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('imports').select('id').where('account_id', '=', p.accountId).orderBy('id').limit(1),
);
