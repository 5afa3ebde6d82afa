import { orderStep } from './order-step.ts';

/** `petstore order deliver` */
export const command = orderStep('deliverOrder', {
  name: 'order deliver',
  sentence: 'Notes that the animal of an approved order went to who ordered it: it is sold.',
  examples: [{ line: 'petstore order deliver 12 --note "fetched by her sister"', sentence: 'an animal that has left' }],
});
