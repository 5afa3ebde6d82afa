import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { getAccount } from '../../access/accounts/accounts.ts';
import { UserError } from '../../lib/user-error.ts';
import type { BoundSettings } from '../../model/plan.ts';
import { REMOVALS_PERCENT } from '../../model/rules.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import { type ExportPreset, presetNames } from '../../store/exports/presets.ts';
import { dateOrders } from '../../store/exports/read-cells.ts';
import { firstErrors, type ImportError } from '../../store/imports/errors.ts';
import { type ImportOptions, type ImportRow, importById, importOf } from '../../store/imports/import.ts';
import { type ImportDeps, stepOf } from '../../store/imports/import-job.ts';
import { activateImport, cancelImport, inProgress } from '../../store/imports/imports.ts';
import { discardImport, receiveImport } from '../../store/imports/receive.ts';
import { type Command, type CommandOutput, deploymentOption, type Invocation, UsageError } from '../command.ts';
import { withAccounts, withDatabase } from '../databases.ts';
import { parseInteger } from '../values.ts';
import { accountArgument, idOf } from './account.ts';

export const importAnimals: Command = {
  name: 'import',
  summary: 'Import animals of an account from a CSV or NDJSON file.',
  details:
    'Adds and changes animals beside a running server, and prints the first errors with their lines. A row with an error changes nothing; the others are imported, and the command exits with 1. Ctrl-C cancels the import: the changes so far stay, and running the command again imports the rest. If the command is killed, a running server completes the import; without a server, the next import of the account completes it first. Photos are fetched by the server; the command does not wait for them.',
  arguments: { ...accountArgument, FILE: 'The file; `-` is standard input.' },
  options: {
    format: {
      description: 'The format; by default, ndjson if the name of the file ends with .ndjson, and csv otherwise.',
      value: 'FORMAT',
      choices: ['csv', 'ndjson'],
    },
    preset: {
      description: 'The columns: those of an export with the same preset.',
      value: 'PRESET',
      choices: presetNames,
      default: 'petstore',
    },
    mode: {
      description: 'Whether only to add and change animals, or also to delete the animals that the file lacks.',
      value: 'MODE',
      choices: ['upsert', 'replace'],
      default: 'upsert',
    },
    'dry-run': { description: 'Change nothing, and only count what would be changed.' },
    'confirm-removals': {
      description: `The number of animals that --mode replace may delete; required if they are more than ${REMOVALS_PERCENT} %. A dry run prints it.`,
      value: 'N',
    },
    currency: { description: 'The currency (ISO 4217) of fees in columns of other programs.', value: 'CODE' },
    dates: {
      description: 'The order of dates such as 5/1/2024; by default, the order is recognized if there is no doubt.',
      value: 'ORDER',
      choices: dateOrders,
    },
    deployment: deploymentOption,
  },
  examples: {
    'petstore import 7 pets.csv --dry-run': 'to see what the file would change',
    'petstore import 7 pets.csv': 'to add and change animals',
    'petstore import 7 pets.ndjson --mode replace': 'to delete the animals that the file lacks, too',
  },
  async run(invocation) {
    const { options, config, clock, json } = invocation;
    const { bounds } = config;
    const accountId = idOf(invocation);
    const given = givenOptions(invocation);
    const path = invocation.arguments['FILE']!;
    const deployment = options['deployment'] as DeploymentName;
    const interruption = new AbortController();
    const interrupt = () => interruption.abort();
    // A second Ctrl-C ends the process.
    for (const signal of SIGNALS) process.once(signal, interrupt);
    const onProgress = json ? undefined : invocation.terminal.showProgress;
    const importInto = async (accounts: Database, database: Database) => {
      const { plan } = await getAccount(accounts, accountId);
      const settings = { ...given, accountId, plan, origin: { command: invocation.name } };
      const file = await openFile(path, interruption.signal, onProgress);
      const deps = { database, accounts, rules: config, now: () => clock.now() };
      const earlier = await finishEarlier(deps, accountId, interruption.signal, onProgress);
      const { id } = await receiveImport({ database, clock, bounds }, file, settings).catch(error => {
        throw interruption.signal.aborted ? new UserError('Interrupted. Nothing was imported.') : error;
      });
      await database
        .write(tx => activateImport(tx, id, bounds))
        .catch(async error => {
          await discardImport(database, id);
          throw error;
        });
      const row = await finish(deps, id, interruption.signal, onProgress);
      const errors = await firstErrors(database, id, ERRORS_SHOWN);
      return outputOf(row, bounds, errors, earlier);
    };
    try {
      return await withAccounts(invocation, accounts =>
        deployment === 'production'
          ? importInto(accounts, accounts)
          : withDatabase(invocation, config.locations[deployment], database => importInto(accounts, database)),
      );
    } finally {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    }
  },
};

type OnProgress = ((step: string, share: number) => void) | undefined;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** How many errors and warnings are printed. */
const ERRORS_SHOWN = 20;

/** The time to wait for a step that a server runs, in milliseconds. */
const WAIT_MS = 20;

/** Parses the settings on the command line. @throws {UsageError} */
function givenOptions({ options, arguments: { FILE: path } }: Invocation) {
  const { currency, format, 'confirm-removals': confirmRemovals } = options;
  if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) {
    throw new UsageError('--currency must be three capital letters, such as USD.');
  }
  return {
    mode: options['mode'] as ImportOptions['mode'],
    preset: options['preset'] as ExportPreset,
    format: (format as ImportOptions['format'] | undefined) ?? (path!.endsWith('.ndjson') ? 'ndjson' : 'csv'),
    dryRun: options['dry-run'] !== undefined,
    confirmRemovals:
      confirmRemovals === undefined
        ? undefined
        : parseInteger('--confirm-removals', confirmRemovals, 0, Number.MAX_SAFE_INTEGER),
    currency,
    dates: options['dates'] as ImportOptions['dates'],
  };
}

