import { Problem } from '../../lib/http/problem.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS, dayOf } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import { eventBytesOf } from '../../model/log/bytes.ts';
import { type BoundSettings, boundOf } from '../../model/plan.ts';
import { EVENT_BYTES_DAYS } from '../../model/rules.ts';
import { deletingOldest, type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import { recordErrors } from './errors.ts';
import type { ImportRow } from './import.ts';

/** The code of an import that would change more rows than the account may change on a day. */
export const TOO_MANY_ROWS = 'import_limit_exceeded';

/** The code of an import that would record more bytes of events than the account may record in 30 days. */
export const TOO_MANY_BYTES = 'event_storage_exceeded';

/**
 * Charges all rows of an import to the account before the first row is applied. `returnRows` returns the rows that
 * change nothing. A dry run is not charged: it gets a warning if its import would be rejected.
 * @returns the change of the import
 * @throws {Problem} `import_limit_exceeded`; `event_storage_exceeded`
 */
export async function chargeRows(
  tx: Transaction,
  row: ImportRow,
  bounds: BoundSettings,
): Promise<Partial<Pick<ImportRow, 'charged_rows' | 'charged_day' | 'warnings'>>> {
  try {
    await requireEventBytes(tx, row, boundOf(bounds, row, 'eventBytes'));
    return await chargeDay(tx, row, boundOf(bounds, row, 'importedRows'));
  } catch (error) {
    if (row.dry_run === 0 || !(error instanceof Problem)) throw error;
    const { code, message } = error;
    await recordErrors(tx, row.id, [{ level: 'warning', code, message }]);
    return { warnings: row.warnings + 1 };
  }
}

/**
 * Returns the charged rows of an import that have changed nothing to the account, after the last row was applied.
 * @returns the import with its charge
 */
export async function returnRows(tx: Transaction, row: ImportRow): Promise<ImportRow> {
  const changed = row.created + row.updated;
  const rest = row.charged_rows - changed;
  if (rest <= 0 || row.state === 'checking' || row.state === 'applying') return row;
  await tx.run(subtractRows, { accountId: row.account_id, day: row.charged_day!, rows: rest });
  return { ...row, charged_rows: changed };
}

/** Returns the reason why an import would be rejected now for its number of rows; `undefined` if it would not. */
export async function rowsRefusal(
  reader: Reader,
  row: ImportRow,
  bounds: BoundSettings,
  now: number,
): Promise<Problem | undefined> {
  const used = await rowsImported(reader, row.account_id, now);
  const max = boundOf(bounds, row, 'importedRows');
  return used + row.row_count > max ? tooManyRows(row.row_count, used, max, now) : undefined;
}

/** Returns the number of rows that imports of an account have changed or reserved on the UTC day of `now`. */
export async function rowsImported(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(rowsOn, { accountId, day: dayOf(now) }))?.rows ?? 0;
}

/** Deletes up to `limit` counts of past days. Returns their number. Keeps yesterday's, for imports that began then. */
export async function deleteOldImportedRows(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteOld, { before: dayOf(tx.now) - 1, limit });
}

/**
 * The estimated size of a row's event besides its values and the origin of the import, in bytes. Measured for new
 * animals: the estimate is 0.6 to 1.3 times the recorded size, and more if most cells are empty. Rows that change few
 * values of animals with a long profile record up to five times as much, because an event repeats the short values.
 * Rows that change nothing record no event.
 */
const EVENT_OVERHEAD = 50;

/** @throws {Problem} `event_storage_exceeded` */
async function requireEventBytes(tx: Transaction, row: ImportRow, max: number): Promise<void> {
  const used = await eventBytesOf(tx, row.account_id, tx.now);
  const { bytes: values } = (await tx.first(bytesOfFile, { id: row.id }))!;
  const bytes = values + row.row_count * (EVENT_OVERHEAD + row.origin.length);
  if (used + bytes <= max) return;
  const message = `The account has recorded ${countText(used)} bytes of events in ${EVENT_BYTES_DAYS} days. The file has ${rowsText(row.row_count)}, which would add about ${countText(bytes)}, and the maximum of its plan is ${countText(max)}.`;
  throw problem(TOO_MANY_BYTES, message);
}

/** @throws {Problem} `import_limit_exceeded` */
async function chargeDay(tx: Transaction, row: ImportRow, max: number) {
  const [rows, day] = [row.row_count, dayOf(tx.now)];
  const counter = { accountId: row.account_id, day, rows };
  const used =
    row.dry_run === 0
      ? (await tx.first(addRows, counter))!.rows - rows
      : await rowsImported(tx, row.account_id, tx.now);
  if (used + rows > max) throw tooManyRows(rows, used, max, tx.now);
  return row.dry_run === 0 ? { charged_rows: rows, charged_day: day } : {};
}

function tooManyRows(rows: number, used: number, max: number, now: number): Problem {
  const end = (dayOf(now) + 1) * DAY_MS;
  const rule = `The file has ${rowsText(rows)}. Imports of the account can change ${rowsText(max)} in a UTC day`;
  if (rows > max) return problem(TOO_MANY_ROWS, `${rule}: split the file.`);
  const message = `${rule}, and have changed ${countText(used)}. Wait until 00:00 UTC, or send fewer rows.`;
  return problem(TOO_MANY_ROWS, message, { headers: ['Retry-After', `${Math.ceil((end - now) / 1000)}`] });
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${countText(rows)} rows`;
}

type Counter = { accountId: number; day: number; rows: number };

/**
 * On PostgreSQL, other imports of the account wait until the transaction ends, so together they cannot exceed the
 * bound.
 */
const addRows = query((db, p: Params<Counter>) =>
  db
    .insertInto('imported_rows')
    .values({ account_id: p.accountId, day: p.day, rows: p.rows })
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'day'])
        .doUpdateSet(eb => ({ rows: eb('imported_rows.rows', '+', eb.ref('excluded.rows')) })),
    )
    .returning('rows'),
);

const subtractRows = query((db, p: Params<Counter>) =>
  db
    .updateTable('imported_rows')
    .set(eb => ({ rows: eb('rows', '-', p.rows) }))
    .where('account_id', '=', p.accountId)
    .where('day', '=', p.day),
);

const rowsOn = query((db, p: Params<{ accountId: number; day: number }>) =>
  db.selectFrom('imported_rows').select('rows').where('account_id', '=', p.accountId).where('day', '=', p.day),
);

const bytesOfFile = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('import_chunks')
    .select(sql<number>`cast(coalesce(sum(octet_length(rows)), 0) as bigint)`.as('bytes'))
    .where('import_id', '=', p.id),
);

const deleteOld = deletingOldest('imported_rows', ['account_id', 'day'], 'day');
