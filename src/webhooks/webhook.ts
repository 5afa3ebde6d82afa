import Type, { type Static } from 'typebox';
import { EventId, EventTypes } from '../events/public/public-event.ts';
import { NAME_LENGTH_MAX, nameFault } from '../lib/name.ts';
import { parseTime } from '../lib/time.ts';

/** The most characters that the URL of a receiver has. */
const URL_LENGTH_MAX = 2048;
/** The most types that a webhook names. */
const TYPES_MAX = 50;
/** The most categories that a webhook names. */
const CATEGORIES_MAX = 100;

/** The id of a webhook: assigned by the service from 1 upward, never given twice. */
export const WebhookId = id('Assigned by the service when the webhook is made.');

/** The id of a delivery: assigned by the service from 1 upward, never given twice. */
export const DeliveryId = id('Assigned by the service when the delivery is made.');

/** Whether events are delivered to a webhook. */
export const WebhookStatus = Type.Enum(['inactive', 'active', 'disabled'], {
  title: 'WebhookStatus',
  description:
    '`inactive` until it is activated, and again after its deactivation or another URL; `active` while events are ' +
    'delivered to it; `disabled` when the store has switched it off. What waits is kept until it is active again.',
});

/** The webhook in the path of what is done with it. */
export const webhookId = {
  schema: WebhookId,
  description: 'The identifier of the webhook.',
  notFound: 'webhook_not_found',
  absent: 'There is no webhook with this id.',
};

const Url = Type.String({
  minLength: 1,
  maxLength: URL_LENGTH_MAX,
  description:
    'Where events are sent to: `https`, to an address that everybody can reach, without a user name, password or fragment.',
  examples: ['https://example.org/petstore'],
});

const Types = Type.Array(EventTypes.items, {
  minItems: 1,
  maxItems: TYPES_MAX,
  uniqueItems: true,
  description: 'Only events of these types, or of all types of one kind such as `pet.*`; without it, of every type.',
});

const CategoryIds = Type.Array(id('A category.'), {
  minItems: 1,
  maxItems: CATEGORIES_MAX,
  uniqueItems: true,
  description:
    'Only what happened to these categories, to animals in them, and to the holds and orders of such animals; without it, in every category.',
});

const Description = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    description: 'What it is for: 1–255 characters, at least one of them not white space, no control characters.',
  }),
  value => nameFault(value) === undefined,
  value => nameFault(value) ?? '',
);

/** What is sent to make a webhook. */
export const NewWebhook = Type.Object(
  {
    url: Url,
    types: Type.Optional(Types),
    categoryIds: Type.Optional(CategoryIds),
    description: Type.Optional(Description),
  },
  { title: 'NewWebhook', description: 'Where to send which events.' },
);
export type NewWebhook = Static<typeof NewWebhook>;

/** What is sent to change some of a webhook: a JSON Merge Patch (RFC 7396). */
export const WebhookPatch = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Type.Union([Types, Type.Null()], { description: '`null`: events of every type.' })),
    categoryIds: Type.Optional(
      Type.Union([CategoryIds, Type.Null()], { description: '`null`: events in every category.' }),
    ),
    description: Type.Optional(
      Type.Union([Description, Type.Null()], { description: '`null` takes the description away.' }),
    ),
  },
  { title: 'WebhookPatch', description: 'The members of a webhook to change.' },
);
export type WebhookPatch = Static<typeof WebhookPatch>;

const members = {
  id: WebhookId,
  url: Url,
  description: Type.Optional(Description),
  types: Type.Optional(Types),
  categoryIds: Type.Optional(CategoryIds),
  status: WebhookStatus,
  disabledReason: Type.Optional(
    Type.Enum(['gone', 'failing', 'operator'], {
      description:
        'Why it is `disabled`: its receiver answered 410, no attempt succeeded for too long, or the operator of the store switched it off.',
    }),
  ),
  failingSince: Type.Optional(time('Since when every attempt has failed; absent while the last one succeeded.')),
  createdAt: time('When it was made.'),
  updatedAt: time('When it was changed last.'),
  accountId: id('The account that it belongs to, whose view of the events it gets.'),
};

/** A webhook as it is answered. */
export const Webhook = Type.Object(members, {
  title: 'Webhook',
  description: 'A URL to which events are sent as they happen.',
});
export type Webhook = Static<typeof Webhook>;

/** A page of webhooks. */
export const Webhooks = Type.Array(Webhook, { title: 'Webhooks', description: 'Webhooks.' });

