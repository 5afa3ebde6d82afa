import { listOperation, nowOf, operation } from '../../access/deployment.ts';
import { sharedWithOthers, withIdempotency } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import type { Operation, RouteResponse } from '../../lib/http/route.ts';
import { anyOfFilter, idParameter, idSchema } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import type { Actor } from '../../model/log/event.ts';
import { NewOrder, NewOrderReturn, NewOrderStep, Order, OrderId, OrderStatus, Orders } from '../../model/order.ts';
import { boundOf } from '../../model/plan.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import * as examples from './examples.ts';
import { listOrders } from './list.ts';
import { getOrder, placeOrder } from './orders.ts';
import { type OrderWithSteps, orderOf } from './rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder, type TakeStep } from './steps.ts';

const orderId = idParameter('order', OrderId);

export const list = listOperation({
  summary: 'List orders',
  description:
    'Returns the orders that your account placed and the orders of its animals, sorted by id; admins see all orders. ' +
    '`role` restricts the list to the orders that your account placed, or to the orders of its animals. Follow the `next` link of the `Link` header, or `x-next`, until there is none.',
  limits: `With \`petId\`, a page scans at most ${countText(SCAN_LIMIT)} orders, so it may be short or even empty and still have a next page.`,
  noun: 'orders',
  filters: {
    status: anyOfFilter(OrderStatus, 6, 'Only orders with one of these statuses.'),
    petId: Type.Optional(idSchema('Only orders of this animal.')),
    role: Type.Optional(
      Type.Enum(['placer', 'owner'], {
        description: 'Only orders that your account placed (`placer`), or only orders of its animals (`owner`).',
      }),
    ),
  },
  schema: Orders,
  // Only listOrders of the contract has it.
  extensions: { 'x-hideTryItPanel': true },
  examples: examples.listExamples,
  async handle({ context, caller, filters, page }) {
    const { rows, ...links } = await listOrders(context.database, caller, filters, page, nowOf(context));
    return { rows: rows.map(order => orderOf(order, caller)), ...links };
  },
});

export const place = operation({
  summary: 'Order an animal',
  description:
    'Orders an animal for your account, at its current price; or, with `petIds`, all animals of a bonded group, at the sum of their prices. The animal is `pending` from then on; of several ' +
    `concurrent orders of an animal, one succeeds. The owner of the animal has ${durationIn('day', APPROVAL_PERIOD_MS, 'words')} to approve the order; then the ` +
    'order expires and the animal is available again. To order an animal that is on hold for you, send its `holdId`; the other ' +
    'animals of the hold stay on hold. The number of open orders of an account, placed or approved, is bounded by its ' +
    'plan. The response is sent after the order is on disk.',
  body: NewOrder,
  successes: [
    {
      status: 201,
      description: 'The order, with its id.',
      schema: Order,
      headers: { Location: 'The URL of the order.', ETag: 'The entity tag of the order.' },
    },
  ],
  errors: [
    'pet_not_found',
    'bonded_animals',
    'pet_reserved',
    'invalid_status_transition',
    'hold_not_found',
    'hold_ended',
    'order_limit_exceeded',
  ],
  examples: examples.placeExamples,
  handle(request) {
    const { context, caller, body, baseUrl } = request;
    const openMax = boundOf(context.bounds, caller, 'openOrders');
    return withIdempotency(
      request,
      async tx => {
        const order = await placeOrder(tx, caller, body, openMax);
        return {
          body: orderOf(order, caller),
          headers: ['Location', `${baseUrl}/store/orders/${order.id}`, 'ETag', etagOf(order)],
        };
      },
      sharedWithOthers,
    );
  },
});

export const get = operation({
  summary: 'Get an order',
  description:
    'Returns an order with the steps that it has taken, to the account that placed it, to the owner of the animal and to ' +
    'admins. For other accounts it does not exist.',
  parameters: { orderId },
  successes: [{ status: 200, description: 'The order.', schema: Order }],
  errors: ['order_not_found'],
  examples: examples.getExamples,
  async handle({ context, caller, path }) {
    return responseOf(await getOrder(context.database, caller, path.orderId, nowOf(context)), caller);
  },
});

export const approve = stepOperation(approveOrder, NewOrderStep, {
  summary: 'Approve an order',
  description:
    'Approves a placed order, which then no longer expires. Only the owner of the animal or an admin can do this. A ' +
    'second approval fails; a retry with the same `Idempotency-Key` succeeds.',
  errors: ['not_owner'],
  examples: examples.approveExamples,
});

export const deliver = stepOperation(deliverOrder, NewOrderStep, {
  summary: 'Deliver an order',
  description:
    'Records that the animal of an approved order was handed over: the order is complete, the animal is `sold`. Only the ' +
    'owner of the animal or an admin can do this.',
  errors: ['not_owner'],
  examples: examples.deliverExamples,
});

export const cancel = stepOperation(cancelOrder, NewOrderStep, {
  frees: true,
  summary: 'Cancel an order',
  description:
    'Cancels a placed or approved order: the animal is `available` again. The account that placed it, the owner of the ' +
    'animal or an admin can do this.',
  errors: [],
  examples: examples.cancelExamples,
});

export const returnPet = stepOperation(returnOrder, NewOrderReturn, {
  summary: 'Return an animal',
  description:
    'Records that the animal of a delivered order came back: it is `available` again, or `pending` if it is not `ready`. ' +
    'An animal that was deleted, is no longer sold or was sold again by a later order stays as it is. Only the owner of ' +
    'the animal or an admin can do this.',
  errors: ['not_owner'],
  examples: examples.returnExamples,
});

function stepOperation(
  takeStep: TakeStep,
  body: typeof NewOrderStep | typeof NewOrderReturn,
  { errors, ...definition }: Pick<Operation<never>, 'summary' | 'description' | 'frees' | 'errors' | 'examples'>,
) {
  return operation({
    ...definition,
    parameters: { orderId },
    body,
    bodyOptional: true,
    conditional: true,
    successes: [
      {
        status: 200,
        description: 'The order after the step.',
        schema: Order,
        headers: { ETag: 'The new entity tag of the order.' },
      },
    ],
    errors: ['order_not_found', ...errors, 'invalid_order_transition'],
    handle(request) {
      const { caller, path, body, checkPreconditions } = request;
      return withIdempotency(request, async tx =>
        responseOf(await takeStep(tx, caller, path.orderId, body, checkPreconditions), caller),
      );
    },
  });
}

function responseOf(order: OrderWithSteps, caller: Actor): RouteResponse {
  return { body: orderOf(order, caller), headers: ['ETag', etagOf(order)] };
}
