import { type Deployment, listOperation, operation } from '../../access/deployment.ts';
import { hasStoredResponse, withIdempotency } from '../../access/idempotency/idempotency.ts';
import type { RouteRequest, RouteResponse } from '../../lib/http/route.ts';
import { startParts } from '../../lib/http/server/responses.ts';
import { documentedRule, idParameter } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import { problem } from '../../model/errors.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import {
  IMPORT_ROW_LENGTH_MAX,
  IMPORT_ROWS_MAX,
  IMPORT_UPLOAD_MS,
  IMPORTS_KEPT,
  IMPORTS_KEPT_MS,
  REMOVALS_PERCENT,
} from '../../model/rules.ts';
import { presetNames } from '../exports/presets.ts';
import { dateOrders } from '../exports/read-cells.ts';
import { requireAuthority } from './authority.ts';
import { ERRORS_MAX, errorLines, firstErrors } from './errors.ts';
import { cancelExamples, createExamples, errorExamples, getExamples, listExamples } from './examples.ts';
import { FIRST_ERRORS, Import, ImportId, ImportMode, Imports, importOf } from './import.ts';
import { activateImport, cancelImport, getImport, listImports } from './imports.ts';
import { discardImport, hashOf, type ReceivedImport, receiveImport } from './receive.ts';

const importId = idParameter('import', ImportId);

const query = Type.Object({
  mode: Type.Optional(ImportMode),
  preset: Type.Optional(
    Type.Enum([...presetNames], {
      default: 'petstore',
      description:
        'The columns of the file: the same as in an export with this preset, in any order; columns may be absent.',
    }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to change nothing, and only count what would be changed.' }),
  ),
  confirmRemovals: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `The number of animals that \`replace\` may delete; required if they are more than ${REMOVALS_PERCENT} %. Send exactly the number of a dry run.`,
      examples: [12],
    }),
  ),
  currency: Type.Optional(
    Type.String({
      ...documentedRule({ maxLength: 3 }),
      pattern: '^[A-Z]{3}$',
      description: 'The currency (ISO 4217) of fees in columns of other programs.',
      examples: ['USD'],
    }),
  ),
  dates: Type.Optional(
    Type.Enum([...dateOrders], {
      description:
        'The order of the month, the day and the year in dates such as 5/1/2024. Without it, the service recognizes the ' +
        'order if the dates of the file leave no doubt. It always reads 2024-05-01 and 1 May 2024.',
      examples: ['mdy'],
    }),
  ),
});

export const create = operation({
  summary: 'Import animals',
  description:
    'Stores a file of animals, and then adds and changes animals of your account in the background: read the import to ' +
    'follow it. A row changes the animal with its `externalId`, or adds an animal. A cell that an export would write is not a change. A row with an error changes nothing; the others are imported.',
  query,
  notInSandbox: 'import animals',
  upload: {
    kind: 'imports',
    contentTypes: ['text/csv', 'application/x-ndjson'],
    bytesMax: 1024 * MEBIBYTE,
    timeoutMs: IMPORT_UPLOAD_MS,
    description:
      'CSV (RFC 4180) whose first line has the names of the columns, in UTF-8, UTF-16 or Windows-1252, or NDJSON in UTF-8: ' +
      `at most ${countText(IMPORT_ROWS_MAX)} rows of ${IMPORT_ROW_LENGTH_MAX / MEBIBYTE} MiB each, in ${durationIn('minute', IMPORT_UPLOAD_MS)}. Until the rows are imported, they count as stored texts of the account.`,
  },
  successes: [
    {
      status: 202,
      description: 'The file has arrived, and the import begins.',
      schema: Import,
      untagged: true,
      headers: { Location: 'The URL of the import.' },
    },
  ],
  errors: [
    'invalid_import',
    'import_running',
    'import_canceled',
    'import_limit_exceeded',
    'event_storage_exceeded',
    'storage_limit_exceeded',
  ],
  examples: createExamples,
  async handle(request) {
    const { context } = request;
    // If no slot is free, this throws before any change.
    const file = await startParts(request.upload!);
    const received = (await hasStoredResponse(request))
      ? { id: undefined, hash: await hashOf(file) }
      : await receiveImport(context, file, optionsOf(request));
    const response = await begin(request, received);
    context.importQueued?.();
    return response;
  },
});

