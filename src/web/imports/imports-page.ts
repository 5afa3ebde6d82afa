import { nowOf } from '../../access/deployment.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { defaultLimits } from '../../lib/http/server/options.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import { boundOf } from '../../model/plan.ts';
import { IMPORTS_KEPT, IMPORTS_KEPT_MS } from '../../model/rules.ts';
import { presetNames, presetTitles } from '../../store/exports/presets.ts';
import { rowsImported } from '../../store/imports/budget.ts';
import { errorLines } from '../../store/imports/errors.ts';
import { type ImportOptions, type ImportRow, importTitle } from '../../store/imports/import.ts';
import { activateImport, cancelImport, getImport, importPreviewed, listImports } from '../../store/imports/imports.ts';
import { receiveImport } from '../../store/imports/receive.ts';
import { assertFormProblem, choices, choicesOf, errorText, field, select } from '../forms.ts';
import { found } from '../found.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { type Columns, table } from '../parts.ts';
import { IMPORTS_PATH } from '../paths.ts';
import { countsText, dateOrderTitles, importView, stateBadge } from './import-view.ts';

/**
 * The largest file that the page accepts. It must arrive within the normal time limit of requests; the API allows more
 * time for larger files.
 */
const FILE_BYTES_MAX = 100 * 1024 * 1024;
const ROWS = 20;

/** Previews a file of animals, and lists the imports of the account. */
export const importsPage = accountPage({
  path: IMPORTS_PATH,
  permission: 'animals',
  shownFor: 'read',
  title: 'Imports',
  menu: 'desk',
  menuItem: { indented: true },
  file: { kind: 'imports', bytesMax: FILE_BYTES_MAX },
  show: visit => listView(visit),
  async submit(visit) {
    const sent = sentIn(visit);
    if (Object.keys(sent.errors).length > 0) return listView(visit, sent);
    try {
      return { location: `${IMPORTS_PATH}/${await preview(visit, sent)}` };
    } catch (error) {
      return listView(visit, { ...sent, errors: { file: messageOf(error) } });
    }
  },
});

/** An import: its progress, its changes, and the button that imports the file of a preview. */
export const importPage = accountPage({
  path: `${IMPORTS_PATH}/{importId}`,
  permission: 'animals',
  shownFor: 'read',
  title: 'Import',
  async show(visit) {
    const row = await ownImport(visit);
    return row && importView(visit, row, nowOf(visit.deployment));
  },
  async submit(visit) {
    const row = await ownImport(visit);
    if (row === undefined) return undefined;
    const { deployment, origin } = visit;
    const confirmRemovals = idOf(visit.form.get('removals')) ?? null;
    try {
      await deployment.database.write(
        tx => importPreviewed(tx, ownActor(visit), row.id, { origin, confirmRemovals, bounds: deployment.bounds }),
        origin,
      );
    } catch (error) {
      return importView(visit, row, nowOf(deployment), messageOf(error));
    }
    deployment.importQueued?.();
    return { location: `${IMPORTS_PATH}/${row.id}` };
  },
});

/** Cancels an import. Completed changes stay. */
export const cancelImportPage = accountPage({
  path: `${IMPORTS_PATH}/{importId}/cancellation`,
  permission: 'animals',
  title: 'Cancel an import',
  async submit(visit) {
    const row = await ownImport(visit);
    if (row === undefined) return undefined;
    await visit.deployment.database.write(tx => cancelImport(tx, ownActor(visit), row.id), visit.origin);
    return { location: `${IMPORTS_PATH}/${row.id}` };
  },
});

/** Downloads the errors of an import. */
export const importErrorsPage = accountPage({
  path: `${IMPORTS_PATH}/{importId}/errors`,
  permission: 'read',
  title: 'Errors of an import',
  async show(visit) {
    const row = await ownImport(visit);
    if (row === undefined) return undefined;
    const parts = errorLines(visit.deployment.database, row.id);
    const fileName = `import-${row.id}-errors.ndjson`;
    return { contentType: 'application/x-ndjson; charset=utf-8', bytes: '', parts, fileName };
  },
});

/** The submitted form and its errors. */
interface Sent {
  readonly mode: string;
  readonly preset: string;
  readonly currency: string;
  readonly dates: string;
  readonly errors: Readonly<Record<string, string>>;
}

const nothingSent: Sent = { mode: 'upsert', preset: 'petstore', currency: '', dates: '', errors: {} };

function sentIn({ form }: AccountVisit): Sent {
  const mode = form.get('mode') ?? nothingSent.mode;
  const preset = form.get('preset') ?? nothingSent.preset;
  const currency = (form.get('currency') ?? '').trim().toUpperCase();
  const dates = form.get('dates') ?? nothingSent.dates;
  const errors = {
    ...(!Object.hasOwn(modeTitles, mode) && { mode: 'Choose one of these.' }),
    ...(!presetNames.some(name => name === preset) && { preset: 'Choose one of these.' }),
    ...(!Object.hasOwn(dateTitles, dates) && { dates: 'Choose one of these.' }),
    ...(!/^([A-Z]{3})?$/.test(currency) && { currency: 'Must be three letters, such as EUR.' }),
  };
  return { mode, preset, currency, dates, errors };
}

/** Stores the file, and begins its dry run. Returns the id of the import. */
async function preview({ deployment, account, origin, file }: AccountVisit, sent: Sent): Promise<number> {
  if (file === undefined) throw problem('invalid_import', 'The form has no file.');
  const recognized = await recognizeFormat(file);
  const { id } = await receiveImport(deployment, recognized.file, {
    ...{ accountId: account.id, plan: account.plan, origin, dryRun: true, keepsFile: true },
    ...{ mode: sent.mode as ImportOptions['mode'], preset: sent.preset as ImportOptions['preset'] },
    ...{ format: recognized.format, confirmRemovals: undefined, currency: sent.currency || undefined },
    dates: (sent.dates || undefined) as ImportOptions['dates'],
  });
  await deployment.database.write(tx => activateImport(tx, id, deployment.bounds));
  deployment.importQueued?.();
  return id;
}

