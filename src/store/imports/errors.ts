import { type Static, Type } from '../../lib/type.ts';
import { problem } from '../../model/errors.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/** The maximum number of characters of a cell that errors show. */
export const SHOWN_LENGTH_MAX = 100;

/** An error in a row of an import, or a warning about an ignored part or an unknown value. */
export const ImportError = Type.Object(
  {
    level: Type.Enum(['error', 'warning'], {
      description: '`error`: the row was not imported, or the photo of its column was not.',
    }),
    line: Type.Optional(
      Type.Integer({ description: 'The first line of the row, from 1; absent for an animal to delete.' }),
    ),
    column: Type.Optional(Type.String({ description: 'The column, or the field of NDJSON.' })),
    petId: Type.Optional(Type.Integer({ format: 'int64', description: 'The animal, if it is known.' })),
    code: Type.String({ description: 'The code of the error, or of the error of a field.' }),
    message: Type.String({ description: 'The error or warning in English.' }),
    value: Type.Optional(Type.String({ description: `The first ${SHOWN_LENGTH_MAX} characters of the cell.` })),
    suggestion: Type.Optional(Type.String({ description: 'The nearest valid value.' })),
  },
  { title: 'ImportError', description: 'An error in a row of an import, or a warning.' },
);
export type ImportError = Static<typeof ImportError>;

/** An error or a warning without its line. */
export type RowError = Omit<ImportError, 'level' | 'line'>;

/** Returns the beginning of a text, so that errors are short. */
export function shortened(text: string): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX).toWellFormed()}…` : text;
}

/** Creates the error for a file whose rows cannot be separated. */
export function invalidImport(line: number, message: string) {
  return problem('invalid_import', `Line ${line}: ${message} Nothing was imported.`);
}

/** The maximum number of stored errors of an import. */
export const ERRORS_MAX = 10_000;

/** Appends errors to those of an import; those beyond the first 10,000 are only counted. */
export async function recordErrors(tx: Transaction, id: number, errors: readonly ImportError[]): Promise<void> {
  if (errors.length === 0) return;
  const { last } = (await tx.first(lastError, { id }))!;
  const rows = errors
    .slice(0, Math.max(0, ERRORS_MAX - last))
    .map((error, index) => [last + index + 1, JSON.stringify(error)]);
  if (rows.length > 0) await tx.run(insertErrors, { id, rows: JSON.stringify(rows) });
}

/** Returns some errors of an import as JSON texts, after the error with a number. */
export async function importErrors(reader: Reader, id: number, after: number, rows: number) {
  return reader.all(errorsAfter, { id, after, rows });
}

/** Returns the first errors and warnings of an import. */
export async function firstErrors(reader: Reader, id: number, count: number): Promise<ImportError[]> {
  return (await importErrors(reader, id, 0, count)).map(({ error }) => JSON.parse(error));
}

const ERRORS_PAGE = 500;

/** Yields the errors of an import as lines of NDJSON. */
export async function* errorLines(reader: Reader, id: number): AsyncGenerator<Buffer> {
  for (let after = 0; ; ) {
    const rows = await importErrors(reader, id, after, ERRORS_PAGE);
    if (rows.length === 0) return;
    yield Buffer.from(rows.map(({ error }) => `${error}\n`).join(''));
    after = rows.at(-1)!.number;
  }
}

const errorsAfter = query((db, p: Params<{ id: number; after: number; rows: number }>) =>
  db
    .selectFrom('import_errors')
    .select(['number', 'error'])
    .where('import_id', '=', p.id)
    .where('number', '>', p.after)
    .orderBy('number')
    .limit(p.rows),
);

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