export const list = listOperation({
  summary: 'List imports',
  description: `Returns the imports of your account, the newest first. The last ${IMPORTS_KEPT} are kept, for ${durationIn('day', IMPORTS_KEPT_MS)}.`,
  noun: 'imports',
  schema: Imports,
  examples: listExamples,
  async handle({ context, caller, page }) {
    const { rows, ...links } = await listImports(context.database, caller.accountId, page);
    return { rows: rows.map(row => importOf(row, context.bounds)), ...links };
  },
});

export const get = operation({
  summary: 'Get an import',
  description:
    'Returns an import of your account, with its progress and the first errors. Admins can read all imports.',
  parameters: { importId },
  successes: [{ status: 200, description: 'The import.', schema: Import }],
  errors: [],
  examples: getExamples,
  async handle({ context: { database, bounds }, caller, path }) {
    const row = await getImport(database, caller, path.importId);
    return { body: importOf(row, bounds, await firstErrors(database, row.id, FIRST_ERRORS)) };
  },
});

export const errors = operation({
  summary: 'Get the errors of an import',
  description: `Streams what is wrong with the rows of an import, in the order in which it was found: the first ${countText(ERRORS_MAX)} errors and warnings.`,
  parameters: { importId },
  successes: [
    {
      status: 200,
      description: 'One line of JSON for each error: an `ImportError`.',
      contentType: 'application/x-ndjson',
      schema: Type.String(),
    },
  ],
  errors: [],
  examples: errorExamples,
  async handle({ context: { database }, caller, path }) {
    const row = await getImport(database, caller, path.importId);
    const { id, dry_run, state, next_chunk, after_id, warnings, photos_failed } = row;
    const etag = `"${[id, dry_run, state, next_chunk, after_id, warnings, photos_failed].join('-')}"`;
    return { file: { parts: errorLines(database, row.id) }, headers: ['ETag', etag] };
  },
});

export const cancel = operation({
  summary: 'Cancel an import',
  frees: true,
  description:
    'Ends an import of your account; admins can end all imports. The changes that the import has made by then stay. An import that has already ended stays as it is.',
  parameters: { importId },
  successes: [{ status: 200, description: 'The import.', schema: Import, untagged: true }],
  errors: [],
  examples: cancelExamples,
  handle(request) {
    const { context, caller, path } = request;
    return withIdempotency(request, async tx => ({
      body: importOf(await cancelImport(tx, caller, path.importId), context.bounds),
    }));
  },
});

type CreateRequest = RouteRequest<Deployment, Static<typeof query>, unknown, unknown>;

function optionsOf({ caller, origin, query, headers }: CreateRequest) {
  const { mode = 'upsert', preset = 'petstore', dryRun = false, confirmRemovals, currency, dates } = query;
  return {
    ...{ accountId: caller.accountId, plan: caller.plan, origin: origin! },
    ...{ mode, preset, dryRun, confirmRemovals, currency, dates },
    format: /^\s*text\/csv/i.test(headers['content-type']!) ? ('csv' as const) : ('ndjson' as const),
  };
}

/** Starts a received import. A retry gets the response of the first request. */
async function begin(request: CreateRequest, { hash, id }: ReceivedImport): Promise<RouteResponse> {
  const { caller, context, origin } = request;
  let isBegun = false;
  try {
    await requireAuthority(context, caller.accountId, origin!);
    const response = await withIdempotency({ ...request, body: hash }, async tx => {
      if (id === undefined) throw problem('import_running');
      const { bounds } = request.context;
      const body = importOf(await activateImport(tx, id, bounds), bounds);
      return { body, headers: ['Location', `${request.baseUrl}/imports/${id}`] };
    });
    isBegun = !response.headers?.includes('Idempotency-Replayed');
    return response;
  } finally {
    if (!isBegun && id !== undefined) await discardImport(context.database, id);
  }
}
