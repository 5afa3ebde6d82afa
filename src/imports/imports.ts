import type { Expression } from 'kysely';
import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { isUpgraded } from '../facts.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { Problem } from '../lib/http/problem.ts';
import type { SessionOrigin } from '../lib/origin.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import type { BoundSettings } from '../plans/plan.ts';
import {
  type Database,
  type KeysetParams,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../schema.ts';
import { uploadError } from './authority.ts';
import { chargeRows, returnRows, TOO_MANY_BYTES, TOO_MANY_ROWS } from './budget.ts';
import { HELD, type ImportRow, importById, KEEPS_FILE } from './import.ts';
import { TOO_MANY } from './removals.ts';

/** How many ended imports of an account are kept, and for how long at most. */
export const IMPORTS_KEPT = 20;

/** Returns an import, which its account and admins can see. @throws {Problem} `import_not_found` */
export async function getImport(reader: Reader, actor: Actor, id: number): Promise<ImportRow> {
  const row = await reader.first(importById, { id });
  const isVisible = row !== undefined && (actor.admin || row.account_id === actor.accountId);
  if (!isVisible || row.state === 'discarded') throw problem('import_not_found', `There is no import ${id}.`);
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
 * Begins to apply an import whose file has arrived, and charges its rows.
 * @throws {Problem} what `uploadError` returns; `import_limit_exceeded`; `event_storage_exceeded`
 */
export async function activateImport(tx: Transaction, id: number, bounds: BoundSettings): Promise<ImportRow> {
  const row = await tx.first(activate, { id, now: tx.now });
  if (row === undefined) throw await uploadError(tx, id);
  return chargeRows(tx, row, bounds);
}

/**
 * Ends an import early; what it has done stays. One that has ended stays as it is.
 * @throws {Problem} `import_not_found`
 */
export async function cancelImport(tx: Transaction, actor: Actor, id: number): Promise<ImportRow> {
  const row = await getImport(tx, actor, id);
  const canceled = await tx.first(cancel, { id, now: tx.now });
  return canceled === undefined ? row : returnRows(tx, canceled);
}

/**
 * Imports the file of a dry run, which becomes this import. Animals that were added since the file arrived are not deleted.
 * @param confirmRemovals how many animals `replace` may delete, if they are more than 20 %
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
  // Of several requests at the same moment, one begins it, and the others find it begun.
  await tx.first(lockImport, { id });
  const { account_id: accountId, dry_run } = await getImport(tx, actor, id);
  if (dry_run === 0) return getImport(tx, actor, id);
  if ((await tx.first(inProgress, { accountId })) !== undefined) throw problem('import_running');
  await tx.run(deleteOutcome, { id });
  const values = { id, origin: JSON.stringify(origin), confirmed: confirmRemovals, now: tx.now };
  if ((await restarted(tx, values)) === 0) throw fileDeleted();
  return chargeRows(tx, await getImport(tx, actor, id), bounds);
}

async function restarted(tx: Transaction, values: RestartValues): Promise<number> {
  try {
    return await tx.run(restart, values);
  } catch (error) {
    // Another import has begun at this moment.
    throw isUniqueViolation(error) ? problem('import_running') : error;
  }
}

function fileDeleted(): Problem {
  return new Problem('import_file_deleted', 409, 'The file is not kept any more. Choose it again.');
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

const FIRST_STATE = sql<ImportRow['state']>`case when mode = 'replace' then 'checking' else 'applying' end`;

/** When an import is due that begins. */
const beginning = (now: Expression<number>, engine: Database['engine']) =>
  engine === 'sqlite'
    ? now
    : sql<number>`case when ${isUpgraded} then cast(${now} as bigint) else ${sql.lit(HELD)} end`;

const activate = query((db, p: Params<{ id: number; now: number }>, engine) =>
  db
    .updateTable('imports')
    .set({
      state: FIRST_STATE,
      up_to_id: sql<number>`coalesce((select max(id) from pets where pets.account_id = imports.account_id), 0)`,
      started_at: p.now,
      due_at: beginning(p.now, engine),
    })
    .where('id', '=', p.id)
    .where('state', '=', sql.lit('receiving'))
    .returningAll(),
);

export const inProgress = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('imports').select('id').where('account_id', '=', p.accountId).where('ended_at', 'is', null),
);

const lockImport = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('imports')
    .select('id')
    .where('id', '=', p.id)
    .$if(engine === 'postgres', row => row.forUpdate()),
);

/** Deletes what a dry run has found in the rows. What was found while the file arrived stays. */
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

type RestartValues = { id: number; origin: string; confirmed: number | null; now: number };

/** Begins again with the first chunk, unless one of them is deleted already. */
const restart = query((db, p: Params<RestartValues>, engine) => {
  const zero = sql.lit(0);
  return db
    .updateTable('imports')
    .set({
      ...{ dry_run: zero, origin: p.origin, confirmed: p.confirmed, started_at: p.now, ended_at: null },
      due_at: beginning(p.now, engine),
      ...{ state: FIRST_STATE, next_chunk: zero, after_id: zero, rows_read: zero, removals: null, existing: null },
      ...{ created: zero, updated: zero, unchanged: zero, failed: zero, removed: zero },
      ...{ photos_wanted: zero, photos_failed: zero },
      warnings: sql<number>`(select count(*) from import_errors where import_id = imports.id)`,
    })
    .where('id', '=', p.id)
    .where('dry_run', '=', sql.lit(KEEPS_FILE))
    .where('state', '=', sql.lit('completed'))
    .where('due_at', '>', p.now)
    .where(sql<boolean>`chunks = (select count(*) from import_chunks where import_id = imports.id)`);
});

const cancel = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('imports')
    .set({ state: sql.lit('canceled' as const), ended_at: p.now, due_at: p.now })
    .where('id', '=', p.id)
    .where('ended_at', 'is', null)
    .returningAll(),
);