const Secret = Type.Union([Type.String({ pattern: '^whsec_[A-Za-z0-9+/]+=*$' }), Type.Null()], {
  description:
    'What deliveries are signed with, as Standard Webhooks has it. It is shown this once: a retry under the same `Idempotency-Key` gets `null`.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
});

/** A webhook as making it is answered. */
export const MadeWebhook = Type.Object(
  { ...members, secret: Secret },
  { title: 'MadeWebhook', description: 'A new webhook, with the secret that its deliveries are signed with.' },
);

/** What is sent to replace the secret of a webhook. */
export const NewSecret = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'For how long deliveries are signed with the secrets before it, too: seven days at most.',
      }),
    ),
  },
  { title: 'NewSecret', description: 'How to replace a secret.' },
);
export type NewSecret = Static<typeof NewSecret>;

/** A new secret as it is answered. */
export const MadeSecret = Type.Object(
  { secret: Secret, previousExpiresAt: time('Until when deliveries are signed with the secrets before it, too.') },
  { title: 'MadeSecret', description: 'A new secret.' },
);

/** How far a delivery is. */
export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed'], {
  title: 'DeliveryStatus',
  description:
    '`pending` until the receiver has taken it; `delivered` when it has; `failed` when the last attempt of the schedule has failed.',
});
export type DeliveryStatus = Static<typeof DeliveryStatus>;

const Event = Type.String({ ...EventId, description: 'The event.' });

const Attempt = Type.Object(
  {
    number: Type.Integer({
      minimum: 1,
      description: 'Which it was, from 1; one that was broken off by a fault of the store is missing.',
    }),
    at: time('When it began.'),
    durationMs: Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.' }),
    status: Type.Optional(
      Type.Integer({ description: 'The HTTP status that was answered; absent where nothing was.' }),
    ),
    fault: Type.Optional(Type.String({ description: 'Why there was no answer.', examples: ['timeout'] })),
    answer: Type.Optional(
      Type.String({ description: 'The first 1,024 bytes of what was answered; lists leave it out.' }),
    ),
  },
  { title: 'WebhookAttempt', description: 'An attempt to send a delivery: it succeeds with a status from 200 to 299.' },
);

/** A delivery as it is answered. */
export const Delivery = Type.Object(
  {
    id: DeliveryId,
    eventId: Type.Optional(
      Type.String({ ...EventId, description: 'The event that it tells, also its `webhook-id`; absent for a test.' }),
    ),
    type: Type.String({ description: 'The type of the event; `webhook.test` for a test.', examples: ['pet.updated'] }),
    status: DeliveryStatus,
    createdAt: time('When it was made.'),
    updatedAt: time('When something was done about it last.'),
    nextAttemptAt: Type.Optional(
      time(
        'When it is tried next; absent where it is done with, under way, or waits behind another event of the same thing.',
      ),
    ),
    attempts: Type.Array(Attempt, { description: 'Every attempt, oldest first.' }),
  },
  { title: 'Delivery', description: 'An event that is sent to a webhook, or was, with every attempt to.' },
);
export type Delivery = Static<typeof Delivery>;

/** A page of deliveries. */
export const Deliveries = Type.Array(Delivery, { title: 'Deliveries', description: 'Deliveries.' });

const Since = Type.Refine(
  Type.String({
    format: 'date-time',
    description: 'Everything that was written down at this time or later (RFC 3339).',
    examples: ['2026-11-21T11:00:00Z'],
  }),
  value => parseTime(value) !== undefined,
  () => 'must be a time as RFC 3339 has it, such as 2026-11-21T11:00:00Z',
);

/** What is sent to have events delivered once more: one of them, or all since a time. */
export const NewRedelivery = Type.Object(
  { eventId: Type.Optional(Event), since: Type.Optional(Since) },
  { title: 'NewRedelivery', description: 'What to deliver once more: either `eventId` or `since`.' },
);
export type NewRedelivery = Static<typeof NewRedelivery>;

/** What will be delivered once more. */
export const Redelivery = Type.Object(
  {
    id: Type.Optional(id('Names the redelivery of all events since a time.')),
    eventId: Type.Optional(Event),
    since: Type.Optional(time('Everything that was written down at this time or later.')),
  },
  { title: 'Redelivery', description: 'What will be delivered once more.' },
);
export type Redelivery = Static<typeof Redelivery>;

function id(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

function time(description: string) {
  return Type.String({ format: 'date-time', description });
}
