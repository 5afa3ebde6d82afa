import { orderStep } from './order-step.ts';

/** `petstore order return` */
export const command = orderStep('returnOrder', {
  name: 'order return',
  sentence: 'Takes the animal of a delivered order back: it is available again.',
  options: { 'not-ready': { sentence: 'The animal is pending until somebody says more.' } },
  examples: [
    { line: 'petstore order return 12', sentence: 'an animal that can move again at once' },
    { line: 'petstore order return 12 --not-ready --note "to the vet first"', sentence: 'one that cannot yet' },
  ],
});
