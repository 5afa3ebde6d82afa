import Type from 'typebox';
import { type Deployment, nowOf, operation } from '../deployment.ts';
import { problem } from '../errors.ts';
import { onePer } from '../lib/one-per.ts';
import { SharedBudget } from '../lib/shared-budget.ts';
import { DAY_MS } from '../lib/time.ts';
import { exportExamples } from './examples.ts';
import { type ExportFormat, exportPets } from './export-pets.ts';
import { ExportPreset } from './presets.ts';

export const csv = exportOperation(
  'csv',
  'Export animals as CSV',
  'text/csv',
  'RFC 4180 in UTF-8: a line with the names of the columns, then one line for each animal.',
);

export const ndjson = exportOperation(
  'ndjson',
  'Export animals as NDJSON',
  'application/x-ndjson',
  'One line of JSON for each animal.',
);

function exportOperation(format: ExportFormat, summary: string, contentType: string, description: string) {
  return operation({
    summary,
    description:
      'Streams all animals of your account in the order of their ids, with every field that you can write, or in ' +
      'the columns of another program. The response has ' +
      'no length: it is complete if the connection does not break off. An account has two exports at the same time.',
    query: Type.Object({ preset: Type.Optional(ExportPreset) }),
    successes: [{ status: 200, description, contentType, schema: Type.String() }],
    errors: ['export_limit_exceeded'],
    examples: exportExamples,
    async handle({ context, caller, query, publicUrl }) {
      const { preset = 'petstore' } = query;
      const budget = exportsOf(context);
      // Reserved once the response begins, so that a client that has gone keeps nothing reserved.
      if (!budget.reserve(caller.accountId, 1)) throw limitExceeded();
      budget.release(caller.accountId, 1);
      const position = await context.eventBus.lastPosition();
      const parts = bounded(budget, caller.accountId, () =>
        exportPets(context.database, {
          ...{ accountId: caller.accountId, format, preset, publicUrl },
          now: () => nowOf(context),
        }),
      );
      // The age of an animal depends on the day.
      const version = preset === 'petstore' ? '' : `-${preset}-${Math.floor(nowOf(context) / DAY_MS)}`;
      return { file: { parts }, headers: ['ETag', `"${format}-${caller.accountId}-${position}${version}"`] };
    },
  });
}

async function* bounded(
  budget: SharedBudget<number>,
  accountId: number,
  exporting: () => AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  if (!budget.reserve(accountId, 1)) throw limitExceeded();
  try {
    yield* exporting();
  } finally {
    budget.release(accountId, 1);
  }
}

function limitExceeded() {
  return problem('export_limit_exceeded', undefined, { headers: ['Retry-After', '2'] });
}

/** The exports in progress on one node: of all accounts, and of one. */
const exportsOf = onePer<Deployment, SharedBudget<number>>(() => new SharedBudget({ total: 32, perClient: 2 }));
