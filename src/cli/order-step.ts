import type { NewOrderReturn } from '../orders/order.ts';
import type { Command, Option } from './command.ts';
import { orderArgument, orderPrinted } from './order-show.ts';
import { readBody, readId, storeCommand } from './store-command.ts';

/** What is to be remembered, as an option. */
export const noteOption: Option = {
  sentence: 'What is to be remembered with it, 1 to 1000 characters.',
  value: 'TEXT',
};

/** The functions of `steps.ts` that take a step. */
type StepFunction = 'approveOrder' | 'deliverOrder' | 'cancelOrder' | 'returnOrder';

/** The command that takes a step of an order as the operator, who may take each. */
export function orderStep(step: StepFunction, command: Omit<Command, 'arguments' | 'run'>): Command {
  return storeCommand({
    ...command,
    arguments: orderArgument,
    options: { note: noteOption, ...command.options },
    async read({ arguments: { ID }, options }) {
      const { NewOrderReturn } = await import('../orders/order.ts');
      const said = await readBody<NewOrderReturn>(NewOrderReturn, {
        ...(options['note'] !== undefined && { note: options['note'] }),
        ...(options['not-ready'] !== undefined && { ready: false }),
      });
      return { id: readId('ID', ID!), said };
    },
    async work({ database }, { id, said }) {
      const [steps, { operator }] = await Promise.all([import('../orders/steps.ts'), import('../events/event.ts')]);
      return orderPrinted(await database.write(tx => steps[step](tx, operator, id, said)));
    },
  });
}
