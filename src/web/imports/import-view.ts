import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { capitalized, countText } from '../../lib/text.ts';
import { boundOf } from '../../model/plan.ts';
import { type ExportPreset, presetTitles } from '../../store/exports/presets.ts';
import type { DateOrder } from '../../store/exports/read-cells.ts';
import { rowsRefusal } from '../../store/imports/budget.ts';
import { firstErrors, type ImportError } from '../../store/imports/errors.ts';
import {
  HELD,
  type ImportRow,
  importTitle,
  isPaused,
  KEEPS_FILE,
  needConfirmation,
} from '../../store/imports/import.ts';
import { TOO_MANY } from '../../store/imports/removals.ts';
import { form, notice } from '../forms.ts';
import type { AccountVisit, View } from '../page.ts';
import { badge, type Columns, facts, table } from '../parts.ts';
import { ANIMALS_PATH, IMPORTS_PATH } from '../paths.ts';

export const dateOrderTitles: Readonly<Record<DateOrder, string>> = {
  mdy: 'Month first: 12/31/2026',
  dmy: 'Day first: 31/12/2026',
  ymd: 'Year first: 2026-12-31',
};

/** The maximum number of errors that the page shows; the file has all of them. */
const ERRORS_SHOWN = 50;

export function stateBadge(row: ImportRow): Html {
  const { state } = row;
  if (state === 'completed') return badge('good', 'Completed');
  if (state === 'failed') return badge('bad', 'Failed');
  if (state === 'canceled') return badge('warn', 'Canceled');
  if (isPaused(row)) return badge('warn', 'Paused');
  return badge('', state === 'receiving' ? 'Uploading' : 'In progress');
}

/** Returns the numbers of an import in one line: `12 added, 3 changed`, or `12 would be added` for a preview. */
export function countsText(row: ImportRow): string {
  const parts = countsOf(row).filter(([, count]) => count > 0);
  return parts.length === 0 ? 'No rows' : parts.map(([name, count]) => `${countText(count)} ${name}`).join(', ');
}

function countsOf(row: ImportRow): [name: string, count: number][] {
  const { dry_run, created, updated, unchanged, failed, removed } = row;
  const effect = dry_run === 0 ? '' : 'would be ';
  return [
    [`${effect}added`, created],
    [`${effect}changed`, updated],
    ['unchanged', unchanged],
    [`${effect}deleted`, removed],
    ['with errors', failed],
  ];
}

/** @param error the reason why the file of the preview was not imported */
export async function importView(visit: AccountVisit, row: ImportRow, now: number, error?: string): Promise<View> {
  const isRunning = row.ended_at === null;
  const { database, bounds } = visit.deployment;
  const isPreview = row.dry_run !== 0 && row.state === 'completed';
  const refusal = isPreview ? await rowsRefusal(database, row, bounds, now) : undefined;
  return {
    title: importTitle(row),
    errors: { '': error },
    ...(isRunning && {
      scripts: ['import.js'],
      // With scripts, `import.js` shows the progress without reloading the page.
      head: html`<noscript><meta http-equiv="refresh" content="3"></noscript>`,
    }),
    body: html`${outcomeNotice(row)}
${refusal !== undefined && error === undefined && notice('alert', refusal.message)}
${row.due_at === HELD && notice('status', html`<p>The import begins once every server of this store has the new version.</p>`)}
<div id="progress"${isRunning && html` data-running="yes"`}>${isRunning && progressView(row)}
${facts([
  [
    'State',
    isPaused(row)
      ? html`${stateBadge(row)} until ${timeHtml(row.paused_until)}, because its API key is banned`
      : stateBadge(row),
  ],
  ['File', html`${row.format === 'csv' ? 'CSV' : 'NDJSON'}, ${presetTitles[row.preset as ExportPreset] ?? row.preset}`],
  ...(row.date_order === null ? [] : [['Dates', dateOrderTitles[row.date_order]] as const]),
  ['Arrived', timeHtml(row.created_at)],
  ['Rows', countText(row.row_count)],
  ...countsOf(row).map(([name, count]) => [capitalized(name), countText(count)] as const),
  ...(row.charged_day === null ? [] : [chargeFact(visit, row)]),
])}</div>
${isRunning && html`<noscript><p class="hint">The page loads again every three seconds.</p></noscript>`}
${isRunning ? cancelForm(visit, row) : refusal === undefined && importForm(visit, row, now)}
${await errorsView(visit, row)}
<p><a href="${IMPORTS_PATH}">All imports</a> · <a href="${ANIMALS_PATH}">Your animals</a></p>`,
  };
}

/** Returns the number of rows that count against the budget of the day. */
function chargeFact({ deployment }: AccountVisit, row: ImportRow): [name: string, text: string] {
  const max = boundOf(deployment.bounds, row, 'importedRows');
  return ['Rows that count', `${countText(row.charged_rows)} of ${countText(max)} a day`];
}

