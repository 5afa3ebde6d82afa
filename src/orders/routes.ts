import Type from 'typebox';
import { type Deployment, nowOf, route } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route } from '../lib/http/route.ts';
import { PetId } from '../pets/pet.ts';
import { countByStatus } from '../pets/pet-counts.ts';
import { listOrders } from './list-orders.ts';
import { Inventory, NewOrder, Order, OrderStatus, Orders } from './order.ts';
import { orderEtag, orderOf } from './order-rows.ts';
import { getOrder, placeOrder } from './orders.ts';
import { answerOf, orderId, stepRoutes } from './step-routes.ts';

/** A page of orders. */
const list = route({
  operation: 'listOrders',
  method: 'GET',
  path: '/store/orders',
  access: { key: true, scope: 'orders:read' },
  tag: 'Store orders',
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
  examples: [
    {
      name: 'first page',
      summary: 'The first twenty orders',
      given: ['placeOrder: a cat', 'approveOrder: with a note', 'placeOrder: a dog with a date'],
      status: 200,
    },
    {
      name: 'those to approve',
      summary: 'What is placed and waits for approval',
      given: ['placeOrder: a cat', 'approveOrder: with a note', 'placeOrder: a dog with a date'],
      query: 'status=placed',
      status: 200,
    },
    {
      name: 'of one animal',
      summary: 'What became of the orders of an animal',
      given: ['placeOrder: a cat', 'cancelOrder: a change of mind'],
      query: 'petId=1&status=cancelled&status=expired',
      status: 200,
    },
    {
      name: 'no such status',
      summary: 'A status that orders do not have',
      query: 'status=sold',
      status: 400,
      code: 'invalid_parameter',
    },
  ],
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
const place = route({
  operation: 'placeOrder',
  method: 'POST',
  path: '/store/orders',
  access: { key: true, scope: 'orders:write' },
  tag: 'Store orders',
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
  examples: [
    { name: 'a cat', summary: 'Only what is required', body: { petId: 1 }, status: 201 },
    {
      name: 'a dog with a date',
      summary: 'With a day on which the animal is to leave, and a note',
      body: { petId: 3, shipDate: '2026-11-24T09:00:00Z', note: 'Rex comes with his basket.' },
      status: 201,
    },
    {
      name: 'from a hold',
      summary: 'One of two cats that are on hold for the account; the other one stays on hold',
      given: ['createHold: two cats'],
      body: { petId: 1, holdId: 1 },
      status: 201,
    },
    {
      name: 'by another account',
      summary: 'Anybody with a key orders; the owner of the animal sees it and approves',
      as: 'stranger',
      body: { petId: 1, note: 'For my grandmother.' },
      status: 201,
    },
    {
      name: 'ordered already',
      summary: 'Somebody else was first; `Retry-After` says when the animal may be free',
      given: ['placeOrder: a cat'],
      as: 'stranger',
      body: { petId: 1 },
      status: 409,
      code: 'pet_reserved',
    },
    {
      name: 'sold',
      summary: 'An animal that is sold',
      body: { petId: 4 },
      status: 409,
      code: 'invalid_status_transition',
    },
    {
      name: 'an ended hold',
      summary: 'A hold that was released',
      given: ['createHold: two cats', 'releaseHold: a hold'],
      body: { petId: 1, holdId: 1 },
      status: 409,
      code: 'hold_ended',
    },
    {
      name: 'no such animal',
      summary: 'An id that no animal has',
      body: { petId: 999999999 },
      status: 404,
      code: 'pet_not_found',
    },
    {
      name: 'two of a kind',
      summary: 'There is only one of each',
      body: { petId: 1, quantity: 2 },
      status: 400,
      code: 'invalid_body',
    },
  ],
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
const get = route({
  operation: 'getOrder',
  method: 'GET',
  path: '/store/orders/{orderId}',
  access: { key: true, scope: 'orders:read' },
  tag: 'Store orders',
  summary: 'Get an order',
  description:
    'Fetches an order with the steps that it has taken. It is there for the account that placed it, for the owner of the ' +
    'animal and for admins; to anyone else it does not exist.',
  parameters: { orderId },
  successes: [{ status: 200, description: 'The order.', schema: Order }],
  errors: ['order_not_found'],
  examples: [
    {
      name: 'one order',
      summary: 'An order that was approved',
      given: ['placeOrder: a cat', 'approveOrder: with a note'],
      path: { orderId: '1' },
      status: 200,
    },
    {
      name: 'of somebody else',
      summary: 'An order of other accounts is not there',
      given: ['placeOrder: a cat'],
      as: 'stranger',
      path: { orderId: '1' },
      status: 404,
      code: 'order_not_found',
    },
  ],
  async handle({ context, caller, path }) {
    return answerOf(await getOrder(context.database, caller, path.orderId, nowOf(context)), caller);
  },
});

/** How many animals there are. */
const inventory = route({
  operation: 'getInventory',
  method: 'GET',
  path: '/store/inventory',
  access: { key: true, scope: 'pets:read' },
  tag: 'Store orders',
  summary: 'Count the animals by status',
  description:
    'How many animals there are in each status, exactly: an animal whose hold or order has run out counts as available from that very moment.',
  successes: [{ status: 200, description: 'The numbers.', schema: Inventory }],
  errors: [],
  examples: [
    {
      name: 'of a small store',
      summary: 'Four animals, one of them ordered',
      given: ['placeOrder: a cat'],
      status: 200,
    },
  ],
  async handle({ context }) {
    return { body: await countByStatus(context.database, nowOf(context)) };
  },
});

/** Every operation on orders, and the inventory. */
export const orderRoutes: readonly Route<Deployment>[] = [list, place, get, ...stepRoutes, inventory];
