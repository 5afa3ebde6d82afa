import { listOperation, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import type { RouteResponse } from '../../lib/http/route.ts';
import { spelled } from '../../lib/text.ts';
import { formatTime } from '../../lib/time.ts';
import { boundOf } from '../../model/plan.ts';
import { SECRET_OVERLAP_MS, WEBHOOK_SECRETS_MAX } from '../../model/rules.ts';
import {
  CreatedWebhook,
  NewWebhook,
  RotatedSecret,
  SecretRotation,
  Webhook,
  WebhookPatch,
  type WebhookRow,
  Webhooks,
  webhookEtag,
  webhookId,
  webhookOf,
} from '../../model/webhook.ts';
import {
  createExamples,
  deactivateExamples,
  deleteExamples,
  getExamples,
  listExamples,
  rotateExamples,
  updateExamples,
} from './examples.ts';
import {
  createWebhook,
  deactivateWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from './webhooks.ts';

const updated = { status: 200, description: 'The updated webhook.', schema: Webhook };

export const create = operation({
  summary: 'Create a webhook',
  description:
    'Creates an `inactive` webhook and its signing secret, which is shown only once. Activate it to receive the events ' +
    'that your account can see, of the given types and categories. The number of webhooks of an account is bounded by ' +
    'its plan.',
  body: NewWebhook,
  successes: [
    {
      status: 201,
      description: 'The webhook, with its secret.',
      schema: CreatedWebhook,
      headers: { Location: 'The URL of the webhook.' },
    },
  ],
  errors: ['webhook_limit_exceeded'],
  examples: createExamples,
  handle(request) {
    const { context, caller, body, baseUrl } = request;
    const { networks, encryptor } = context.webhooks;
    const rules = { networks, max: boundOf(context.bounds, caller, 'webhooks') };
    return withIdempotency(request, async tx => {
      const { webhook, secret } = await createWebhook(tx, caller, body, rules, encryptor);
      return {
        body: { ...webhookOf(webhook), secret },
        headers: ['Location', `${baseUrl}/webhooks/${webhook.id}`, 'ETag', webhookEtag(webhook)],
        secrets: ['secret'],
      };
    });
  },
});

export const list = listOperation({
  summary: 'List webhooks',
  description: 'Returns the webhooks of your account, sorted by id. Admins get all webhooks.',
  noun: 'webhooks',
  schema: Webhooks,
  examples: listExamples,
  async handle({ context, caller, page }) {
    const { rows, ...links } = await listWebhooks(context.database, caller, page);
    return { rows: rows.map(webhookOf), ...links };
  },
});

export const get = operation({
  summary: 'Get a webhook',
  description: 'Returns a webhook without its secret. Only its account and admins can see it.',
  parameters: { webhookId },
  successes: [{ status: 200, description: 'The webhook.', schema: Webhook }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    return webhookResponse(await getWebhook(context.database, caller, path.webhookId));
  },
});

export const update = operation({
  summary: 'Update a webhook',
  description:
    'Changes the given fields, as a JSON Merge Patch (RFC 7396); `null` removes a field. A new URL makes the webhook ' +
    '`inactive`; once you activate it again, pending deliveries go to the new URL.',
  parameters: { webhookId },
  conditional: true,
  body: WebhookPatch,
  successes: [
    { status: 200, description: 'The updated webhook.', schema: Webhook, headers: { ETag: 'The new entity tag.' } },
  ],
  errors: [],
  examples: updateExamples,
  handle(request) {
    const { context, caller, path, body, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      webhookResponse(await updateWebhook(tx, caller, path.webhookId, body, context.webhooks, checkPreconditions)),
    );
  },
});

export const remove = operation({
  summary: 'Delete a webhook',
  description: 'Deletes a webhook, its secrets and its deliveries. Pending deliveries are not sent.',
  parameters: { webhookId },
  conditional: true,
  successes: [{ status: 204, description: 'The webhook is deleted.' }],
  errors: [],
  examples: deleteExamples,
  async handle({ context, caller, origin, path, checkPreconditions }) {
    await context.database.write(tx => deleteWebhook(tx, caller, path.webhookId, checkPreconditions), origin);
    return {};
  },
});

export const deactivate = operation({
  summary: 'Deactivate a webhook',
  description:
    'Stops deliveries until you activate the webhook again. Pending deliveries are kept until then; events that happen in ' +
    'the meantime are not delivered.',
  parameters: { webhookId },
  conditional: true,
  successes: [updated],
  errors: [],
  examples: deactivateExamples,
  handle(request) {
    const { caller, path, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      webhookResponse(await deactivateWebhook(tx, caller, path.webhookId, checkPreconditions)),
    );
  },
});

export const rotate = operation({
  summary: 'Rotate the secret of a webhook',
  description:
    'Creates a new signing secret, which is shown only once. During the overlap, deliveries are also signed with the ' +
    `previous secrets, newest first; an overlap of 0 expires them now. A webhook may have ${spelled(WEBHOOK_SECRETS_MAX)} valid secrets.`,
  parameters: { webhookId },
  body: SecretRotation,
  bodyOptional: true,
  successes: [{ status: 201, description: 'The new secret.', schema: RotatedSecret, untagged: true }],
  errors: ['webhook_secret_limit_exceeded'],
  examples: rotateExamples,
  handle(request) {
    const { context, caller, path, body } = request;
    const { overlapSeconds = SECRET_OVERLAP_MS / 1000 } = body;
    return withIdempotency(request, async tx => {
      const { encryptor } = context.webhooks;
      const rotated = await rotateWebhookSecret(tx, caller, path.webhookId, overlapSeconds, encryptor);
      const previousExpiresAt = formatTime(rotated.previousExpiresAt);
      return { body: { secret: rotated.secret, previousExpiresAt }, secrets: ['secret'] };
    });
  },
});

export function webhookResponse(webhook: WebhookRow): RouteResponse {
  return { body: webhookOf(webhook), headers: ['ETag', webhookEtag(webhook)] };
}
