import { example } from '../deployment.ts';

export const statisticsExamples = [
  example('last month', 'The month before this one', 200),
  example('a month', 'A month without animals', 200, { query: 'month=2026-02', as: 'stranger' }),
  example('no month', 'A year has twelve months', 'invalid_parameter', { query: 'month=2026-13' }),
];

export const exportExamples = [
  example('own animals', 'Every animal of your account', 200),
  example('for Petfinder', 'In the columns of a Petfinder import', 200, { query: 'preset=petfinder' }),
  example('for RescueGroups', 'In the columns of a RescueGroups import', 200, { query: 'preset=rescuegroups' }),
  example('no animals', 'Animals of other accounts are left out', 200, { as: 'stranger' }),
  example('unknown preset', 'There is no such preset', 'invalid_parameter', { query: 'preset=excel' }),
];
