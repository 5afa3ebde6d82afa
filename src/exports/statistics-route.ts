import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { documentedRule } from '../lib/schemas.ts';
import { statisticsExamples } from './examples.ts';
import { monthBefore, ShelterStatistics, shelterStatistics } from './shelter-statistics.ts';

export const shelterAnimalsCount = operation({
  summary: 'Count intakes and outcomes',
  description:
    'Counts the intakes and outcomes of your animals in a month, and those in care before and after it, by species and age, ' +
    'in the terms of Shelter Animals Count. An animal without an `intake` is never in care; one that came in several times ' +
    'counts with its last `intake` and `outcome`.',
  query: Type.Object({
    month: Type.Optional(
      Type.String({
        ...documentedRule({ maxLength: 7 }),
        pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$',
        examples: ['2026-10'],
        description: 'The month, in UTC. The default is the last one that is over.',
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
