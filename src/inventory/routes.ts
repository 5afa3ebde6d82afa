import { nowOf, operation } from '../deployment.ts';
import { countByStatus } from '../pets/counts.ts';
import { inventoryExamples } from './examples.ts';
import { Inventory } from './inventory.ts';

/** The number of pets by status. */
export const get = operation({
  summary: 'Count the animals by status',
  description:
    'How many animals there are in each status, exactly: an animal whose hold or order has run out counts as available from that very moment.',
  successes: [{ status: 200, description: 'The numbers.', schema: Inventory }],
  errors: [],
  examples: inventoryExamples,
  async handle({ context }) {
    return { body: await countByStatus(context.database, nowOf(context)) };
  },
});
