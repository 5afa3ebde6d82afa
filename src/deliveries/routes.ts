import Type from 'typebox';
import { type Deployment, nowOf, operation } from '../deployment.ts';
import { problem } from '../errors.ts';
import { putInOrder } from '../events/log.ts';
import { EventId } from '../events/public/public-event.ts';
import { type withIdempotency, withIdempotencyAfter } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Problem } from '../lib/http/problem.ts';
import type { Caller } from '../lib/http/route.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { getWebhook } from '../webhooks/get-webhook.ts';
import { adminsOf } from '../webhooks/subscriptions.ts';
import {
  Deliveries,
  Delivery,
  DeliveryId,
  DeliveryStatus,
  NewRedelivery,
  Redelivery,
  webhookId,
} from '../webhooks/webhook.ts';
import { deliveryOf, getDelivery, listDeliveries } from './deliveries.ts';
import { getExamples, listExamples, redeliverExamples, testExamples } from './examples.ts';
import { redeliverEvent, redeliverSince } from './redeliveries.ts';
import { keepTest, sendTest, testMeansOf } from './test-delivery.ts';

const common = {} as const;

/** Sends a test delivery. */
export const test = operation({
  ...common,
  summary: 'Test a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) now, whatever the status of the webhook, and waits for it: 15 seconds, ' +
    'and no longer than that for a free connection. The answer says what the receiver answered, or why it did not; the webhook stays as it is.',
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The delivery with its one attempt.', schema: Delivery, untagged: true }],
  errors: ['webhook_test_running'],
  examples: testExamples,
  handle(call) {
    const { context, caller, path } = call;
    return withIdempotencyAfter(
      call,
      async () => {
        const webhook = await getWebhook(context.database, caller, path.webhookId);
        return sendTest(testMeansOf(context), webhook);
      },
      async (tx, result) => {
        return { body: deliveryOf(await keepTest(tx, path.webhookId, result)) };
      },
    );
  },
});

/** A page of deliveries. */
export const list = operation({
  ...common,
  summary: 'List deliveries',
  description:
    'Returns the deliveries to a webhook, the newest first. Those that `failed` are what its receiver has missed: have ' +
    'them delivered again. What is done with is kept for as long as events are told, 30 days.',
  parameters: { webhookId },
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of deliveries returned.' }),
    ),
    status: Type.Optional(DeliveryStatus),
    eventId: Type.Optional(Type.String({ ...EventId, description: 'Only the deliveries of this event.' })),
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
      description: 'A page of deliveries.',
      schema: Deliveries,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: [],
  examples: listExamples,
  async handle({ context, caller, path, query, url, baseUrl }) {
    const { limit = 20, cursor, ...filter } = query;
    const { id } = await getWebhook(context.database, caller, path.webhookId);
    const page = await listDeliveries(context.database, id, filter, limit, cursor);
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: page.rows.map(deliveryOf),
      headers: pageHeaders(`${baseUrl}/webhooks/${id}/deliveries${mark < 0 ? '' : url.slice(mark)}`, page),
    };
  },
});

/** One delivery by its id. */
export const get = operation({
  ...common,
  summary: 'Get a delivery',
  description: 'Fetches one delivery to a webhook, with what was answered to every attempt.',
  parameters: {
    webhookId,
    deliveryId: {
      schema: DeliveryId,
      description: 'The identifier of the delivery.',
      notFound: 'delivery_not_found',
      absent: 'There is no delivery with this id.',
    },
  },
  successes: [{ status: 200, description: 'The delivery, with every attempt.', schema: Delivery }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    const { database } = context;
    const { id } = await getWebhook(database, caller, path.webhookId);
    return { body: deliveryOf(await getDelivery(database, id, path.deliveryId)) };
  },
});

/** Has events delivered once more. */
export const redeliver = operation({
  ...common,
  summary: 'Deliver events again',
  description:
    'Has events delivered to an active webhook once more, whether or not they were before: with `eventId` that one, also ' +
    'where the webhook does not ask for its type or category; with `since` everything that the webhook asks for, of what ' +
    'was written down from that time until now. They have the `webhook-id` that they had before, and wait behind what ' +
    'waits of the same thing. A webhook has one redelivery since a time at once.',
  parameters: { webhookId },
  body: NewRedelivery,
  successes: [{ status: 202, description: 'They will be delivered.', schema: Redelivery, untagged: true }],
  errors: ['webhook_not_active', 'event_not_found', 'events_expired', 'redelivery_running'],
  examples: redeliverExamples,
  async handle(call) {
    const { context, body } = call;
    const { eventId, since } = body;
    if ((eventId === undefined) === (since === undefined)) throw notOne();
    const answer = await (eventId === undefined
      ? onceSince(call, since!)
      : withIdempotencyAfter(
          call,
          () => ownerOf(call),
          async (tx, owner) => {
            const keptFrom = tx.now - context.eventsKeptMs;
            await redeliverEvent(tx, call.caller, call.path.webhookId, eventId, owner, keptFrom);
            return { body: { eventId } };
          },
        ));
    context.webhooks.wake?.();
    return answer;
  },
});

type RedeliveryCall = Parameters<typeof withIdempotency>[0] & {
  readonly context: Deployment;
  readonly caller: Caller;
  readonly path: { readonly webhookId: number };
};

/** Whose view of the events a webhook has. */
async function ownerOf({ context, caller, path }: RedeliveryCall) {
  const { accountId } = await getWebhook(context.database, caller, path.webhookId);
  return { accountId, admin: (await adminsOf(context.webhooks.registry, [accountId])).has(accountId) };
}

function onceSince(call: RedeliveryCall, text: string) {
  const { context, caller, path } = call;
  const since = parseTime(text)!;
  const now = nowOf(context);
  if (since > now) throw inFuture(now);
  return withIdempotencyAfter(
    call,
    // What was committed before now is among it.
    () => putInOrder(context.database),
    async tx => {
      const { id } = await redeliverSince(tx, caller, path.webhookId, since, tx.now - context.eventsKeptMs);
      return { body: { id, since: formatTime(since) } };
    },
  );
}

function notOne(): Problem {
  const message = 'Must have either eventId or since.';
  return problem('invalid_body', `Invalid body. ${message}`, {
    errors: [{ path: '', code: 'invalid_value', message }],
  });
}

function inFuture(now: number): Problem {
  const message = `Must be a time up to now, which is ${formatTime(now)}.`;
  return problem('invalid_body', `Invalid body. /since: ${message}`, {
    errors: [{ path: '/since', code: 'out_of_range', message }],
  });
}
