import Type, { type Static } from 'typebox';

/** All event types. */
export const eventTypes = [
  'pet.created',
  'pet.updated',
  'pet.deleted',
  'category.created',
  'category.updated',
  'category.deleted',
  'category.merged',
  'hold.created',
  'hold.extended',
  'hold.released',
  'hold.used',
  'hold.expired',
  'order.placed',
  'order.approved',
  'order.delivered',
  'order.returned',
  'order.cancelled',
  'order.expired',
  'message.queued',
  'message.delivered',
  'message.failed',
  'account.created',
  'key.created',
  'key.rotated',
  'key.revoked',
  'ban.imposed',
  'ban.lifted',
] as const;

/** Event types to select, or all types of one kind of resource. */
export const EventTypes = Type.Array(
  Type.Enum([...new Set(eventTypes.map(type => `${type.split('.')[0]}.*`)), ...eventTypes]),
  {
    minItems: 1,
    maxItems: 50,
    description: 'Returns only events of these types. `pet.*` selects all types of one kind.',
  },
);

/** The id of an event, as a parameter. */
export const EventId = {
  pattern: '^evt_(0|[1-9]\\d{0,15})$',
  maxLength: 20,
  examples: ['evt_42'],
} as const;

/** An event as the API shows it. */
export const PublicEvent = Type.Object(
  {
    id: Type.String({
      ...EventId,
      description: 'The permanent id of the event. Pass it as `after` to continue from there.',
    }),
    type: Type.Enum([...eventTypes], {
      description: 'The event type. More types may be added; ignore unknown ones.',
    }),
    time: Type.String({ format: 'date-time', description: 'When it happened.' }),
    sequence: Type.Integer({
      format: 'int64',
      minimum: 1,
      description: 'The position in the total order of all events. Events that you cannot see leave gaps.',
    }),
    accountId: Type.Optional(
      Type.Integer({
        format: 'int64',
        description:
          'The account that caused the event. Visible to the owner of the resource, to that account and to admins; absent for automatic changes.',
      }),
    ),
    data: Type.Object(
      {
        id: Type.Union([Type.Integer({ format: 'int64' }), Type.String()], { description: 'The id of the resource.' }),
      },
      {
        additionalProperties: true,
        description:
          'The resource after the change, or before its deletion: the members of a pet, category, hold or order, without ' +
          '`createdAt`, `updatedAt` and the steps of an order; a message without its text; an account without its e-mail ' +
          'address; a key or its ban without secrets, under the `id` of the key.',
      },
    ),
    changes: Type.Record(
      Type.String(),
      Type.Object({
        from: Type.Optional(Type.Unknown({ description: 'The previous value; absent if there was none.' })),
        to: Type.Optional(Type.Unknown({ description: 'The new value; absent if there is none.' })),
      }),
      { description: 'The changed members; every member of a created or deleted resource.' },
    ),
    cause: Type.Optional(
      Type.Object(
        {
          reason: Type.Optional(
            Type.String({ description: 'The reason for an indirect change: `held`, `order_placed`, …' }),
          ),
          holdId: Type.Optional(
            Type.Integer({ format: 'int64', description: 'The hold behind the change; visible like `accountId`.' }),
          ),
          orderId: Type.Optional(
            Type.Integer({ format: 'int64', description: 'The order behind the change; visible like `accountId`.' }),
          ),
          intoId: Type.Optional(Type.Integer({ format: 'int64', description: 'The target of a category merge.' })),
          keyId: Type.Optional(
            Type.String({
              description: 'The other key of a rotation: the previous one, or its successor.',
            }),
          ),
          note: Type.Optional(Type.String({ description: 'The note of an order step.' })),
        },
        { description: 'Why it happened; absent for direct changes.' },
      ),
    ),
  },
  { $id: 'Event' },
);

/** An event as the API shows it. */
export type PublicEvent = Static<typeof PublicEvent>;

/** A page of events. */
export const PublicEvents = Type.Array(PublicEvent, { $id: 'Events' });

/** Returns the id of the event at a position. */
export function eventIdAt(position: number): string {
  return `evt_${position}`;
}

/** Returns the position of an event id that matches the pattern. */
export function positionOf(id: string): number {
  return Number(id.slice('evt_'.length));
}
