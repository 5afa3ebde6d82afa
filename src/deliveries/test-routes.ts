import { type Deployment, nowOf, operation } from '../deployment.ts';
import { assignPositions } from '../events/ordering.ts';
import { withIdempotencyAfter } from '../idempotency/idempotency.ts';
import { webhookResponse } from '../webhooks/routes.ts';
import { Webhook, webhookEtag, webhookId } from '../webhooks/webhook.ts';
import { getWebhook } from '../webhooks/webhooks.ts';
import { activateTested } from './activate-webhook.ts';
import { deliveryOf } from './deliveries.ts';
import { Delivery } from './delivery.ts';
import { activateExamples, testExamples } from './examples.ts';
import { requireSuccess, sendTest, storeTest, type TestDeps } from './test-delivery.ts';

/** Sends a test delivery. */
export const test = operation({
  summary: 'Test a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) and waits for the outcome, whatever the status of the webhook: at most ' +
    '15 seconds for a free connection and 15 seconds for the response. The webhook does not change.',
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The delivery with its one attempt.', schema: Delivery, untagged: true }],
  errors: ['webhook_test_running'],
  examples: testExamples,
  handle(request) {
    const { context, caller, path } = request;
    return withIdempotencyAfter(
      request,
      async () => sendTest(testDeps(context), await getWebhook(context.database, caller, path.webhookId)),
      async (tx, result) => ({ body: deliveryOf(await storeTest(tx, path.webhookId, result)) }),
    );
  },
});

/** Sends a test delivery and, if it succeeds, activates the webhook. */
export const activate = operation({
  summary: 'Activate a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) and waits for the outcome. If the receiver responds with 200–299, the ' +
    'webhook becomes `active`: it receives the events from now on, and its pending deliveries continue. Otherwise it does ' +
    'not change, and the error message gives the reason. Also enables a `disabled` webhook. Does not test an active webhook again.',
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
        const result = await sendTest(testDeps(context), webhook);
        await database.write(tx => storeTest(tx, webhook.id, result));
        requireSuccess(result.outcome);
        // Events that were committed before now are not delivered.
        await assignPositions(database);
        return webhook;
      },
      async (tx, tested) => webhookResponse(await activateTested(tx, caller, tested, checkPreconditions)),
    );
    context.webhooks.wake?.();
    return response;
  },
});

function testDeps(context: Deployment): TestDeps {
  const { outgoing, encryptor } = context.webhooks;
  return { database: context.database, outgoing, encryptor, now: () => nowOf(context) };
}
