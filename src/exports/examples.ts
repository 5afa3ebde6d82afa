import { example } from '../deployment.ts';

export const exportExamples = [
  example('own animals', 'Every animal of your account', 200),
  example('for Petfinder', 'In the columns of a Petfinder import', 200, { query: 'preset=petfinder' }),
  example('no animals', 'Animals of other accounts are left out', 200, { as: 'stranger' }),
  example('unknown preset', 'There is no such preset', 'invalid_parameter', { query: 'preset=excel' }),
];
