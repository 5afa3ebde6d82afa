import { createHash } from 'node:crypto';
import { type Database, insertingOne, type Params, query, sql } from '../../model/schema.ts';
import { ChunkWriter, RECEIVING_MS, type ReceiveDeps } from './chunk-writer.ts';
import { type ImportOptions, type ImportRow, KEEPS_FILE } from './import.ts';
import { noProgress, startAlone } from './imports.ts';
import { readRecords } from './records.ts';
import { lockImport, saveImport } from './steps.ts';

/** A received file: its digest, and its import, which is absent for a retry. */
export interface ReceivedImport {
  readonly hash: string;
  readonly id: number | undefined;
}

/**
 * Stores the rows of a file as they arrive, in chunks. The import begins with `activateImport`.
 * @throws {Problem} `invalid_import`; `storage_limit_exceeded`; `import_running`; any error of reading the file. Then
 *   no rows are kept
 */
export async function receiveImport(
  deps: ReceiveDeps,
  file: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<ReceivedImport & { readonly id: number }> {
  const { database } = deps;
  const id = await insert(database, options);
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

/** Discards an import that has not begun. The job deletes its rows. */
export async function discardImport(database: Database, id: number): Promise<void> {
  await database.write(async tx => {
    const row = await lockImport(tx, id);
    if (row?.state === 'receiving') await saveImport(tx, row, { state: 'discarded', ended_at: tx.now, due_at: tx.now });
  });
}

async function* hashing(file: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const bytes of file) {
    hash.update(bytes);
    yield bytes;
  }
}

/** Inserts an import. @throws {Problem} `import_running` */
async function insert(database: Database, options: ImportOptions): Promise<number> {
  const { accountId, origin, dryRun, keepsFile, confirmRemovals = null, currency = null, dates = null } = options;
  return database.write(tx =>
    startAlone(tx, accountId, async () => {
      await tx.run(endPreviews, { accountId, now: tx.now });
      return tx.insert(insertImport, {
        ...{ account_id: accountId, plan: options.plan, origin: JSON.stringify(origin) },
        ...{ mode: options.mode, preset: options.preset, format: options.format, date_order: dates, currency },
        ...{ dry_run: keepsFile ? KEEPS_FILE : dryRun ? 1 : 0, confirmed: confirmRemovals },
        ...{ created_at: tx.now, due_at: tx.now + RECEIVING_MS },
      });
    }),
  );
}

type NewImport = Pick<
  ImportRow,
  | 'account_id'
  | 'plan'
  | 'origin'
  | 'mode'
  | 'preset'
  | 'format'
  | 'dry_run'
  | 'confirmed'
  | 'currency'
  | 'date_order'
  | 'created_at'
  | 'due_at'
>;

const insertImport = query((db, p: Params<NewImport>, engine) =>
  insertingOne(
    db.insertInto('imports').values({
      ...{ account_id: p.account_id, plan: p.plan, origin: p.origin, mode: p.mode, preset: p.preset, format: p.format },
      ...{ dry_run: p.dry_run, confirmed: p.confirmed, currency: p.currency, date_order: p.date_order },
      ...{ state: sql.lit('receiving' as const), chunks: 0, row_count: 0, up_to_id: 0, ...noProgress },
      ...{ created_at: p.created_at, due_at: p.due_at },
    }),
    engine,
  ),
);

/** Ends the retention of earlier dry runs' files, because an account keeps only one file. */
const endPreviews = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .updateTable('imports')
    .set({ dry_run: sql.lit(1), due_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('dry_run', '=', sql.lit(KEEPS_FILE))
    .where('ended_at', 'is not', null),
);