function outcomeNotice(row: ImportRow): Html | undefined {
  if (row.state === 'failed') return notice('alert', html`<p>${failureText(row)}</p>${progressText(row)}`);
  if (row.ended_at === null) return undefined;
  if (row.dry_run !== 0) return notice('status', html`<p>This is a preview: nothing has been changed.</p>`);
  if (row.state === 'canceled')
    return notice('status', html`<p>The import was canceled. The changes that it had made stay.</p>`);
  return notice(row.failed > 0 ? 'alert' : 'status', html`<p>The import is done.${failedText(row)}</p>`);
}

function failedText({ failed, mode, row_count }: ImportRow): string {
  if (failed === 0) return '';
  // Animals that could not be deleted also count as failed.
  if (mode === 'replace') return ` It has ${countText(failed)} ${failed === 1 ? 'error' : 'errors'}, listed below.`;
  return ` ${countText(failed)} of ${countText(row_count)} rows ${failed === 1 ? 'has' : 'have'} errors and ${failed === 1 ? 'was' : 'were'} left out.`;
}

function failureText({ code, message, removals, existing }: ImportRow): string {
  if (code !== TOO_MANY) return message ?? '';
  return `Nothing was changed: the import would delete ${removals} of ${existing} animals, which is not what was confirmed. Preview the file again.`;
}

/**
 * Returns a text about the progress of a failed import, and the effect of importing its file again; an empty text if
 * the whole file was rejected.
 */
function progressText({ code, dry_run, rows_read, row_count }: ImportRow): Html | undefined {
  if (code === TOO_MANY) return undefined;
  if (dry_run !== 0) return html`<p>This was a preview: nothing has been changed.</p>`;
  return html`<p>${countText(rows_read)} of ${countText(row_count)} rows are done, and stay. It is safe to import the file again: each
row finds its animal by the identifier in the file, so none is added twice.</p>`;
}

function progressView({ rows_read, row_count, state }: ImportRow): Html {
  const text = state === 'removing' ? 'Deleting animals that the file lacks' : 'Rows done';
  return html`<p><label>${text}: ${countText(rows_read)} of ${countText(row_count)}<br>
<progress value="${rows_read}" max="${Math.max(1, row_count)}"></progress></label></p>`;
}

function cancelForm(visit: AccountVisit, { id, dry_run }: ImportRow): Html {
  const submit = dry_run === 0 ? 'Cancel the import' : 'Cancel the preview';
  return form(visit, { action: `${IMPORTS_PATH}/${id}/cancellation`, submit, danger: true }, undefined);
}

/** Returns the button that imports the file of a preview. */
function importForm(visit: AccountVisit, row: ImportRow, now: number): Html | undefined {
  const { id, state, dry_run, created, updated, failed } = row;
  if (dry_run === 0 || state !== 'completed') return undefined;
  const removals = row.mode === 'replace' ? (row.removals ?? 0) : 0;
  if (created + updated + removals === 0)
    return html`<p>There is nothing to import: the file would change no animal.</p>`;
  if (dry_run !== KEEPS_FILE || row.due_at === null || row.due_at <= now) {
    return html`<p>The file is no longer stored. <a href="${IMPORTS_PATH}">Choose it again</a> to import it.</p>`;
  }
  const isRisky = removals > 0 && needConfirmation(row);
  return form(visit, { action: `${IMPORTS_PATH}/${id}`, submit: 'Import these animals' }, [
    failed > 0 && html`<p>Rows with errors are left out.</p>`,
    isRisky &&
      html`<div class="field"><label class="choice"><input type="checkbox" name="removals" value="${removals}" required> <span>Delete ${countText(removals)} of my ${countText(row.existing ?? 0)} animals, because the file lacks them</span></label></div>`,
    html`<p class="hint">The file is kept until ${timeHtml(row.due_at)}.</p>`,
  ]);
}

async function errorsView({ deployment }: AccountVisit, { id }: ImportRow): Promise<Html | undefined> {
  const found = await firstErrors(deployment.database, id, ERRORS_SHOWN);
  const errors = found.filter(({ code }) => code !== TOO_MANY);
  if (errors.length === 0) return undefined;
  return html`<h2>Errors and warnings</h2>
<p>At most the first ${ERRORS_SHOWN}. <a href="${IMPORTS_PATH}/${id}/errors">Download all</a> as NDJSON.</p>
${table('Errors and warnings', errorColumns, errors)}`;
}

const errorColumns: Columns<ImportError> = {
  Line: ({ line }) => (line === undefined ? '–' : countText(line)),
  Level: ({ level }) => (level === 'error' ? badge('bad', 'Error') : badge('warn', 'Warning')),
  Column: ({ column }) => column !== undefined && html`<bdi>${column}</bdi>`,
  'What is wrong': ({ message, suggestion }) =>
    html`${message}${suggestion !== undefined && !message.includes(suggestion) && html` Did you mean <bdi><strong>${suggestion}</strong></bdi>?`}`,
  Cell: ({ value }) => value !== undefined && html`<code><bdi>${value}</bdi></code>`,
};
