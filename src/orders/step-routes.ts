import { operation } from '../deployment.ts';
import type { Actor } from '../events/event.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import { approveExamples, cancelExamples, deliverExamples, takeBackExamples } from './examples.ts';
import { NewOrderReturn, NewOrderStep, Order, OrderId } from './order.ts';
import { type OrderWithSteps, orderEtag, orderOf } from './rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from './steps.ts';

/** The parameter of paths that lead to one order. */
export const orderId = {
  schema: OrderId,
  description: 'The identifier of the order.',
  notFound: 'order_not_found',
  absent: 'There is no order with this id.',
};

/** What all steps have in common. */
const step = {
  parameters: { orderId },
  bodyOptional: true,
  conditional: true,
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
export const approve = operation({
  ...step,
  summary: 'Approve an order',
  description:
    'Approves a placed order, which then does not expire any more. Only the owner of the animal, or an admin, may. ' +
    'A second time it is refused; a retry with the same `Idempotency-Key` is not.',
  body: NewOrderStep,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: approveExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await approveOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** The animal goes to who ordered it. */
export const deliver = operation({
  ...step,
  summary: 'Deliver an order',
  description:
    'Notes that the animal of an approved order went to who ordered it: the order is complete, the animal is `sold`. ' +
    'Only the owner of the animal, or an admin, may.',
  body: NewOrderStep,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: deliverExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await deliverOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** One side does not want it any more. */
export const cancel = operation({
  ...step,
  summary: 'Cancel an order',
  description:
    'Cancels an order that is placed or approved: the animal is `available` again. The account that placed it may, the ' +
    'owner of the animal, and admins.',
  body: NewOrderStep,
  errors: ['order_not_found', 'invalid_order_transition'],
  examples: cancelExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await cancelOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** The animal comes back. */
export const takeBack = operation({
  ...step,
  summary: 'Take an animal back',
  description:
    'Notes that a delivered animal came back: it is `available` again, or `pending` where it is not `ready` yet. An animal ' +
    'that was taken out of the store, is not sold any more, or was sold by a later order stays as it is. Only the owner of the animal, or an admin, may.',
  body: NewOrderReturn,
  errors: ['order_not_found', 'not_owner', 'invalid_order_transition'],
  examples: takeBackExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await returnOrder(tx, caller, path.orderId, body, expect), caller),
    );
  },
});

/** An order as the answer to somebody who may see it. */
export function answerOf(order: OrderWithSteps, caller: Actor): RouteResponse {
  return { body: orderOf(order, caller), headers: ['ETag', orderEtag(order)] };
}
