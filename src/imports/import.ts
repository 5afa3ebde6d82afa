import type { Selectable } from 'kysely';
import Type, { type Static } from 'typebox';
import { presetNames } from '../exports/presets.ts';
import { dateOrders } from '../exports/read-cells.ts';
import type { Origin } from '../lib/origin.ts';
import { idSchema, openEnum, timeSchema } from '../lib/schemas.ts';
import { DAY_MS, formatDate, formatTime } from '../lib/time.ts';
import { type BoundSettings, boundOf } from '../plans/plan.ts';
import { type Params, query, type Reader, type Tables } from '../schema.ts';

/** A row of the table of imports. */
export type ImportRow = Selectable<Tables['imports']>;

export const ImportId = idSchema('The id of the import, assigned by the service.');

export const ImportMode = Type.Enum(['upsert', 'replace'], {
  default: 'upsert',
  description:
    '`upsert` adds and changes the animals of the file. `replace` also deletes your animals that the file lacks; more ' +
    'than 20 % of them only with `confirmRemovals`.',
});

/** An error in a row of an import, or a warning about something that the import ignores, or a value that is not known. */
/** The most errors of a single import in its own response. */
export const FIRST_ERRORS = 20;

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
    code: Type.String({ description: 'An error code, or the code of a field.' }),
    message: Type.String({ description: 'What is wrong, and what would be right.' }),
    value: Type.Optional(Type.String({ description: 'The first 100 characters of the cell.' })),
    suggestion: Type.Optional(Type.String({ description: 'The nearest valid value.' })),
  },
  { title: 'ImportError', description: 'An error in a row of an import, or a warning.' },
);
export type ImportError = Static<typeof ImportError>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const Import = Type.Object(
  {
    id: ImportId,
    state: openEnum(
      ['receiving', 'running', 'paused', 'completed', 'failed', 'canceled'],
      '`receiving` while the file arrives, `running`, then `completed`, `failed` or `canceled`. `paused` while its API key ' +
        'is banned.',
    ),
    mode: openEnum(['upsert', 'replace'], 'The mode.'),
    preset: openEnum([...presetNames], 'The columns of the file.'),
    format: openEnum(['csv', 'ndjson'], 'The format of the file.'),
    dates: Type.Optional(
      openEnum(
        [...dateOrders],
        'The order of the month, the day and the year in dates: as sent, or as recognized when the file had arrived. Absent ' +
          'if the file has no dates, or ones that leave a doubt.',
      ),
    ),
    dryRun: Type.Boolean({ description: 'Whether nothing is changed: the numbers say what would be.' }),
    rows: count('The rows of the file that have arrived, without the names of the columns.'),
    rowsRead: count('The rows that are done.'),
    created: count('The animals that were added.'),
    updated: count('The animals that were changed.'),
    unchanged: count('The rows that changed nothing.'),
    failed: count('The rows with an error, and the animals that could not be deleted.'),
    removed: count('The animals that were deleted.'),
    warnings: count('What the import ignored, and values that are not known.'),
    photosWanted: count('The photos to fetch, which the animals lack.'),
    photosFetched: count('The photos that were fetched.'),
    photosFailed: count('The photos that could not be fetched, or have an invalid URL.'),
    budget: Type.Optional(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'The UTC day that the import counts for.' }),
          charged: count(
            'The rows that count: all of the file until they are done, then those that changed an animal.',
          ),
          maximum: count('The rows that all imports of the account can change on a day.'),
        },
        { description: 'What the import counts against `importedRows` of the account; absent in a dry run.' },
      ),
    ),
    removals: Type.Optional(
      Type.Object(
        {
          count: count('Your animals that the file lacks.'),
          of: count('Your animals when the import began.'),
          needConfirmation: Type.Boolean({ description: 'Whether they are more than 20 %.' }),
        },
        { description: 'What `replace` deletes; absent before it is known.' },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { description: 'Why the import failed; absent unless it did.' },
      ),
    ),
    firstErrors: Type.Optional(
      Type.Array(ImportError, {
        maxItems: FIRST_ERRORS,
        description: `The first ${FIRST_ERRORS} errors and warnings; only of a single import.`,
      }),
    ),
    createdAt: timeSchema('When the file began to arrive.'),
    startedAt: Type.Optional(timeSchema('When the file had arrived.')),
    pausedUntil: Type.Optional(
      timeSchema('When the import continues, because the ban of its API key ends; absent unless it is `paused`.'),
    ),
    endedAt: Type.Optional(timeSchema('When the import ended.')),
  },
  { title: 'Import', description: 'A file of animals that is imported, and what has become of it.' },
);
export type Import = Static<typeof Import>;

