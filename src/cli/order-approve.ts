import { orderStep } from './order-step.ts';

/** `petstore order approve` */
export const command = orderStep('approveOrder', {
  name: 'order approve',
  sentence: 'Approves a placed order, which then runs out no more.',
  examples: [{ line: 'petstore order approve 12', sentence: 'an order that was looked at' }],
});
