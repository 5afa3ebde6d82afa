import type { Order } from '../orders/order.ts';
import type { OrderWithSteps } from '../orders/rows.ts';
import type { CommandOutput } from './command.ts';
import { priceText } from './money.ts';
import { readId, storeCommand } from './store-command.ts';
import { list } from './terminal.ts';

/** What stands behind the name of a command on one order. */
export const orderArgument = { ID: 'The order, as `petstore order list` shows it.' };

/** `petstore order show` */
export const command = storeCommand({
  name: 'order show',
  sentence: 'Shows an order with the steps that it has taken, whoever placed it.',
  arguments: orderArgument,
  examples: [{ line: 'petstore order show 12', sentence: 'how far it is' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database, now }, id) {
    const [{ getOrder }, { operator }] = await Promise.all([
      import('../orders/orders.ts'),
      import('../events/event.ts'),
    ]);
    return orderPrinted(await getOrder(database, operator, id, now));
  },
});

/** An order as a command tells it. */
export async function orderPrinted(found: OrderWithSteps): Promise<CommandOutput> {
  const [{ orderOf }, { operator }] = await Promise.all([import('../orders/rows.ts'), import('../events/event.ts')]);
  const order = orderOf(found, operator);
  return { value: order, text: () => orderText(order) };
}

function orderText(order: Order): string {
  const { id, petId, accountId, status, price, holdId, note, shipDate, createdAt, expiresAt } = order;
  const rows: (readonly [string, string | undefined])[] = [
    ['order', String(id)],
    ['animal', String(petId)],
    ['account', String(accountId)],
    ['status', status],
    ['price', price && priceText(price)],
    ['hold', holdId?.toString()],
    ['note', note],
    ['to leave', shipDate],
    ['placed', createdAt],
    [status === 'expired' ? 'ran out' : 'runs out', expiresAt],
    ['approved', stepText(order.approval)],
    ['delivered', stepText(order.delivery)],
    ['cancelled', stepText(order.cancellation)],
    ['returned', stepText(order.return)],
  ];
  return list(rows.filter((row): row is readonly [string, string] => row[1] !== undefined));
}

function stepText(step: Order['approval']): string | undefined {
  if (step === undefined) return undefined;
  const { at, accountId, note } = step;
  const by = accountId === undefined ? 'the operator' : `account ${accountId}`;
  return `${at} by ${by}${note === undefined ? '' : `: ${note}`}`;
}
