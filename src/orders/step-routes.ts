import { type Deployment, route } from '../deployment.ts';
import type { Actor } from '../events/event.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import type { Route, RouteResponse } from '../lib/http/route.ts';
import { NewOrderReturn, NewOrderStep, Order, OrderId } from './order.ts';
import { type FoundOrder, orderEtag, orderOf } from './order-rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from './order-steps.ts';

/** The parameter of paths that lead to one order. */
export const orderId = {
  schema: OrderId,
  description: 'The identifier of the order.',
  notFound: 'order_not_found',
  absent: 'There is no order with this id.',
};

/** What all steps have in common. */
const step = {
  method: 'POST',
  access: { key: true, scope: 'orders:write' },
  tag: 'Store orders',
  parameters: { orderId },
  bodyOptional: true,
  conditional: true,
  stability: 'beta',
  successes: [
    {
      status: 200,
      description: 'The order as it is now.',
      schema: Order,
      headers: { ETag: 'Its new entity tag.' },
    },
  ],
} as const;

/** The owner agrees. */
const approve = route({
  ...step,
  operation: 'approveOrder',
  path: '/store/orders/{orderId}/approval',
  summary: 'Approve an order',
  description:
    'Approves a placed order, which then does not expire any more. Only the owner of the animal, or an admin, may. ' +
    'A second time it is refused; a retry with the same `Idempotency-Key` is not.',
  body: NewOrderStep,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: [
    {
      name: 'with a note',
      summary: 'The owner agrees',
      given: ['placeOrder: a cat'],
      path: { orderId: '1' },
      body: { note: 'You are welcome to fetch her.' },
      status: 200,
    },
    {
      name: 'without a word',
      summary: 'Nothing has to be said with it',
      given: ['placeOrder: a cat'],
      path: { orderId: '1' },
      status: 200,
    },
    {
      name: 'by who placed it',
      summary: 'Who orders an animal does not approve it',
      given: ['placeOrder: by another account'],
      as: 'stranger',
      path: { orderId: '1' },
      body: {},
      status: 403,
      code: 'not_owner',
    },
    {
      name: 'a second time',
      summary: 'What is approved cannot be approved',
      given: ['placeOrder: a cat', 'approveOrder: with a note'],
      path: { orderId: '1' },
      body: {},
      status: 409,
      code: 'invalid_order_transition',
    },
    {
      name: 'changed meanwhile',
      summary: 'Only the version that was read is approved',
      given: ['placeOrder: a cat', 'cancelOrder: a change of mind'],
      path: { orderId: '1' },
      headers: { 'If-Match': '"1.1"' },
      body: {},
      status: 412,
      code: 'precondition_failed',
    },
  ],
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await approveOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** The animal goes to who ordered it. */
const deliver = route({
  ...step,
  operation: 'deliverOrder',
  path: '/store/orders/{orderId}/delivery',
  summary: 'Deliver an order',
  description:
    'Notes that the animal of an approved order went to who ordered it: the order is complete, the animal is `sold`. ' +
    'Only the owner of the animal, or an admin, may.',
  body: NewOrderStep,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: [
    {
      name: 'an approved order',
      summary: 'The animal was fetched',
      given: ['placeOrder: a cat', 'approveOrder: with a note'],
      path: { orderId: '1' },
      body: { note: 'Fetched by her new family.' },
      status: 200,
    },
    {
      name: 'too early',
      summary: 'What is not approved cannot be delivered',
      given: ['placeOrder: a cat'],
      path: { orderId: '1' },
      body: {},
      status: 409,
      code: 'invalid_order_transition',
    },
  ],
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await deliverOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** One side does not want it any more. */
const cancel = route({
  ...step,
  operation: 'cancelOrder',
  path: '/store/orders/{orderId}/cancellation',
  summary: 'Cancel an order',
  description:
    'Cancels an order that is placed or approved: the animal is `available` again. The account that placed it may, the ' +
    'owner of the animal, and admins.',
  body: NewOrderStep,
  errors: ['order_not_found', 'invalid_order_transition'],
  examples: [
    {
      name: 'a change of mind',
      summary: 'The order is not wanted any more',
      given: ['placeOrder: a cat'],
      path: { orderId: '1' },
      body: { note: 'We found a cat in the neighbourhood.' },
      status: 200,
    },
    {
      name: 'too late',
      summary: 'What is delivered can be returned, and not cancelled',
      given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
      path: { orderId: '1' },
      body: {},
      status: 409,
      code: 'invalid_order_transition',
    },
  ],
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await cancelOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** The animal comes back. */
const takeBack = route({
  ...step,
  operation: 'returnOrder',
  path: '/store/orders/{orderId}/return',
  summary: 'Take an animal back',
  description:
    'Notes that a delivered animal came back: it is `available` again, or `pending` where it is not `ready` yet. An animal ' +
    'that was taken out of the store, is not sold any more, or was sold by a later order stays as it is. Only the owner of the animal, or an admin, may.',
  body: NewOrderReturn,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: [
    {
      name: 'not ready yet',
      summary: 'The animal is back and sees the vet first',
      given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
      path: { orderId: '1' },
      body: { note: 'Allergies in the family.', ready: false },
      status: 200,
    },
    {
      name: 'ready at once',
      summary: 'The animal is available again',
      given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
      path: { orderId: '1' },
      status: 200,
    },
    {
      name: 'not delivered',
      summary: 'What was not delivered is cancelled instead',
      given: ['placeOrder: a cat'],
      path: { orderId: '1' },
      body: {},
      status: 409,
      code: 'invalid_order_transition',
    },
  ],
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await returnOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** The steps of an order. */
export const stepRoutes: readonly Route<Deployment>[] = [approve, deliver, cancel, takeBack];

/** An order as the answer to somebody who may see it. */
export function answerOf(order: FoundOrder, caller: Actor): RouteResponse {
  return { body: orderOf(order, caller), headers: ['ETag', orderEtag(order)] };
}
