import type { TSchema } from 'typebox';
import { recordedSchema } from '../../lib/fields/schemas.ts';
import { optionalId, optionalText, timeSchema } from '../../lib/schemas.ts';
import { Type } from '../../lib/type.ts';
import { nounEvents } from '../../model/nouns.ts';
import { EventId } from '../../model/public-event.ts';
import { webhookFields } from '../../model/webhook.ts';

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
    holdId: optionalId('The hold that caused the change; it has the visibility of `accountId`.'),
    orderId: optionalId('The order that caused the change; it has the visibility of `accountId`.'),
    intoId: optionalId('The target of a category merge.'),
    keyId: optionalText('The other key of a rotation: the previous one, or its successor.'),
    toAccountId: optionalId('The account that received the animals of another one.'),
    note: optionalText('The note of an order step.'),
  },
  { title: 'EventCause', description: 'Why the event happened; absent for direct changes.' },
);

function eventSchema(name: string, description: string, type: TSchema, data: TSchema) {
  return Type.Object(
    {
      id: Type.String({
        ...EventId,
        description: 'The permanent id of the event. Pass it as `after` to continue from there.',
      }),
      type,
      time: timeSchema('When the event happened.'),
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

/** The webhook in its events. Its fields refer to the types of all events, so its definition cannot have it. */
const WebhookEventData = recordedSchema(
  webhookFields,
  'WebhookEventData',
  'A webhook after the change, or before its deletion. Its URL is shown without the query.',
  { id: webhookFields.id.schema },
);

const AnyId = Type.Union([Type.Integer({ format: 'int64' }), Type.String()], {
  description: 'The id of the resource.',
});
const AnyData = Type.Object(
  { id: AnyId },
  { title: 'OtherEventData', description: 'The resource after the change, or before its deletion.' },
);

/** The schemas of the events of each kind, `PetEvent` for instance, by kind. */
export const eventSchemas = Object.fromEntries(
  Object.entries(nounEvents).map(([kind, { actions, data }]) => {
    const types = Type.Enum(
      Object.keys(actions).map(action => `${kind}.${action}`),
      { description: 'The event type.' },
    );
    const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Event`;
    return [kind, eventSchema(name, `An event of the kind \`${kind}\`.`, types, data ?? WebhookEventData)];
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
