import { type Deployment, example, nowOf, operation } from '../../access/deployment.ts';
import { onePer } from '../../lib/one-per.ts';
import { documentedRule } from '../../lib/schemas.ts';
import { SharedBudget } from '../../lib/shared-budget.ts';
import { spelled } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { problem } from '../../model/errors.ts';
import { EXPORTS_MAX, EXPORTS_TOTAL_MAX } from '../../model/rules.ts';
import { type ExportFormat, exportPets } from './export-pets.ts';
import { ExportPreset } from './presets.ts';
import { monthBefore, ShelterStatistics, shelterStatistics } from './shelter-statistics.ts';

const statisticsExamples = [
  example('last month', 'The month before this one', 200),
  example('a month', 'A month without animals', 200, { query: 'month=2026-02', as: 'stranger' }),
  example('no month', 'A year has twelve months', 'invalid_parameter', { query: 'month=2026-13' }),
];

const exportExamples = [
  example('own animals', 'Every animal of your account', 200),
  example('for Petfinder', 'In the columns of a Petfinder import', 200, { query: 'preset=petfinder' }),
  example('for RescueGroups', 'In the columns of a RescueGroups import', 200, { query: 'preset=rescuegroups' }),
  example('no animals', 'Animals of other accounts are left out', 200, { as: 'stranger' }),
  example('unknown preset', 'There is no such preset', 'invalid_parameter', { query: 'preset=excel' }),
];

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
      `no length: it is complete if the connection does not break off. An account can have ${spelled(EXPORTS_MAX)} exports in progress.`,
    query: Type.Object({ preset: Type.Optional(ExportPreset) }),
    successes: [{ status: 200, description, contentType, schema: Type.String() }],
    errors: ['export_limit_exceeded'],
    examples: exportExamples,
    async handle({ context, caller, query, publicUrl }) {
      const { preset = 'petstore' } = query;
      const budget = exportsOf(context);
      // Reserve when the response begins, so that a client that has disconnected reserves nothing.
      if (!budget.reserve(caller.accountId, 1)) throw limitExceeded();
      budget.release(caller.accountId, 1);
      const position = await context.eventBus.lastPosition();
      const parts = bounded(budget, caller.accountId, () =>
        exportPets(context.database, {
          ...{ accountId: caller.accountId, format, preset, publicUrl },
          now: () => nowOf(context),
        }),
      );
      // The age of an animal changes with the day.
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

/** The maximum number of exports in progress on one node: of all accounts, and of one. */
const exportsOf = onePer<Deployment, SharedBudget<number>>(
  () => new SharedBudget({ total: EXPORTS_TOTAL_MAX, perClient: EXPORTS_MAX }),
);

export const shelterAnimalsCount = operation({
  summary: 'Count intakes and outcomes',
  description:
    'Counts the intakes and outcomes of your animals in a month, and the animals in care before and after the month, by species and age, ' +
    'in the terms of Shelter Animals Count. An animal without an `intake` is never in care; an animal that came in several times counts with its last `intake` and `outcome`.',
  query: Type.Object({
    month: Type.Optional(
      Type.String({
        ...documentedRule({ maxLength: 7 }),
        pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$',
        examples: ['2026-10'],
        description: 'The month, in UTC. The default is the last complete month.',
      }),
    ),
  }),
  successes: [{ status: 200, description: 'The numbers of the month.', schema: ShelterStatistics }],
  errors: [],
  examples: statisticsExamples,
  async handle(request) {
    const { context, caller, query } = request;
    const month = query.month ?? monthBefore(nowOf(context));
    return { body: await shelterStatistics(context.database, caller.accountId, month, request) };
  },
});
