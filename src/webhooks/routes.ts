import Type from 'typebox';
import { keepTest, requireTaken, sendTest, testMeansOf } from '../deliveries/test-delivery.ts';
import { type Deployment, route } from '../deployment.ts';
import { putInOrder } from '../events/log.ts';
import { onceAfter, withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route, RouteResponse } from '../lib/http/route.ts';
import { formatTime } from '../lib/time.ts';
import { activateTested } from './activation.ts';
import { getWebhook } from './get-webhook.ts';
import { listWebhooks } from './list-webhooks.ts';
import { rotateWebhookSecret } from './secrets.ts';
import {
  MadeSecret,
  MadeWebhook,
  NewSecret,
  NewWebhook,
  Webhook,
  WebhookId,
  WebhookPatch,
  Webhooks,
} from './webhook.ts';
import { type WebhookRow, webhookEtag, webhookOf } from './webhook-rows.ts';
import { createWebhook, deactivateWebhook, deleteWebhook, updateWebhook } from './webhooks.ts';

/** The webhook in the path of what is done with it. */
export const webhookId = {
  schema: WebhookId,
  description: 'The identifier of the webhook.',
  notFound: 'webhook_not_found',
  absent: 'There is no webhook with this id.',
};

/** What every operation on webhooks has in common. */
const common = {
  access: { key: true, scope: 'webhooks:write' },
  tag: 'Webhooks',
  stability: 'beta',
} as const;

