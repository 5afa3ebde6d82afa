import { createHash } from 'node:crypto';
import type { Deployment } from '../deployment.ts';
import { problem } from '../errors.ts';
import type { DateOrder } from '../exports/read-cells.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import { type Database, insertingOne, type Params, query, sql } from '../schema.ts';
import { ChunkWriter, RECEIVING_MS } from './chunk-writer.ts';
import { KEEPS_FILE } from './import.ts';
import { inProgress } from './imports.ts';
import type { ImportOptions } from './options.ts';
import { type ImportFormat, readRecords } from './records.ts';

/** A file that has been received: its digest, and the import; absent for a retry. */
export interface ReceivedImport {
  readonly hash: string;
  readonly id: number | undefined;
}

/**
 * Stores the rows of a file as they arrive, in chunks. The import does not begin before `activateImport`.
 * @throws {Problem} `invalid_import`; `storage_limit_exceeded`; `import_running`; what reading throws. Nothing is kept
 */
export async function receiveImport(
  deps: Pick<Deployment, 'database' | 'clock'>,
  file: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<ReceivedImport & { readonly id: number }> {
  const { database } = deps;
  const id = await begin(database, options);
  try {
    const hash = createHash('sha256');
    const writer = new ChunkWriter(deps, id, options);
    for await (const records of readRecords(hashing(file, hash), options.format)) await writer.add(records);
    await writer.end();
    return { hash: hash.digest('hex'), id };
  } catch (error) {
    await discardImport(database, id);
    throw error;
  }
}

/** Reads a file, and returns its digest. */
export async function hashOf(file: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of file) hash.update(bytes);
  return hash.digest('hex');
}

/** Discards an import that has not begun. The job deletes it. */
export async function discardImport(database: Database, id: number): Promise<void> {
  await database.write(tx => tx.run(discard, { id, now: tx.now, dueUpTo: Number.MAX_SAFE_INTEGER }));
}

async function* hashing(file: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const bytes of file) {
    hash.update(bytes);
    yield bytes;
  }
}

/** Inserts an import. @throws {Problem} `import_running` */
async function begin(database: Database, options: ImportOptions): Promise<number> {
  const {
    accountId,
    plan,
    origin,
    mode,
    preset,
    format,
    confirmRemovals = null,
    currency = null,
    dates = null,
  } = options;
  const dryRun = options.keepsFile ? KEEPS_FILE : options.dryRun ? 1 : 0;
  const row = { accountId, plan, origin: JSON.stringify(origin), mode, preset, format, dryRun };
  try {
    return await database.write(async tx => {
      if ((await tx.first(inProgress, { accountId })) !== undefined) throw problem('import_running');
      await tx.run(endPreviews, { accountId, now: tx.now });
      const times = { now: tx.now, dueAt: tx.now + RECEIVING_MS };
      return tx.insert(insertImport, { ...row, confirmed: confirmRemovals, currency, dates, ...times });
    });
  } catch (error) {
    throw isUniqueViolation(error) ? problem('import_running') : error;
  }
}

type NewImport = {
  accountId: number;
  plan: string;
  origin: string;
  mode: 'upsert' | 'replace';
  preset: string;
  format: ImportFormat;
  dryRun: number;
  confirmed: number | null;
  currency: string | null;
  dates: DateOrder | null;
  now: number;
  dueAt: number;
};

const insertImport = query((db, p: Params<NewImport>, engine) => {
  const zero = sql.lit(0);
  return insertingOne(
    db.insertInto('imports').values({
      ...{ account_id: p.accountId, plan: p.plan, origin: p.origin, mode: p.mode, preset: p.preset, format: p.format },
      ...{ dry_run: p.dryRun, confirmed: p.confirmed, currency: p.currency, date_order: p.dates },
      state: sql.lit('receiving' as const),
      ...{
        chunks: zero,
        next_chunk: zero,
        after_id: zero,
        up_to_id: zero,
        row_count: zero,
        rows_read: zero,
      },
      ...{ created: zero, updated: zero, unchanged: zero, failed: zero, removed: zero, warnings: zero },
      ...{ created_at: p.now, due_at: p.dueAt },
    }),
    engine,
  );
});

/** Ends the time for which the files of earlier dry runs are kept: an account has one such file. */
const endPreviews = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .updateTable('imports')
    .set({ dry_run: sql.lit(1), due_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('dry_run', '=', sql.lit(KEEPS_FILE))
    .where('ended_at', 'is not', null),
);

/** Discards an import whose file has not arrived by `dueUpTo`. */
export const discard = query((db, p: Params<{ id: number; now: number; dueUpTo: number }>) =>
  db
    .updateTable('imports')
    .set({ state: sql.lit('discarded' as const), ended_at: p.now, due_at: p.now })
    .where('id', '=', p.id)
    .where('state', '=', sql.lit('receiving'))
    .where('due_at', '<=', p.dueUpTo),
);
