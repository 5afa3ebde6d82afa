import { orderStep } from './order-step.ts';

/** `petstore order cancel` */
export const command = orderStep('cancelOrder', {
  name: 'order cancel',
  sentence: 'Cancels an order that is not delivered yet: its animal is available again.',
  examples: [{ line: 'petstore order cancel 12 --note "moved abroad"', sentence: 'an order that comes to nothing' }],
});
