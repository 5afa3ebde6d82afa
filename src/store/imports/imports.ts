import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import type { SessionOrigin } from '../../lib/origin.ts';
import { isUniqueViolation } from '../../lib/storage/database.ts';
import { problem } from '../../model/errors.ts';
import { isUpgraded } from '../../model/facts.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import type { BoundSettings } from '../../model/plan.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import { uploadError } from './authority.ts';
import { chargeRows, TOO_MANY_BYTES, TOO_MANY_ROWS } from './budget.ts';
import { HELD, type ImportRow, importById, KEEPS_FILE } from './import.ts';
import { TOO_MANY } from './removals.ts';
import { lockImport, saveImport } from './steps.ts';

/**
 * Returns an import, which is visible to its account and admins.
 * @throws {Problem} `import_not_found`
 */
export async function getImport(reader: Reader, actor: Actor, id: number): Promise<ImportRow> {
  const row = await reader.first(importById, { id });
  const isVisible = row !== undefined && (actor.admin || row.account_id === actor.accountId);
  if (!isVisible || row.state === 'discarded') throw problem('import_not_found', `There is no import ${id}.`);
  return row;
}

/** Returns one page of the imports of an account, the newest first. @throws {Problem} `invalid_parameter` */
export function listImports(reader: Reader, accountId: number, page: PageRequest): Promise<Page<ImportRow>> {
  return pageOf(reader, { accountId }, { list: ['imports', accountId], page, descending: true });
}

/**
 * Starts to apply an import whose file has arrived, and charges its rows.
 * @throws {Problem} the result of `uploadError`; `import_limit_exceeded`; `event_storage_exceeded`
 */
export async function activateImport(tx: Transaction, id: number, bounds: BoundSettings): Promise<ImportRow> {
  const row = await lockImport(tx, id);
  if (row?.state !== 'receiving') throw uploadError(row);
  const { id: lastPetId } = (await tx.first(lastPet, { accountId: row.account_id }))!;
  return begin(tx, { ...row, up_to_id: lastPetId }, bounds);
}

/**
 * Ends an import early; completed changes stay. Does nothing if it has ended.
 * @throws {Problem} `import_not_found`
 */
export async function cancelImport(tx: Transaction, actor: Actor, id: number): Promise<ImportRow> {
  await lockImport(tx, id);
  const row = await getImport(tx, actor, id);
  if (row.ended_at !== null) return row;
  return saveImport(tx, row, { state: 'canceled', ended_at: tx.now, due_at: tx.now });
}

/**
 * Imports the file of a dry run, which becomes an import. Does not delete animals that were added since the file
 * arrived.
 * @param confirmRemovals the number of animals that `replace` may delete, required for more than 20 %
 * @throws {Problem} `import_not_found`; `import_running`; `import_file_deleted`; `import_limit_exceeded`;
 *   `event_storage_exceeded`
 */
export async function importPreviewed(
  tx: Transaction,
  actor: Actor,
  id: number,
  {
    origin,
    bounds,
    confirmRemovals = null,
  }: {
    readonly origin: SessionOrigin;
    readonly bounds: BoundSettings;
    readonly confirmRemovals?: number | null;
  },
): Promise<ImportRow> {
  // Of several simultaneous requests, one starts the import, and the others find it started.
  await lockImport(tx, id);
  const row = await getImport(tx, actor, id);
  if (row.dry_run === 0) return row;
  return startAlone(tx, row.account_id, async () => {
    await tx.run(deleteOutcome, { id });
    const { chunks, errors } = (await tx.first(countStored, { id }))!;
    const isKept = row.dry_run === KEEPS_FILE && row.state === 'completed' && row.due_at! > tx.now;
    if (!isKept || chunks !== row.chunks) throw fileDeleted();
    const reset = { ...noProgress, warnings: errors, removals: null, existing: null, ended_at: null };
    const request = { dry_run: 0, origin: JSON.stringify(origin), confirmed: confirmRemovals };
    return begin(tx, { ...row, ...reset, ...request, photos_wanted: 0, photos_failed: 0 }, bounds);
  });
}

/** The progress of an import that has not begun. */
export const noProgress = {
  ...{ next_chunk: 0, after_id: 0, rows_read: 0, warnings: 0 },
  ...{ created: 0, updated: 0, unchanged: 0, failed: 0, removed: 0 },
};

/**
 * Starts an import, or the arrival of its file, in an account that has no other import in progress.
 * @throws {Problem} `import_running`
 */
export async function startAlone<Result>(
  tx: Transaction,
  accountId: number,
  start: () => MaybePromise<Result>,
): Promise<Result> {
  if ((await tx.first(inProgress, { accountId })) !== undefined) throw problem('import_running');
  try {
    return await start();
  } catch (error) {
    // Another import was started at the same time.
    throw isUniqueViolation(error) ? problem('import_running') : error;
  }
}

/** Makes the first step of an import due, and charges its rows. */
async function begin(tx: Transaction, row: ImportRow, bounds: BoundSettings): Promise<ImportRow> {
  const state = row.mode === 'replace' ? 'checking' : 'applying';
  const earliest = (await tx.first(earliestStart, {}))!;
  const begun: ImportRow = { ...row, state, started_at: tx.now, due_at: Math.max(tx.now, earliest.at) };
  return saveImport(tx, begun, await chargeRows(tx, begun, bounds));
}

function fileDeleted(): Problem {
  return new Problem('import_file_deleted', 409, 'The file is no longer stored. Choose it again.');
}

const pageOf = declareList({
  table: 'imports',
  rows: db => db.selectFrom('imports').selectAll().where('state', '<>', sql.lit('discarded')),
  filters: { accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id) },
});

const lastPet = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('pets').select(sql<number>`coalesce(max(id), 0)`.as('id')).where('account_id', '=', p.accountId),
);

/** The earliest due time of an import: `HELD` while an older release serves the database. */
const earliestStart = query((db, _: Params<Record<never, never>>, engine) =>
  db.selectNoFrom(
    engine === 'sqlite'
      ? sql.lit(0).as('at')
      : sql<number>`case when ${isUpgraded} then 0 else ${sql.lit(HELD)} end`.as('at'),
  ),
);

export const inProgress = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('imports').select('id').where('account_id', '=', p.accountId).where('ended_at', 'is', null),
);

/** Deletes errors and warnings that a dry run has found. Those found while the file arrived stay. */
const deleteOutcome = query((db, p: Params<{ id: number }>) =>
  db
    .deleteFrom('import_errors')
    .where('import_id', '=', p.id)
    .where(eb =>
      eb.or([
        eb('error', 'like', '{"level":"error"%'),
        ...[TOO_MANY, TOO_MANY_ROWS, TOO_MANY_BYTES, 'unknown_value'].map(code =>
          eb('error', 'like', `%"code":"${code}"%`),
        ),
      ]),
    ),
);

const countStored = query((db, p: Params<{ id: number }>) =>
  db.selectNoFrom([
    sql<number>`(select count(*) from import_chunks where import_id = ${p.id})`.as('chunks'),
    sql<number>`(select count(*) from import_errors where import_id = ${p.id})`.as('errors'),
  ]),
);
