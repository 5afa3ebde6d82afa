import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import { PetId } from '../pets/pet.ts';
import { getExamples, listExamples, placeExamples } from './examples.ts';
import { listOrders } from './list.ts';
import { NewOrder, Order, OrderStatus, Orders } from './order.ts';
import { getOrder, placeOrder } from './orders.ts';
import { orderEtag, orderOf } from './rows.ts';
import { answerOf, orderId } from './step-routes.ts';

/** A page of orders. */
export const list = operation({
  summary: 'List orders',
  description:
    'Returns a paginated list of the orders that the account of the key placed and of those of its animals, by id ' +
    'ascending; all orders for admins. Follow the `next` link of the `Link` header, or `x-next`, until there is none. ' +
    'A list of the orders of one animal looks at 20,000 orders a page: such a page may be short, even empty, and still have a next one.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of orders returned.' }),
    ),
    status: Type.Optional(
      Type.Array(OrderStatus, {
        minItems: 1,
        maxItems: 6,
        description: 'Only orders with this status; several values are alternatives.',
      }),
    ),
    petId: Type.Optional(Type.Integer({ ...PetId, description: 'Only the orders of this animal.' })),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Where to read on: taken from a link, opaque, good only with the same filters.',
      }),
    ),
  }),
  successes: [
    {
      status: 200,
      description: 'A page of orders.',
      schema: Orders,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: ['invalid_parameter'],
  extensions: { 'x-hideTryItPanel': true },
  examples: listExamples,
  async handle({ context, caller, query, url, baseUrl }) {
    const { limit = 20, cursor, ...filter } = query;
    const { orders, ...neighbours } = await listOrders(context.database, caller, filter, limit, cursor, nowOf(context));
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: orders.map(order => orderOf(order, caller)),
      headers: pageHeaders(`${baseUrl}/store/orders${mark < 0 ? '' : url.slice(mark)}`, neighbours),
    };
  },
});

/** Orders an animal. */
export const place = operation({
  summary: 'Order an animal',
  description:
    'Orders an animal for the account of the key, at the price that the animal has now. From then on the animal is ' +
    '`pending`; of all that order it at once, one gets it. Its owner has seven days to approve, then the order expires and the animal is ' +
    'available again. An animal that is on hold for the account is ordered with its `holdId`; the other animals of the hold stay on hold. ' +
    'The answer comes once the order is on disk.',
  body: NewOrder,
  successes: [
    {
      status: 201,
      description: 'The order, with the id that was assigned.',
      schema: Order,
      headers: { Location: 'The URL of the order.', ETag: 'Its entity tag.' },
    },
  ],
  errors: ['pet_not_found', 'pet_reserved', 'invalid_status_transition', 'hold_not_found', 'hold_ended'],
  examples: placeExamples,
  handle(call) {
    const { caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const order = await placeOrder(tx, caller, body);
      return {
        body: orderOf(order, caller),
        headers: ['Location', `${baseUrl}/store/orders/${order.id}`, 'ETag', orderEtag(order)],
      };
    });
  },
});

/** One order by its id. */
export const get = operation({
  summary: 'Get an order',
  description:
    'Fetches an order with the steps that it has taken. It is there for the account that placed it, for the owner of the ' +
    'animal and for admins; to anyone else it does not exist.',
  parameters: { orderId },
  successes: [{ status: 200, description: 'The order.', schema: Order }],
  errors: ['order_not_found'],
  examples: getExamples,
  async handle({ context, caller, path }) {
    return answerOf(await getOrder(context.database, caller, path.orderId, nowOf(context)), caller);
  },
});
