import { type Params, query, sql, type Transaction } from '../schema.ts';
import { ERRORS_MAX, type ImportError } from './import.ts';

/** Appends errors to those of an import; those beyond the first 10,000 are only counted. */
export async function recordErrors(tx: Transaction, id: number, errors: readonly ImportError[]): Promise<void> {
  if (errors.length === 0) return;
  const { last } = (await tx.first(lastError, { id }))!;
  const rows = errors
    .slice(0, Math.max(0, ERRORS_MAX - last))
    .map((error, index) => [last + index + 1, JSON.stringify(error)]);
  if (rows.length > 0) await tx.run(insertErrors, { id, rows: JSON.stringify(rows) });
}

const lastError = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('import_errors').select(sql<number>`coalesce(max(number), 0)`.as('last')).where('import_id', '=', p.id),
);

const insertErrors = query((db, p: Params<{ id: number; rows: string }>, engine) =>
  db
    .insertInto('import_errors')
    .columns(['import_id', 'number', 'error'])
    .expression(
      engine === 'sqlite'
        ? sql`select ${p.id}, value ->> 0, value ->> 1 from json_each(${p.rows})`
        : sql`select cast(${p.id} as bigint), (value ->> 0)::bigint, value ->> 1
              from json_array_elements(cast(${p.rows} as json))`,
    ),
);
