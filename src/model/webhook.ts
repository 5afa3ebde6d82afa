import { columnsFor } from '../lib/fields/columns.ts';
import { type Codec, field, json, type RowOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, patchSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { documentedRule, idParameter, idSchema, lineSchema, openEnum, timeSchema } from '../lib/schemas.ts';
import { capitalized, NAME_LENGTH_MAX } from '../lib/text.ts';
import { durationIn } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import { EventTypes } from './public-event.ts';
import { FAILING_MAX_MS, SECRET_OVERLAP_MAX_MS, SECRET_OVERLAP_MS } from './rules.ts';

/** The id of a webhook: assigned from 1 upward, never reused. */
export const WebhookId = idSchema('Assigned by the service.');

/** The path parameter of operations on one webhook. */
export const webhookId = idParameter('webhook', WebhookId);

/** Whether events are delivered to a webhook. */
const WebhookStatus = Type.Enum(['inactive', 'active', 'disabled'], {
  title: 'WebhookStatus',
  description:
    '`inactive`: not activated yet, deactivated, or its URL changed. `active`: events are delivered. `disabled`: the ' +
    'service disabled it. Pending deliveries are kept until the webhook is active again, but not longer than events.',
});

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment.',
  examples: ['https://example.org/petstore'],
  ...documentedRule({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\\\#/?@]+([/?][^\\s\\\\#]*)?$' }),
});

const TYPES = 'Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type.';
const TYPES_MAX = 50;
const Types = Type.Array(EventTypes.items, { minItems: 1, maxItems: TYPES_MAX, uniqueItems: true, description: TYPES });
const ShownTypes = Type.Array(openEnum(EventTypes.items, 'An event type, or all types of one kind.'), {
  maxItems: TYPES_MAX,
  description: TYPES,
});

const CategoryIds = Type.Array(idSchema('A category.'), {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description:
    'Delivers only events about these categories, the pets in them, and the holds and orders of such pets. Default: every category.',
});

const Description = lineSchema(
  `A note on the purpose of the webhook: 1–${NAME_LENGTH_MAX} characters, at least one not white space, no control characters.`,
);

/** The reasons why the service disables a webhook whose key or account may no longer act. */
const authorityReasons = ['key_revoked', 'key_expired', 'account_suspended', 'account_deleted'] as const;
export type AuthorityReason = (typeof authorityReasons)[number];

const DisabledReason = Type.Enum(['gone', 'failing', 'operator', ...authorityReasons, 'secret_replaced']);
export type DisabledReason = Static<typeof DisabledReason>;
const ShownReason = openEnum(
  DisabledReason.enum,
  `Why the webhook is \`disabled\`: the receiver responded 410, every attempt failed for ${durationIn('day', FAILING_MAX_MS, 'words')}, the operator disabled it, its ` +
    'key was revoked or expired, its account was suspended or deleted, or the operator replaced its secret.',
);
const FailingSince = timeSchema('Since when every attempt has failed; absent if the last attempt succeeded.');
const OwnerId = idSchema(
  'The account that owns the webhook. The webhook receives the events that this account can see.',
);
const KeyId = Type.String({
  description:
    'The id of the API key that the webhook depends on: the key that created the webhook or last activated it, or the key that ' +
    'replaced that key. Absent if the webhook depends on its account alone.',
});
const Scopes = Type.Array(Type.String(), {
  description: 'The scopes of that key; `*` is every scope. The webhook receives only events that these scopes allow.',
  examples: [['pets:read', 'webhooks:write']],
});

/** Words, stored with spaces between them. */
const words: Codec<string[], string> = { encode: list => list.join(' '), decode: text => text.split(' ') };

/** The fields of a webhook; schemas, queries and views derive from them. */
export const webhookFields = {
  id: field(WebhookId, { column: 'id', generated: true, fixed: true }),
  url: field(Url, { column: 'url', write: 'required' }),
  types: field(Types, {
    column: 'types',
    codec: json<Static<typeof Types>>(),
    write: 'optional',
    shown: ShownTypes,
  }),
  categoryIds: field(CategoryIds, { column: 'category_ids', codec: json<number[]>(), write: 'optional' }),
  description: field(Description, { column: 'description', write: 'optional' }),
  status: field(WebhookStatus, { column: 'status', recorded: true }),
  disabledReason: field(DisabledReason, {
    column: 'disabled_reason',
    nullable: true,
    recorded: true,
    shown: ShownReason,
  }),
  failingSince: field(FailingSince, { column: 'failing_since', codec: time, nullable: true }),
  createdAt: field(timeSchema('When the webhook was created.'), { column: 'created_at', codec: time, fixed: true }),
  updatedAt: field(timeSchema('When the webhook was last changed.'), { column: 'updated_at', codec: time }),
  accountId: field(OwnerId, { column: 'account_id', fixed: true, recorded: true }),
  keyId: field(KeyId, { column: 'key_id', nullable: true }),
  scopes: field(Scopes, { column: 'scopes', codec: words, recorded: true }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
  /** The position up to which events were dispatched to it, or were committed before it was active. */
  afterPosition: field(Type.Integer(), { column: 'behind_place', generated: true, view: 'lock' }),
  /** The last position after `afterPosition` whose event waits in the log, because too many deliveries were pending. */
  waitsUpTo: field(Type.Integer(), { column: 'waits_up_to', generated: true, nullable: true, view: 'lock' }),
  /** The number of pending deliveries. */
  pending: field(Type.Integer(), { column: 'pending', generated: true, view: 'lock' }),
  /** When to claim its deliveries: their earliest due time, or later if it has no free slot or is in backoff. */
  dueAt: field(Type.Integer(), { column: 'due_at', generated: true, nullable: true, view: 'lock' }),
  deletedAt: field(Type.Integer(), { column: 'deleted_at', generated: true, nullable: true, view: 'lock' }),
};

/** The columns of queries over webhooks. */
export const webhookColumns = columnsFor(webhookFields);

/** Conversions between JSON values and rows of webhooks. */
export const webhookValues = valuesFor(webhookFields);

/** Returns a webhook in the form of responses. */
export const webhookOf = webhookValues.fullOf;

/** A webhook as stored. Times are milliseconds since the Unix epoch, arrays are JSON texts. */
export type WebhookRow = RowOf<typeof webhookFields>;

/** Returns the entity tag. It changes with every version, and when the receiver starts or stops failing. */
export function webhookEtag({ id, version, failingSince }: Pick<WebhookRow, 'id' | 'version' | 'failingSince'>) {
  return failingSince === null ? `"${id}.${version}"` : `"${id}.${version}.${failingSince}"`;
}

/** The body of `createWebhook`. */
export const NewWebhook = newSchema(webhookFields, 'NewWebhook', 'An endpoint URL, and the events to send to it.');
export type NewWebhook = Static<typeof NewWebhook>;

/** The body of `updateWebhook`: a JSON Merge Patch (RFC 7396). */
export const WebhookPatch = patchSchema(webhookFields, 'WebhookPatch');
export type WebhookPatch = Static<typeof WebhookPatch>;

export const Webhook = fullSchema(webhookFields, 'Webhook', 'An endpoint URL to which events are sent as they happen.');
export type Webhook = Static<typeof Webhook>;

export const Webhooks = Type.Array(Webhook, { title: 'Webhooks', description: 'Webhooks.' });

const Secret = Type.Union([Type.String({ pattern: '^whsec_[A-Za-z0-9+/]+=*$' }), Type.Null()], {
  description:
    'The secret that signs deliveries (Standard Webhooks). Shown only once: a retry with the same `Idempotency-Key` returns `null`.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
});

export const CreatedWebhook = Type.Object(
  { ...Webhook.properties, secret: Secret },
  { title: 'CreatedWebhook', description: 'A new webhook with its signing secret.' },
);

/** The body of `rotateWebhookSecret`. */
export const SecretRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: SECRET_OVERLAP_MAX_MS / 1000,
        default: SECRET_OVERLAP_MS / 1000,
        description: `How long deliveries are also signed with the previous secrets: up to ${durationIn('day', SECRET_OVERLAP_MAX_MS, 'words')}. ${capitalized(durationIn('day', SECRET_OVERLAP_MS, 'words'))} by default.`,
      }),
    ),
  },
  { title: 'SecretRotation', description: 'How to rotate a secret.' },
);

export const RotatedSecret = Type.Object(
  { secret: Secret, previousExpiresAt: timeSchema('Until when deliveries are also signed with the previous secrets.') },
  { title: 'RotatedSecret', description: 'A new signing secret.' },
);
