import { example, nowOf, operation } from '../../access/deployment.ts';
import { Type } from '../../lib/type.ts';
import { countByStatus } from './counts.ts';

const count = () => Type.Integer({ format: 'int64', minimum: 0 });

/** The number of pets in each status (contract, Inventory). */
const Inventory = Type.Object(
  { available: count(), pending: count(), sold: count() },
  { title: 'Inventory', description: 'The number of animals in each status.' },
);

const examples = [example('a small store', 'Four animals, one of them ordered', 200, { given: ['placeOrder: a cat'] })];

export const get = operation({
  summary: 'Count the animals by status',
  description:
    'Returns the exact number of animals in each status. An animal counts as available from the moment at which its hold ' +
    'or order expires.',
  successes: [{ status: 200, description: 'The numbers.', schema: Inventory }],
  errors: [],
  examples,
  async handle({ context }) {
    return { body: await countByStatus(context.database, nowOf(context)) };
  },
});
