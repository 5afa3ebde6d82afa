import { type Deployment, listOperation, nowOf, operation } from '../../access/deployment.ts';
import { type withIdempotency, withIdempotencyAfter } from '../../access/idempotency/idempotency.ts';
import type { Caller } from '../../lib/http/route.ts';
import { idParameter } from '../../lib/schemas.ts';
import { durationIn, formatTime, parseTime } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import {
  Deliveries,
  Delivery,
  DeliveryId,
  DeliveryStatus,
  deliveryOf,
  NewRedelivery,
  Redelivery,
} from '../../model/delivery.ts';
import { requireEither } from '../../model/errors.ts';
import { EventId } from '../../model/public-event.ts';
import { DELIVERY_TIMEOUT_MS } from '../../model/rules.ts';
import { settingTree } from '../../model/settings.ts';
import { Webhook, webhookEtag, webhookId } from '../../model/webhook.ts';
import { webhookResponse } from '../webhooks/routes.ts';
import { getWebhook } from '../webhooks/webhooks.ts';
import { activateTested, testForActivation } from './activate-webhook.ts';
import { getDelivery, listDeliveries } from './deliveries.ts';
import { activateExamples, getExamples, listExamples, redeliverExamples, testExamples } from './examples.ts';
import { ownerActorOf, prepareRedelivery, redeliverEvent, redeliverSince } from './redeliveries.ts';
import { sendTest, storeTest } from './test-delivery.ts';

export const list = listOperation({
  summary: 'List deliveries',
  description:
    'Returns the deliveries to a webhook, newest first. To get the events of `failed` deliveries, deliver them again. ' +
    `Finished deliveries are retained as long as events, ${settingTree.eventsDays.default} days. Deliveries of events that the scopes of your key do not ` +
    'allow are left out, so a page can be short or empty and still have a next page.',
  parameters: { webhookId },
  noun: 'deliveries',
  filters: {
    status: Type.Optional(DeliveryStatus),
    eventId: Type.Optional(Type.String({ ...EventId, description: 'Only the deliveries of this event.' })),
  },
  schema: Deliveries,
  examples: listExamples,
  async handle({ context, caller, path, filters, page }) {
    const { id } = await getWebhook(context.database, caller, path.webhookId);
    const { rows, ...links } = await listDeliveries(context.database, caller, id, filters, page);
    return { rows: rows.map(deliveryOf), ...links };
  },
});

export const get = operation({
  summary: 'Get a delivery',
  description: 'Returns one delivery to a webhook, with the beginning of the response to each attempt.',
  parameters: {
    webhookId,
    deliveryId: idParameter('delivery', DeliveryId),
  },
  successes: [{ status: 200, description: 'The delivery, with every attempt.', schema: Delivery }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    const { database } = context;
    const { id } = await getWebhook(database, caller, path.webhookId);
    return { body: deliveryOf(await getDelivery(database, caller, id, path.deliveryId)) };
  },
});

export const test = operation({
  summary: 'Test a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`), whatever the status of the webhook, and waits for the outcome: at most ' +
    `${durationIn('second', DELIVERY_TIMEOUT_MS)} for a free connection and ${durationIn('second', DELIVERY_TIMEOUT_MS)} for the response. The webhook does not change.`,
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The delivery with its one attempt.', schema: Delivery, untagged: true }],
  errors: ['webhook_test_running'],
  examples: testExamples,
  handle(request) {
    const { context, caller, path } = request;
    return withIdempotencyAfter(
      request,
      async () => {
        const webhook = await getWebhook(context.database, caller, path.webhookId);
        return sendTest(context.database, context.webhooks, webhook, nowOf(context), request.isStillAuthorized);
      },
      async (tx, result) => ({ body: deliveryOf(await storeTest(tx, path.webhookId, result)) }),
    );
  },
});

export const activate = operation({
  summary: 'Activate a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) and waits for the outcome. If the receiver responds with 200–299, the ' +
    'webhook becomes `active`: it receives the events from now on, and its pending deliveries continue. Otherwise it does ' +
    'not change, and the error message gives the reason. Also enables a `disabled` webhook. An active webhook is not tested again.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 200, description: 'The updated webhook.', schema: Webhook }],
  errors: ['webhook_test_failed', 'webhook_test_running'],
  examples: activateExamples,
  async handle(request) {
    const { context, caller, path, checkPreconditions } = request;
    const { database } = context;
    const response = await withIdempotencyAfter(
      request,
      async () => {
        const webhook = await getWebhook(database, caller, path.webhookId);
        checkPreconditions(webhookEtag(webhook));
        if (webhook.status === 'active') return webhook;
        await testForActivation(context, webhook, request.isStillAuthorized);
        return webhook;
      },
      async (tx, tested) => webhookResponse(await activateTested(tx, caller, tested, checkPreconditions)),
    );
    context.webhooks.wake?.();
    return response;
  },
});

export const redeliver = operation({
  summary: 'Deliver events again',
  description:
    'Delivers events to an active webhook again. With `eventId`: that event, even if the webhook does not subscribe to its ' +
    'type or category. With `since`: all subscribed events that were recorded from that time until now; a webhook has one ' +
    'such redelivery at a time, which creates its deliveries in batches as earlier deliveries finish. A redelivery has the same ' +
    '`webhook-id`, and follows the pending deliveries about the same resource (an animal together with its orders).',
  parameters: { webhookId },
  body: NewRedelivery,
  successes: [{ status: 202, description: 'The events will be delivered.', schema: Redelivery, untagged: true }],
  errors: ['webhook_not_active', 'event_not_found', 'events_expired', 'redelivery_running', 'delivery_limit_exceeded'],
  examples: redeliverExamples,
  async handle(request) {
    const { eventId, since } = request.body;
    requireEither({ eventId, since }, 'eventId', 'since');
    const response = await (since === undefined
      ? respondToEvent(request, eventId!)
      : respondToSince(request, parseTime(since)!));
    request.context.webhooks.wake?.();
    return response;
  },
});

type RedeliveryRequest = Parameters<typeof withIdempotency>[0] & {
  readonly context: Deployment;
  readonly caller: Caller;
  readonly path: { readonly webhookId: number };
};

function respondToEvent(request: RedeliveryRequest, eventId: string) {
  const { context, caller, path } = request;
  return withIdempotencyAfter(
    request,
    async () => {
      const webhook = await getWebhook(context.database, caller, path.webhookId);
      return ownerActorOf(context, webhook);
    },
    async (tx, owner) => {
      await redeliverEvent(tx, caller, path.webhookId, eventId, owner, tx.now - context.eventsKeptMs);
      return { body: { eventId } };
    },
  );
}

function respondToSince(request: RedeliveryRequest, since: number) {
  const { context, caller, path } = request;
  return withIdempotencyAfter(
    request,
    () => prepareRedelivery(context, since),
    async tx => {
      const { id } = await redeliverSince(tx, caller, path.webhookId, since, tx.now - context.eventsKeptMs);
      return { body: { id, since: formatTime(since) } };
    },
  );
}
