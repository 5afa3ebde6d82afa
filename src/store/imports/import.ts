import type { Selectable } from 'kysely';
import type { Origin } from '../../lib/origin.ts';
import { idSchema, openEnum, timeSchema } from '../../lib/schemas.ts';
import { DAY_MS, formatDate, formatTime } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import { type BoundSettings, boundOf } from '../../model/plan.ts';
import { REMOVALS_PERCENT } from '../../model/rules.ts';
import { type Params, query, type Tables } from '../../model/schema.ts';
import { type ExportPreset, presetNames } from '../exports/presets.ts';
import { type DateOrder, dateOrders } from '../exports/read-cells.ts';
import { ImportError } from './errors.ts';

/** A row of the table of imports. */
export type ImportRow = Selectable<Tables['imports']>;

/** The settings of an import. */
export interface ImportOptions {
  readonly accountId: number;
  readonly plan: string;
  readonly origin: Origin;
  readonly mode: ImportRow['mode'];
  readonly preset: ExportPreset;
  readonly format: ImportRow['format'];
  readonly dryRun: boolean;
  /** Whether to keep the file of a dry run for a while, so that `importPreviewed` can import it. */
  readonly keepsFile?: true;
  readonly confirmRemovals: number | undefined;
  readonly currency: string | undefined;
  /** The order of dates; by default the order that follows from the dates of the file. */
  readonly dates?: DateOrder | undefined;
}

export const ImportId = idSchema('The id of the import, assigned by the service.');

export const ImportMode = Type.Enum(['upsert', 'replace'], {
  default: 'upsert',
  description:
    '`upsert` adds and changes the animals of the file. `replace` also deletes your animals that the file lacks; deleting ' +
    `more than ${REMOVALS_PERCENT} % of them requires \`confirmRemovals\`.`,
});

/** The maximum number of errors that the response of an import contains. */
export const FIRST_ERRORS = 20;

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
        'The order of the month, the day and the year in dates: as sent, or as recognized when the file had arrived. Absent if the file has no dates, or if its dates leave a doubt.',
      ),
    ),
    dryRun: Type.Boolean({
      description: 'Whether the import changes nothing: its numbers are those that the import would have.',
    }),
    rows: count('The rows of the file that have arrived, without the names of the columns.'),
    rowsRead: count('The rows that are done.'),
    created: count('The animals that were added.'),
    updated: count('The animals that were changed.'),
    unchanged: count('The rows that changed nothing.'),
    failed: count('The rows with an error, and the animals that could not be deleted.'),
    removed: count('The animals that were deleted.'),
    warnings: count('The warnings: what the import ignored, and values that are not known.'),
    photosWanted: count('The photos to fetch, which the animals lack.'),
    photosFetched: count('The photos that were fetched.'),
    photosFailed: count('The photos that could not be fetched, or have an invalid URL.'),
    budget: Type.Optional(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'The UTC day that the import counts for.' }),
          charged: count(
            'The rows that count: all rows of the file until they are done, then the rows that changed an animal.',
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
          needConfirmation: Type.Boolean({
            description: `Whether these are more than ${REMOVALS_PERCENT} % of your animals.`,
          }),
        },
        { description: 'What `replace` deletes; absent until that is known.' },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { description: 'Why the import failed; absent unless the import failed.' },
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
  { title: 'Import', description: 'An import of a file of animals, and its progress.' },
);
export type Import = Static<typeof Import>;

export const Imports = Type.Array(Import, { title: 'Imports', description: 'Imports.' });

const states = { checking: 'running', applying: 'running', removing: 'running', fetching: 'running' } as const;

/** Returns an import as a response. */
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

/** Returns the title of an import on pages: `Import 4`, or `Preview 4`. */
export function importTitle({ id, dry_run }: ImportRow): string {
  return `${dry_run === 0 ? 'Import' : 'Preview'} ${id}`;
}

/**
 * The due time of an import that waits until no older release serves its database, because an older release would read
 * its rows differently. No clock reaches it.
 */
export const HELD = Number.MAX_SAFE_INTEGER;

/** Reports whether an import waits for the end of a ban. */
export function isPaused(row: ImportRow): row is ImportRow & { readonly paused_until: number } {
  return row.ended_at === null && row.paused_until !== null;
}

/** Reports whether `replace` would delete more animals than allowed without a confirmation. */
export function needConfirmation({ removals, existing }: Pick<ImportRow, 'removals' | 'existing'>): boolean {
  return (removals ?? 0) > ((existing ?? 0) * REMOVALS_PERCENT) / 100;
}

/** Returns how many more animals the account would have now: a dry run has rolled back its additions and deletions. */
export function petsPlanned({ dry_run, created, removed }: ImportRow): number {
  return dry_run === 0 ? 0 : created - removed;
}

/** Returns the request or command that started an import. */
export function originOf({ origin }: ImportRow): Origin {
  return JSON.parse(origin);
}

/** The value of `dry_run` of an import whose file is kept. */
export const KEEPS_FILE = 2;

export const importById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('imports').selectAll().where('id', '=', p.id),
);
