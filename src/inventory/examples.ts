import type { Example } from '../lib/http/route.ts';

export const inventoryExamples: readonly Example[] = [
  {
    name: 'of a small store',
    summary: 'Four animals, one of them ordered',
    given: ['placeOrder: a cat'],
    status: 200,
  },
];
