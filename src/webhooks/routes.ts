import Type from 'typebox';
import { keepTest, requireTaken, sendTest, testMeansOf } from '../deliveries/test-delivery.ts';
import { operation } from '../deployment.ts';
import { putInOrder } from '../events/log.ts';
import { withIdempotency, withIdempotencyAfter } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import { formatTime } from '../lib/time.ts';
import { activateTested } from './activation.ts';
import {
  activateExamples,
  createExamples,
  deactivateExamples,
  getExamples,
  listExamples,
  removeExamples,
  rotateExamples,
  updateExamples,
} from './examples.ts';
import { getWebhook } from './get-webhook.ts';
import { listWebhooks } from './list-webhooks.ts';
import { rotateWebhookSecret } from './secrets.ts';
import {
  MadeSecret,
  MadeWebhook,
  NewSecret,
  NewWebhook,
  Webhook,
  WebhookPatch,
  Webhooks,
  webhookId,
} from './webhook.ts';
import { type WebhookRow, webhookEtag, webhookOf } from './webhook-rows.ts';
import { createWebhook, deactivateWebhook, deleteWebhook, updateWebhook } from './webhooks.ts';

/** What every operation on webhooks has in common. */
const common = {} as const;

/** Makes a webhook. */
export const create = operation({
  ...common,
  summary: 'Make a webhook',
  description:
    'Makes a webhook for the account of the key, with a secret that is shown this once. It is `inactive`: nothing is sent ' +
    'before it is activated. It will get the events that the account may see, of the types and in the categories that it ' +
    'names. An account has ten webhooks at most (`PETSTORE_WEBHOOKS_MAX`).',
  body: NewWebhook,
  successes: [
    {
      status: 201,
      description: 'The webhook, with its secret.',
      schema: MadeWebhook,
      headers: { Location: 'The URL of the webhook.' },
    },
  ],
  errors: ['webhook_limit_exceeded'],
  examples: createExamples,
  handle(call) {
    const { context, caller, body, baseUrl } = call;
    const { max, networks, secrets } = context.webhooks;
    return withIdempotency(call, async tx => {
      const { webhook, secret } = await createWebhook(tx, caller, body, { max, networks }, secrets);
      return {
        body: { ...webhookOf(webhook), secret },
        headers: ['Location', `${baseUrl}/webhooks/${webhook.id}`, 'ETag', webhookEtag(webhook)],
        secrets: ['secret'],
      };
    });
  },
});

/** A page of webhooks. */
export const list = operation({
  ...common,
  summary: 'List webhooks',
  description: 'Returns the webhooks of the account of the key, by id ascending; admins see all.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of webhooks returned.' }),
    ),
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
      description: 'A page of webhooks.',
      schema: Webhooks,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: [],
  examples: listExamples,
  async handle({ context, caller, query, url, baseUrl }) {
    const { limit = 20, cursor } = query;
    const page = await listWebhooks(context.database, caller, limit, cursor);
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: page.rows.map(webhookOf),
      headers: pageHeaders(`${baseUrl}/webhooks${mark < 0 ? '' : url.slice(mark)}`, page),
    };
  },
});

/** One webhook by its id. */
export const get = operation({
  ...common,
  summary: 'Get a webhook',
  description:
    'Fetches one webhook, never with its secret. It is seen by the account that it belongs to and by admins; to anyone else it does not exist.',
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The webhook.', schema: Webhook }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    return answerOf(await getWebhook(context.database, caller, path.webhookId));
  },
});

/** Changes some members of a webhook. */
export const update = operation({
  ...common,
  summary: 'Change a webhook',
  description:
    'Changes the members that are sent, as a JSON Merge Patch (RFC 7396); `null` takes one away. With another URL it is ' +
    '`inactive` until it is activated again; what waits is kept, and then goes to the new one.',
  parameters: { webhookId },
  conditional: true,
  body: WebhookPatch,
  successes: [
    {
      status: 200,
      description: 'The webhook as it is now.',
      schema: Webhook,
      headers: { ETag: 'Its new entity tag.' },
    },
  ],
  errors: [],
  examples: updateExamples,
  handle(call) {
    const { context, caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await updateWebhook(tx, caller, path.webhookId, body, context.webhooks, expect)),
    );
  },
});

