import Type, { type Static } from 'typebox';
import { EventTypes } from '../events/public/public-event.ts';
import { NAME_LENGTH_MAX, nameFault } from '../lib/name.ts';
import { idSchema, timeSchema } from '../lib/schemas.ts';

/** The id of a webhook: assigned from 1 upward, never reused. */
export const WebhookId = idSchema('Assigned by the service.');

/** The path parameter of operations on one webhook. */
export const webhookId = {
  schema: WebhookId,
  description: 'The identifier of the webhook.',
  notFound: 'webhook_not_found',
  absent: 'There is no webhook with this id.',
};

/** Whether events are delivered to a webhook. */
export const WebhookStatus = Type.Enum(['inactive', 'active', 'disabled'], {
  title: 'WebhookStatus',
  description:
    '`inactive`: not activated yet, deactivated, or its URL changed. `active`: events are delivered. `disabled`: the ' +
    'service disabled it. Pending deliveries are kept until the webhook is active again.',
});

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment.',
  examples: ['https://example.org/petstore'],
});

const Types = Type.Array(EventTypes.items, {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type.',
});

const CategoryIds = Type.Array(idSchema('A category.'), {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description:
    'Delivers only events about these categories, the pets in them, and the holds and orders of such pets. Default: every category.',
});

const Description = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    description: 'A note on its purpose: 1–255 characters, at least one not white space, no control characters.',
  }),
  value => nameFault(value) === undefined,
  value => nameFault(value) ?? '',
);

const optional = {
  types: Type.Optional(Types),
  categoryIds: Type.Optional(CategoryIds),
  description: Type.Optional(Description),
};

/** The body of `createWebhook`. */
export const NewWebhook = Type.Object(
  { url: Url, ...optional },
  { title: 'NewWebhook', description: 'An endpoint URL, and the events to send to it.' },
);
export type NewWebhook = Static<typeof NewWebhook>;

/** The body of `updateWebhook`: a JSON Merge Patch (RFC 7396). */
export const WebhookPatch = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Type.Union([Types, Type.Null()], { description: '`null`: every type.' })),
    categoryIds: Type.Optional(Type.Union([CategoryIds, Type.Null()], { description: '`null`: every category.' })),
    description: Type.Optional(Type.Union([Description, Type.Null()], { description: '`null` removes it.' })),
  },
  { title: 'WebhookPatch', description: 'The members of a webhook to change.' },
);
export type WebhookPatch = Static<typeof WebhookPatch>;

const members = {
  id: WebhookId,
  url: Url,
  ...optional,
  status: WebhookStatus,
  disabledReason: Type.Optional(
    Type.Enum(['gone', 'failing', 'operator'], {
      description:
        'Why it is `disabled`: the receiver responded 410, every attempt failed for five days, or the operator disabled it.',
    }),
  ),
  failingSince: Type.Optional(timeSchema('Since when every attempt has failed; absent if the last attempt succeeded.')),
  createdAt: timeSchema('When it was created.'),
  updatedAt: timeSchema('When it was last changed.'),
  accountId: idSchema('The account that owns it. The webhook receives the events that this account can see.'),
};

/** A webhook in responses. */
export const Webhook = Type.Object(members, {
  title: 'Webhook',
  description: 'An endpoint URL to which events are sent as they happen.',
});
export type Webhook = Static<typeof Webhook>;

/** A page of webhooks. */
export const Webhooks = Type.Array(Webhook, { title: 'Webhooks', description: 'Webhooks.' });

const Secret = Type.Union([Type.String({ pattern: '^whsec_[A-Za-z0-9+/]+=*$' }), Type.Null()], {
  description:
    'The secret that signs deliveries (Standard Webhooks). Shown only once: a retry with the same `Idempotency-Key` returns `null`.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
});

/** The response of `createWebhook`. */
export const CreatedWebhook = Type.Object(
  { ...members, secret: Secret },
  { title: 'CreatedWebhook', description: 'A new webhook with its signing secret.' },
);

/** The body of `rotateWebhookSecret`. */
export const SecretRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'How long deliveries are also signed with the previous secrets: up to seven days.',
      }),
    ),
  },
  { title: 'SecretRotation', description: 'How to rotate a secret.' },
);

/** The response of `rotateWebhookSecret`. */
export const RotatedSecret = Type.Object(
  { secret: Secret, previousExpiresAt: timeSchema('Until when deliveries are also signed with the previous secrets.') },
  { title: 'RotatedSecret', description: 'A new signing secret.' },
);
