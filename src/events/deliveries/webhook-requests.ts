import { header } from '../../lib/http/openapi/headers.ts';
import type { WebhookRequest } from '../../lib/http/openapi/types.ts';
import { timeSchema } from '../../lib/schemas.ts';
import { Type } from '../../lib/type.ts';
import { WebhookId } from '../../model/webhook.ts';
import { eventSchemas } from '../public/event-schemas.ts';

/** The member that Standard Webhooks adds to an event. */
const timestamp = timeSchema('When the event happened: the same as `time`.');

const TestEvent = Type.Object(
  {
    type: Type.Enum(['webhook.test'], { description: 'No event has this type.' }),
    timestamp: timeSchema('When the test was sent.'),
    time: timeSchema('The same.'),
    id: Type.String({ description: 'Identifies the test.', examples: ['test_8e03978e-40d5-43e8-bc93-6894a57f9324'] }),
    data: Type.Object({ id: WebhookId }),
  },
  { title: 'WebhookTestEvent', description: 'A test of a webhook.' },
);

const common = {
  headers: {
    'webhook-id': header('The id of the event; equal for all attempts, so that you can ignore repeated deliveries.'),
    'webhook-timestamp': header('When the request was signed, in Unix seconds. Reject old timestamps.'),
    'webhook-signature': header(
      'One signature for each valid secret, separated by spaces: `v1,` and the base64 of an HMAC-SHA256 of `webhook-id`, ' +
        '`webhook-timestamp` and the body, joined by dots (Standard Webhooks).',
    ),
  },
  responses: {
    '2XX': 'The delivery is accepted. Every other status is retried with backoff.',
    '410': 'The endpoint is gone: the service disables the webhook.',
  },
};

/** The requests that receivers get: one for each kind of event, and the test delivery. */
export const webhookRequests: Readonly<Record<string, WebhookRequest>> = {
  ...Object.fromEntries(
    Object.entries(eventSchemas).map(([kind, schema]) => [
      `${kind}Event`,
      {
        ...common,
        summary: `Receive an event of the kind ${kind}`,
        description: 'The event as `listEvents` shows it to the account of the webhook, with a `timestamp`.',
        schema: Type.Object({ ...schema.properties, timestamp }),
      },
    ]),
  ),
  testEvent: {
    ...common,
    summary: 'Receive a test',
    description: 'Sent by `testWebhook` and `activateWebhook`.',
    schema: TestEvent,
  },
};
