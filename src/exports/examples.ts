import { example } from '../deployment.ts';

export const exportExamples = [
  example('own animals', 'Every animal of your account', 200),
  example('no animals', 'Animals of other accounts are left out', 200, { as: 'stranger' }),
];