/** Takes a webhook away. */
export const remove = operation({
  ...common,
  summary: 'Delete a webhook',
  description: 'Takes a webhook away, with its secrets and everything that waits for it.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 204, description: 'The webhook is gone.' }],
  errors: [],
  examples: removeExamples,
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deleteWebhook(tx, caller, path.webhookId, expect));
    return {};
  },
});

/** Tests a webhook, and makes it active. */
export const activate = operation({
  ...common,
  summary: 'Activate a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) now, and waits for it. With an answer from 200 to 299 the webhook is ' +
    '`active`: what happens from now on is delivered to it, and what waits goes on. Else nothing is changed, and the ' +
    'message says what happened. Takes one back that the store has switched off. An active one is not tested again.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 200, description: 'The webhook as it is now.', schema: Webhook }],
  errors: ['webhook_test_failed', 'webhook_test_running'],
  examples: activateExamples,
  async handle(call) {
    const { context, caller, path, expect } = call;
    const { database } = context;
    const answer = await withIdempotencyAfter(
      call,
      async () => {
        const webhook = await getWebhook(database, caller, path.webhookId);
        expect(webhookEtag(webhook));
        if (webhook.status === 'active') return webhook;
        const result = await sendTest(testMeansOf(context), webhook);
        await database.write(tx => keepTest(tx, webhook.id, result));
        requireTaken(result.outcome);
        // What was committed before now is not for it.
        await putInOrder(database);
        return webhook;
      },
      async (tx, tested) => answerOf(await activateTested(tx, caller, tested, expect)),
    );
    context.webhooks.wake?.();
    return answer;
  },
});

/** Ends deliveries to a webhook. */
export const deactivate = operation({
  ...common,
  summary: 'Deactivate a webhook',
  description:
    'Ends deliveries to a webhook until it is activated again. What waits is kept and then goes on; what happens meanwhile ' +
    'is not for it.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 200, description: 'The webhook as it is now.', schema: Webhook }],
  errors: [],
  examples: deactivateExamples,
  handle(call) {
    const { caller, path, expect } = call;
    return withIdempotency(call, async tx => answerOf(await deactivateWebhook(tx, caller, path.webhookId, expect)));
  },
});

/** Replaces the secret of a webhook. */
export const rotate = operation({
  ...common,
  summary: 'Replace the secret of a webhook',
  description:
    'Makes a new secret, which is shown this once. Until the overlap ends every delivery is signed with the secrets before ' +
    'it, too, the newest first; 0 ends them at once. Deliveries are signed with five secrets at most.',
  parameters: { webhookId },
  body: NewSecret,
  bodyOptional: true,
  successes: [{ status: 201, description: 'The new secret.', schema: MadeSecret, untagged: true }],
  errors: ['webhook_secret_limit_exceeded'],
  examples: rotateExamples,
  handle(call) {
    const { context, caller, path, body } = call;
    const { overlapSeconds = DAY_SECONDS } = body;
    return withIdempotency(call, async tx => {
      const { webhooks } = context;
      const made = await rotateWebhookSecret(tx, caller, path.webhookId, overlapSeconds, webhooks.secrets);
      return {
        body: { secret: made.secret, previousExpiresAt: formatTime(made.previousExpiresAt) },
        secrets: ['secret'],
      };
    });
  },
});

const DAY_SECONDS = 86_400;

function answerOf(webhook: WebhookRow): RouteResponse {
  return { body: webhookOf(webhook), headers: ['ETag', webhookEtag(webhook)] };
}
