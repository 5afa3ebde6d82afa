import Type, { type TProperties, type TSchema } from 'typebox';
import { categoryFields } from '../../categories/category.ts';
import { holdFields } from '../../holds/hold.ts';
import { recordedSchema } from '../../lib/fields/schemas.ts';
import { idSchema, timeSchema } from '../../lib/schemas.ts';
import { MessageId, messageFields } from '../../messages/message.ts';
import { orderFields } from '../../orders/order.ts';
import { organizationFields } from '../../organizations/organization.ts';
import { PetId, petFields } from '../../pets/pet.ts';
import { webhookFields } from '../../webhooks/webhook.ts';
import { actions, EventId } from './public-event.ts';

const optionalId = (description: string) => Type.Optional(Type.Integer({ format: 'int64', description }));
const optionalText = (description: string) => Type.Optional(Type.String({ description }));

const EventChanges = Type.Record(
  Type.String(),
  Type.Object({
    from: Type.Optional(Type.Unknown({ description: 'The previous value; absent if there was none.' })),
    to: Type.Optional(Type.Unknown({ description: 'The new value; absent if there is none.' })),
  }),
  { title: 'EventChanges', description: 'The changed fields; every field of a created or deleted resource.' },
);

const EventCause = Type.Object(
  {
    reason: optionalText('The reason for an indirect change: `held`, `order_placed`, …'),
    holdId: optionalId('The hold behind the change; visible like `accountId`.'),
    orderId: optionalId('The order behind the change; visible like `accountId`.'),
    intoId: optionalId('The target of a category merge.'),
    keyId: optionalText('The other key of a rotation: the previous one, or its successor.'),
    toAccountId: optionalId('The account that received the animals of another one.'),
    note: optionalText('The note of an order step.'),
  },
  { title: 'EventCause', description: 'Why it happened; absent for direct changes.' },
);

function eventSchema(name: string, description: string, type: TSchema, data: TSchema) {
  return Type.Object(
    {
      id: Type.String({
        ...EventId,
        description: 'The permanent id of the event. Pass it as `after` to continue from there.',
      }),
      type,
      time: timeSchema('When it happened.'),
      sequence: Type.Integer({
        format: 'int64',
        minimum: 1,
        description: 'The position in the total order of all events. Events that you cannot see leave gaps.',
      }),
      accountId: optionalId(
        'The account that caused the event. Visible to the owner of the resource, to that account and to admins; absent ' +
          'for automatic changes.',
      ),
      data,
      changes: EventChanges,
      cause: Type.Optional(EventCause),
    },
    { title: name, description },
  );
}

const accountId = optionalId('The account that the resource belongs to.');
const deployment = optionalText('The deployment of the key.');
const createdAt = Type.Optional(timeSchema('When it was created.'));
const AFTERWARDS = 'after the change, or before its deletion';

/** The data of each kind of event: the resource after the change, or before its deletion. */
const dataSchemas: Readonly<Record<string, TSchema>> = {
  pet: recordedSchema(petFields, 'PetEventData', `An animal ${AFTERWARDS}.`, { id: PetId, accountId }),
  category: recordedSchema(categoryFields, 'CategoryEventData', `A category ${AFTERWARDS}.`, {
    id: categoryFields.id.schema,
  }),
  organization: recordedSchema(
    organizationFields,
    'OrganizationEventData',
    `An organization ${AFTERWARDS}, without its hours and long texts. Without fields, once its account is deleted.`,
    { id: organizationFields.id.schema },
  ),
  hold: recordedSchema(holdFields, 'HoldEventData', 'A hold after the change.', {
    id: holdFields.id.schema,
    endedAt: Type.Optional(holdFields.endedAt.schema),
  }),
  order: recordedSchema(orderFields, 'OrderEventData', 'An order after the change, without its steps.', {
    id: orderFields.id.schema,
    complete: Type.Optional(orderFields.complete.schema),
  }),
  message: recordedSchema(messageFields, 'MessageEventData', 'A message after the change, without its text.', {
    id: MessageId,
  }),
  account: data('AccountEventData', 'An account, without its e-mail address.', idSchema('The id of the account.'), {
    name: optionalText('Its name.'),
    plan: optionalText('Its plan.'),
    limits: Type.Optional(
      Type.Object(
        { perMinute: Type.Integer(), perDay: Type.Integer() },
        { description: 'The requests that it may send.' },
      ),
    ),
    admin: Type.Optional(Type.Boolean({ description: 'Whether it is an admin.' })),
    createdAt,
    suspendedAt: Type.Optional(timeSchema('Since when its keys are rejected; absent if they are not.')),
    deleteAt: Type.Optional(timeSchema('When it will be deleted; absent if it will not.')),
    deployment: optionalText('The deployment of a usage alert.'),
    threshold: Type.Optional(
      Type.Integer({
        description: 'How much of its requests of the day a usage alert is about, in percent: 80 or 100.',
      }),
    ),
  }),
  key: data('KeyEventData', 'An API key, without its secret.', Type.String({ description: 'The id of the key.' }), {
    accountId,
    deployment,
    createdAt,
    scopes: Type.Optional(Type.Array(Type.String(), { description: 'Its scopes; `*` stands for all.' })),
    networks: Type.Optional(
      Type.Array(Type.String(), { description: 'The networks that it is accepted from; absent for all.' }),
    ),
    budget: Type.Optional(
      Type.Object(
        { perMinute: Type.Optional(Type.Integer()), perDay: Type.Optional(Type.Integer()) },
        { description: 'Its own limits, within those of its account; absent if it has none.' },
      ),
    ),
    expiresAt: Type.Optional(timeSchema('When it expires; absent if it does not.')),
    revokedAt: Type.Optional(timeSchema('When it was revoked; absent if it was not.')),
  }),
  ban: data('BanEventData', 'A ban of a key.', Type.String({ description: 'The id of the key.' }), {
    accountId,
    deployment,
    bannedAt: Type.Optional(timeSchema('When it began.')),
    until: Type.Optional(timeSchema('When it ends.')),
    liftedAt: Type.Optional(timeSchema('When it was lifted; absent if it was not.')),
  }),
  webhook: recordedSchema(
    webhookFields,
    'WebhookEventData',
    `A webhook ${AFTERWARDS}, with its URL without the query.`,
    {
      id: webhookFields.id.schema,
    },
  ),
};

function data(title: string, description: string, id: TSchema, members: TProperties) {
  return Type.Object({ id, ...members }, { title, description });
}

const AnyId = Type.Union([Type.Integer({ format: 'int64' }), Type.String()], {
  description: 'The id of the resource.',
});
const AnyData = data('OtherEventData', 'The resource after the change, or before its deletion.', AnyId, {});

/** The schemas of the events of each kind, `PetEvent` for instance, by kind. */
export const eventSchemas = Object.fromEntries(
  Object.entries(actions).map(([kind, [...names]]) => {
    const types = Type.Enum(
      names.map(name => `${kind}.${name}`),
      { description: 'The event type.' },
    );
    const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Event`;
    return [kind, eventSchema(name, `An event of the kind \`${kind}\`.`, types, dataSchemas[kind] ?? AnyData)];
  }),
);

const OtherEvent = eventSchema(
  'OtherEvent',
  'An event of a type that this document does not know yet.',
  Type.String({ description: 'The event type.' }),
  AnyData,
);

/** An event as the API shows it. */
export const Event = Type.Union([...Object.values(eventSchemas), OtherEvent], {
  $id: 'Event',
  description: 'An event. More types may be added: ignore unknown ones.',
});

export const Events = Type.Array(Event, { $id: 'Events' });
