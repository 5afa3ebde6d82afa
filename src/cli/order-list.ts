import type { OrderFilter } from '../orders/filter.ts';
import type { Order } from '../orders/order.ts';
import { priceText } from './money.ts';
import { readOptionalId, storeCommand } from './store-command.ts';
import { listed, readPages, readSection, readSeveral, sectionOptions } from './store-list.ts';

/** `petstore order list` */
export const command = storeCommand({
  name: 'order list',
  sentence: 'Lists orders, by id.',
  options: {
    status: {
      sentence: 'Only orders that are so far; several, with commas or given several times, are alternatives.',
      value: 'STATUS',
      choices: ['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'],
      repeatable: true,
    },
    pet: { sentence: 'Only orders of this animal.', value: 'ID' },
    ...sectionOptions,
  },
  examples: [
    { line: 'petstore order list --status placed', sentence: 'what waits for approval' },
    { line: 'petstore order list --status placed,approved', sentence: 'what is not delivered yet' },
    { line: 'petstore order list --pet 7 --json', sentence: 'for a program' },
  ],
  read: call => {
    const filter: OrderFilter = {
      status: readSeveral(call.options['status']),
      petId: readOptionalId('--pet', call.options['pet']),
    };
    return { filter, section: readSection(call) };
  },
  async work({ database, now }, { filter, section }) {
    const [{ listOrders }, { orderOf }, { operator }] = await Promise.all([
      import('../orders/list.ts'),
      import('../orders/rows.ts'),
      import('../events/event.ts'),
    ]);
    const found = await readPages(section, async (limit, cursor) => {
      const { orders, next } = await listOrders(database, operator, filter, limit, cursor, now);
      return { items: orders.map(order => orderOf(order, operator)), next };
    });
    const all = filter.status === undefined && filter.petId === undefined && section.cursor === undefined;
    return listed(found, columns, all ? NONE : NONE_SUCH);
  },
});

const columns = {
  ID: (order: Order) => String(order.id),
  ANIMAL: (order: Order) => String(order.petId),
  ACCOUNT: (order: Order) => String(order.accountId),
  STATUS: (order: Order) => order.status,
  PRICE: (order: Order) => (order.price === undefined ? '-' : priceText(order.price)),
  PLACED: (order: Order) => order.createdAt,
  'RUNS OUT': (order: Order) => order.expiresAt ?? '-',
};

const NONE = 'There are no orders; `petstore order place --account ID --pet ID` places one.';
const NONE_SUCH = 'There are no such orders; `petstore order list` lists all that there are.';