/** Makes a webhook. */
const create = route({
  ...common,
  operation: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
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
  examples: [
    {
      name: 'everything',
      summary: 'Every event that the account may see',
      body: { url: 'https://receiver.example/petstore' },
      status: 201,
    },
    {
      name: 'orders of cats',
      summary: 'Only what happens to the orders and holds of cats',
      body: {
        url: 'https://receiver.example/cats',
        types: ['order.*', 'hold.*'],
        categoryIds: [2],
        description: 'For the people in the cat house',
      },
      status: 201,
    },
    {
      name: 'with a password',
      summary: 'What authenticates a delivery is its signature',
      body: { url: 'https://jo:secret@example.org/petstore' },
      status: 400,
      code: 'invalid_body',
    },
    {
      name: 'into the store',
      summary: 'Nothing is sent to addresses that are not public',
      body: { url: 'https://10.0.0.1/petstore' },
      status: 400,
      code: 'invalid_body',
    },
  ],
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
const list = route({
  ...common,
  operation: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
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
  examples: [
    {
      name: 'first page',
      summary: 'The first twenty webhooks',
      given: ['createWebhook: everything', 'createWebhook: orders of cats'],
      status: 200,
    },
    { name: 'none', summary: 'Another account has none', as: 'stranger', status: 200 },
  ],
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
const get = route({
  ...common,
  operation: 'getWebhook',
  method: 'GET',
  path: '/webhooks/{webhookId}',
  summary: 'Get a webhook',
  description:
    'Fetches one webhook, never with its secret. It is seen by the account that it belongs to and by admins; to anyone else it does not exist.',
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The webhook.', schema: Webhook }],
  errors: [],
  examples: [
    {
      name: 'one webhook',
      summary: 'The webhook with the id 1',
      given: ['createWebhook: orders of cats'],
      path: { webhookId: '1' },
      status: 200,
    },
    {
      name: 'somebody else',
      summary: 'To another account the webhook does not exist',
      given: ['createWebhook: everything'],
      as: 'stranger',
      path: { webhookId: '1' },
      status: 404,
      code: 'webhook_not_found',
    },
  ],
  async handle({ context, caller, path }) {
    return answerOf(await getWebhook(context.database, caller, path.webhookId));
  },
});

/** Changes some members of a webhook. */
const update = route({
  ...common,
  operation: 'updateWebhook',
  method: 'PATCH',
  path: '/webhooks/{webhookId}',
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
  examples: [
    {
      name: 'other types',
      summary: 'It is to get orders in every category',
      given: ['createWebhook: orders of cats'],
      path: { webhookId: '1' },
      body: { types: ['order.*'], categoryIds: null },
      status: 200,
    },
    {
      name: 'another receiver',
      summary: 'With another URL it has to be activated again',
      given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
      path: { webhookId: '1' },
      body: { url: 'https://receiver.example/moved' },
      status: 200,
    },
    {
      name: 'a receiver that is not there',
      summary: 'Any receiver may be named; whether it is there is seen when the webhook is activated',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      body: { url: 'https://receiver.example/missing' },
      status: 200,
    },
    {
      name: 'changed meanwhile',
      summary: 'The webhook is not the version that the caller has seen',
      given: ['createWebhook: orders of cats', 'updateWebhook: other types'],
      path: { webhookId: '1' },
      headers: { 'If-Match': '"1.1"' },
      body: { description: 'Mine' },
      status: 412,
      code: 'precondition_failed',
    },
  ],
  handle(call) {
    const { context, caller, path, body, expect } = call;
    return withIdempotency(call, async tx =>
      answerOf(await updateWebhook(tx, caller, path.webhookId, body, context.webhooks, expect)),
    );
  },
});

/** Takes a webhook away. */
const remove = route({
  ...common,
  operation: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/{webhookId}',
  summary: 'Delete a webhook',
  description: 'Takes a webhook away, with its secrets and everything that waits for it.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 204, description: 'The webhook is gone.' }],
  errors: [],
  examples: [
    {
      name: 'a webhook',
      summary: 'Nothing is sent to it any more',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      status: 204,
    },
    {
      name: 'somebody else',
      summary: 'To another account the webhook does not exist',
      given: ['createWebhook: everything'],
      as: 'stranger',
      path: { webhookId: '1' },
      status: 404,
      code: 'webhook_not_found',
    },
  ],
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deleteWebhook(tx, caller, path.webhookId, expect));
    return {};
  },
});

/** Tests a webhook, and makes it active. */
const activate = route({
  ...common,
  operation: 'activateWebhook',
  method: 'POST',
  path: '/webhooks/{webhookId}/activation',
  summary: 'Activate a webhook',
  description:
    'Sends a signed test delivery (`webhook.test`) now, and waits for it. With an answer from 200 to 299 the webhook is ' +
    '`active`: what happens from now on is delivered to it, and what waits goes on. Else nothing is changed, and the ' +
    'message says what happened. Takes one back that the store has switched off. An active one is not tested again.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 200, description: 'The webhook as it is now.', schema: Webhook }],
  errors: ['webhook_test_failed', 'webhook_test_running'],
  examples: [
    {
      name: 'a receiver that answers',
      summary: 'The receiver takes the test',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      status: 200,
    },
    {
      name: 'a receiver that refuses',
      summary: 'The receiver answers 404',
      given: ['createWebhook: everything', 'updateWebhook: a receiver that is not there'],
      path: { webhookId: '1' },
      status: 409,
      code: 'webhook_test_failed',
    },
  ],
  async handle(call) {
    const { context, caller, path, expect } = call;
    const { database } = context;
    const answer = await onceAfter(
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
const deactivate = route({
  ...common,
  operation: 'deactivateWebhook',
  method: 'POST',
  path: '/webhooks/{webhookId}/deactivation',
  summary: 'Deactivate a webhook',
  description:
    'Ends deliveries to a webhook until it is activated again. What waits is kept and then goes on; what happens meanwhile ' +
    'is not for it.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 200, description: 'The webhook as it is now.', schema: Webhook }],
  errors: [],
  examples: [
    {
      name: 'an active one',
      summary: 'Nothing is sent to it any more',
      given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
      path: { webhookId: '1' },
      status: 200,
    },
  ],
  handle(call) {
    const { caller, path, expect } = call;
    return withIdempotency(call, async tx => answerOf(await deactivateWebhook(tx, caller, path.webhookId, expect)));
  },
});

/** Replaces the secret of a webhook. */
const rotate = route({
  ...common,
  operation: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/{webhookId}/secrets',
  summary: 'Replace the secret of a webhook',
  description:
    'Makes a new secret, which is shown this once. Until the overlap ends every delivery is signed with the secrets before ' +
    'it, too, the newest first; 0 ends them at once. Deliveries are signed with five secrets at most.',
  parameters: { webhookId },
  body: NewSecret,
  bodyOptional: true,
  successes: [{ status: 201, description: 'The new secret.', schema: MadeSecret, untagged: true }],
  errors: ['webhook_secret_limit_exceeded'],
  examples: [
    {
      name: 'within an hour',
      summary: 'For an hour the secret before it is good, too',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      body: { overlapSeconds: 3600 },
      status: 201,
    },
    {
      name: 'at once',
      summary: 'The secret before it has become known: it ends now',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      body: { overlapSeconds: 0 },
      status: 201,
    },
    {
      name: 'too long',
      summary: 'The overlap is seven days at most',
      given: ['createWebhook: everything'],
      path: { webhookId: '1' },
      body: { overlapSeconds: 604_801 },
      status: 400,
      code: 'invalid_body',
    },
  ],
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

/** Every operation on webhooks themselves; those on their deliveries are beside it (`delivery-routes.ts`). */
export const webhookRoutes: readonly Route<Deployment>[] = [
  list,
  create,
  get,
  update,
  remove,
  activate,
  deactivate,
  rotate,
];

function answerOf(webhook: WebhookRow): RouteResponse {
  return { body: webhookOf(webhook), headers: ['ETag', webhookEtag(webhook)] };
}