export const Imports = Type.Array(Import, { title: 'Imports', description: 'Imports.' });

const states = { checking: 'running', applying: 'running', removing: 'running', fetching: 'running' } as const;

/** Returns an import as the API shows it. */
export function importOf(row: ImportRow, bounds: BoundSettings, firstErrors?: readonly ImportError[]): Import {
  return {
    id: row.id,
    state: isPaused(row) ? 'paused' : (states[row.state as keyof typeof states] ?? row.state),
    mode: row.mode,
    preset: row.preset,
    format: row.format,
    ...(row.date_order !== null && { dates: row.date_order }),
    dryRun: row.dry_run !== 0,
    rows: row.row_count,
    rowsRead: row.rows_read,
    created: row.created,
    updated: row.updated,
    unchanged: row.unchanged,
    failed: row.failed,
    removed: row.removed,
    warnings: row.warnings,
    photosWanted: row.photos_wanted,
    photosFetched: row.photos_fetched,
    photosFailed: row.photos_failed,
    ...(row.charged_day !== null && {
      budget: {
        day: formatDate(row.charged_day * DAY_MS),
        charged: row.charged_rows,
        maximum: boundOf(bounds, row, 'importedRows'),
      },
    }),
    ...(row.existing !== null && {
      removals: { count: row.removals!, of: row.existing, needConfirmation: needConfirmation(row) },
    }),
    ...(row.code !== null && { error: { code: row.code, message: row.message! } }),
    ...(firstErrors && { firstErrors: [...firstErrors] }),
    createdAt: formatTime(row.created_at),
    ...(row.started_at !== null && { startedAt: formatTime(row.started_at) }),
    ...(isPaused(row) && { pausedUntil: formatTime(row.paused_until) }),
    ...(row.ended_at !== null && { endedAt: formatTime(row.ended_at) }),
  };
}

/** Returns what pages call an import: `Import 4`, or `Preview 4`. */
export function importTitle({ id, dry_run }: ImportRow): string {
  return `${dry_run === 0 ? 'Import' : 'Preview'} ${id}`;
}

/**
 * The due time of an import that waits until no older release serves its database: that would read the rows in its own way.
 * No clock reaches it.
 */
export const HELD = Number.MAX_SAFE_INTEGER;

/** Reports whether an import waits for the end of a ban. */
export function isPaused(row: ImportRow): row is ImportRow & { readonly paused_until: number } {
  return row.ended_at === null && row.paused_until !== null;
}

/** Reports whether `replace` would delete more animals than it may without a confirmation. */
export function needConfirmation({ removals, existing }: Pick<ImportRow, 'removals' | 'existing'>): boolean {
  return (removals ?? 0) > (existing ?? 0) * REMOVALS_SHARE;
}

const REMOVALS_SHARE = 0.2;

/** Returns how many more animals the account would have by now: a dry run has rolled back what it added and deleted. */
export function petsPlanned({ dry_run, created, removed }: ImportRow): number {
  return dry_run === 0 ? 0 : created - removed;
}

/** The request or command that began an import. */
export function originOf({ origin }: ImportRow): Origin {
  return JSON.parse(origin);
}

/** The value of `dry_run` of an import whose file is kept. */
export const KEEPS_FILE = 2;

/** The most errors that are kept of an import. */
export const ERRORS_MAX = 10_000;

export const importById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('imports').selectAll().where('id', '=', p.id),
);

const errorsAfter = query((db, p: Params<{ id: number; after: number; rows: number }>) =>
  db
    .selectFrom('import_errors')
    .select(['number', 'error'])
    .where('import_id', '=', p.id)
    .where('number', '>', p.after)
    .orderBy('number')
    .limit(p.rows),
);

/** Returns some errors of an import as JSON texts, after the one with a number. */
export async function importErrors(reader: Reader, id: number, after: number, rows: number) {
  return reader.all(errorsAfter, { id, after, rows });
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