const modeTitles = {
  upsert: 'Add and change the animals of the file',
  replace: 'Add and change the animals of the file, and delete my other animals',
} as const;

/** The orders of day and month in dates. Without a choice, the order is detected. */
const dateTitles: Readonly<Record<string, string>> = { '': 'Recognize the order automatically', ...dateOrderTitles };

const columns: Columns<ImportRow> = {
  Import: row => html`<a href="${IMPORTS_PATH}/${row.id}">${importTitle(row)}</a>, ${timeHtml(row.created_at)}`,
  State: stateBadge,
  Animals: countsText,
  Errors: ({ id, failed, warnings }) =>
    failed + warnings > 0 &&
    html`<a href="${IMPORTS_PATH}/${id}/errors" aria-label="Download the errors of import ${id}">Download</a>`,
};

async function listView(visit: AccountVisit, sent = nothingSent): Promise<View> {
  const { deployment, account } = visit;
  const page = await listImports(deployment.database, account.id, listPage(visit, ROWS));
  const rowsToday = await rowsImported(deployment.database, account.id, nowOf(deployment));
  const rowsMax = boundOf(deployment.bounds, account, 'importedRows');
  return {
    description: 'Import a file of animals.',
    errors: sent.errors,
    body: html`${uploadForm(visit, sent)}
<h2>Past imports</h2>
${table('Past imports', columns, page.rows, 'Nothing has been imported yet.')}
<p class="hint">Your imports have changed ${countText(rowsToday)} of ${countText(rowsMax)} rows today (UTC). The last ${IMPORTS_KEPT} imports are kept, for ${durationIn('day', IMPORTS_KEPT_MS)}.</p>
${pageLinks(visit, page)}`,
  };
}

function uploadForm(visit: AccountVisit, { mode, preset, currency, dates, errors }: Sent) {
  const storedMax = boundOf(visit.deployment.bounds, visit.account, 'storedBytes');
  const limit =
    storedMax < FILE_BYTES_MAX
      ? `at most ${mebibytes(storedMax)} MiB, which your plan can store`
      : `at most ${mebibytes(FILE_BYTES_MAX)} MiB`;
  return html`<p>Choose a file of animals. You see what it would change before anything is imported.
<a href="/guides/import-and-export">What the file must look like</a></p>
<form method="post" action="${IMPORTS_PATH}" enctype="multipart/form-data" class="stacked">
${visit.tokenField()}
${select({
  ...{ name: 'preset', label: 'Columns of the file', error: errors['preset'] },
  choices: choicesOf(presetTitles, preset),
})}
${choices('radio', {
  ...{ name: 'mode', label: 'What to do', error: errors['mode'] },
  choices: choicesOf(modeTitles, mode),
})}
${select({
  ...{ name: 'dates', label: 'Dates in the file', error: errors['dates'] },
  choices: choicesOf(dateTitles, dates),
})}
${field({
  ...{ name: 'currency', label: 'Currency of fees', value: currency, error: errors['currency'] },
  ...{ hint: 'For columns of other programs: three letters, such as USD.', maxLength: 3, optional: true },
})}
<div class="field"><label for="file">File</label>
<p class="hint" id="file-hint">CSV as spreadsheet programs save it, or NDJSON, ${limit}. It must arrive within ${durationIn('second', defaultLimits.requestMs)}. The <a href="/reference/importPets">API</a> takes ${storedMax > FILE_BYTES_MAX ? 'larger files' : 'files that take longer'}.</p>
<input id="file" name="file" type="file" accept=".csv,.ndjson,.jsonl,.txt,text/csv,application/x-ndjson" required aria-describedby="file-hint${errors['file'] && ' file-error'}">
${errorText('file', errors['file'])}</div>
<button>Preview the changes</button>
</form>`;
}

function mebibytes(bytes: number): string {
  return countText(Math.floor(bytes / 1024 / 1024));
}

/** Returns the import of the path; `undefined` if the account has no such import. */
async function ownImport(visit: AccountVisit): Promise<ImportRow | undefined> {
  const id = idOf(visit.parameters['importId']);
  return id === undefined ? undefined : found(getImport(visit.deployment.database, ownActor(visit), id));
}

/**
 * Returns the error as a sentence.
 * @throws any error that the visitor did not cause
 */
function messageOf(error: unknown): string {
  assertFormProblem(error);
  return error.code === 'import_running'
    ? 'Another import is in progress. Wait until it has ended, or cancel it.'
    : error.message;
}

/** The maximum white space, in bytes, at the beginning of a file that is still recognized as NDJSON. */
const BEGINNING_MAX = 64 * 1024;

/** Returns the format of a file, with all its bytes: a file that begins with a brace is NDJSON, every other one CSV. */
async function recognizeFormat(
  file: AsyncIterable<Buffer>,
): Promise<{ readonly format: ImportOptions['format']; readonly file: AsyncIterable<Buffer> }> {
  const chunks = file[Symbol.asyncIterator]();
  let beginning = Buffer.alloc(0);
  let text = '';
  while (text === '' && beginning.length < BEGINNING_MAX) {
    const { done, value } = await chunks.next();
    if (done) break;
    beginning = Buffer.concat([beginning, value]);
    // `trimStart` also removes a byte order mark.
    text = beginning.toString('utf8').trimStart();
  }
  async function* whole() {
    yield beginning;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { format: text.startsWith('{') ? 'ndjson' : 'csv', file: whole() };
}