/**
 * Opens a file or standard input; reading fails when `signal` is aborted.
 * @throws {UserError}
 */
async function openFile(path: string, signal: AbortSignal, onProgress: OnProgress): Promise<AsyncIterable<Buffer>> {
  if (path === '-') return addAbortSignal(signal, process.stdin as Readable);
  const found = await stat(path).catch(error => {
    throw new UserError(`${path} cannot be read: ${(error as Error).message}.`);
  });
  if (found.isDirectory()) throw new UserError(`${path} is a directory. Name a file, or - for standard input.`);
  return readFile(path, found.size, signal, onProgress);
}

async function* readFile(path: string, size: number, signal: AbortSignal, onProgress: OnProgress) {
  let bytes = 0;
  try {
    for await (const part of createReadStream(path, { signal })) {
      yield part as Buffer;
      bytes += part.length;
      if (size > 0) onProgress?.(`Reading ${path}`, Math.min(bytes / size, 1));
    }
  } catch (error) {
    throw new UserError(`${path} cannot be read: ${(error as Error).message}.`);
  }
}

/** Completes an import of the account that a killed command has left. Returns it; `undefined` if there is none. */
async function finishEarlier(
  deps: ImportDeps,
  accountId: number,
  signal: AbortSignal,
  onProgress: OnProgress,
): Promise<ImportRow | undefined> {
  const { database, now } = deps;
  const found = await database.first(inProgress, { accountId });
  const row = found && (await database.first(importById, { id: found.id }));
  if (row === undefined || (JSON.parse(row.origin) as { command?: string }).command !== importAnimals.name)
    return undefined;
  if (row.state === 'receiving') {
    // The file of the import has not arrived, and cannot arrive any more.
    if (row.due_at !== null && row.due_at <= now()) await stepOf(deps, row);
    return undefined;
  }
  const ended = await finish(
    deps,
    row.id,
    signal,
    onProgress && ((_, share) => onProgress(`Completing import ${row.id}`, share)),
  );
  if (signal.aborted) throw new UserError(`Interrupted. Import ${row.id} was canceled; nothing else was imported.`);
  return ended;
}

/**
 * Runs the steps of an import, alternating with servers that run them too, until it has ended or only waits for photos.
 * Cancels it when `signal` is aborted.
 */
async function finish(deps: ImportDeps, id: number, signal: AbortSignal, onProgress: OnProgress): Promise<ImportRow> {
  const { database } = deps;
  for (;;) {
    const row = await database.first(importById, { id });
    if (row === undefined) throw new UserError(`Import ${id} was deleted.`);
    if (row.ended_at !== null) return row;
    if (signal.aborted) return database.write(tx => cancelImport(tx, { accountId: row.account_id, admin: false }, id));
    if (row.state === 'fetching') return row;
    onProgress?.('Importing', row.row_count === 0 ? 1 : row.rows_read / row.row_count);
    if ((await stepOf(deps, row)) === 0) await pause(WAIT_MS);
  }
}

/** @param earlier the earlier import that was completed first, if any */
function outputOf(
  row: ImportRow,
  bounds: BoundSettings,
  errors: readonly ImportError[],
  earlier: ImportRow | undefined,
): CommandOutput {
  const value = importOf(row, bounds, errors);
  const { state, failed, dryRun, removals, error, dates } = value;
  const waiting = state === 'running' ? value.photosWanted - value.photosFetched - value.photosFailed : 0;
  const more = failed + value.warnings - errors.length;
  const counts = [
    `${value.created} created, ${value.updated} updated, ${value.unchanged} unchanged, ${value.removed} deleted,`,
    `${failed} failed; ${value.warnings} warnings.`,
  ].join(' ');
  const lines = [
    ...(earlier ? [`Import ${earlier.id}, which was interrupted, was completed first.`] : []),
    ...errors.map(lineOf),
    ...(more > 0 ? [`${more} more errors and warnings are not shown.`] : []),
    ...(error ? [`The import failed: ${error.message}`] : []),
    ...(removals?.needConfirmation && error ? [`To delete them, add --confirm-removals ${removals.count}.`] : []),
    ...(dates ? [`Dates are read as ${dates}.`] : []),
    ...(state === 'canceled'
      ? ['The import was canceled. The changes so far stay; run the command again to import the rest.']
      : []),
    `${dryRun ? 'Dry run, nothing was changed' : `Import ${value.id}`}: ${counts}`,
    ...(waiting > 0 ? [`${waiting} photos wait: the server fetches them while it runs.`] : []),
  ];
  return { value, text: () => lines.join('\n'), failed: failed > 0 || state === 'failed' || state === 'canceled' };
}

/** Returns an error or a warning as one line. */
function lineOf({ level, line, column, petId, message, suggestion }: ImportError): string {
  const animal = line === undefined && petId !== undefined ? `Animal ${petId}` : undefined;
  const place = [line === undefined ? animal : `Line ${line}`, column].filter(part => part !== undefined).join(', ');
  const nearest = suggestion === undefined ? '' : ` Nearest valid value: ${suggestion}.`;
  return `${place}${place && ': '}${level === 'warning' ? 'warning: ' : ''}${message}${nearest}`;
}
