import Type, { type Static } from 'typebox';

/** The actions that are recorded of each kind of resource. */
const actions = {
  pet: ['created', 'updated', 'deleted'],
  category: ['created', 'updated', 'deleted', 'merged'],
  hold: ['created', 'extended', 'released', 'used', 'expired'],
  order: ['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'],
  message: ['queued', 'delivered', 'failed'],
  account: ['created', 'updated', 'suspended', 'resumed'],
  key: ['created', 'rotated', 'revoked'],
  ban: ['imposed', 'lifted'],
} as const;

type Actions = typeof actions;
type EventType = { [Kind in keyof Actions]: `${Kind}.${Actions[Kind][number]}` }[keyof Actions];

export const eventTypes = Object.entries(actions).flatMap(([kind, all]) =>
  all.map(action => `${kind}.${action}` as EventType),
);

/** Event types to select, or all types of one kind of resource. */
export const EventTypes = Type.Array(Type.Enum([...Object.keys(actions).map(kind => `${kind}.*`), ...eventTypes]), {
  minItems: 1,
  maxItems: 50,
  description: 'Returns only events of these types. `pet.*` selects all types of one kind.',
});

/** The id of an event, as a parameter. */
export const EventId = { pattern: '^evt_(0|[1-9]\\d{0,15})$', maxLength: 20, examples: ['evt_42'] } as const;

const optionalId = (description: string) => Type.Optional(Type.Integer({ format: 'int64', description }));
const optionalText = (description: string) => Type.Optional(Type.String({ description }));

/** An event as the API shows it. */
export const PublicEvent = Type.Object(
  {
    id: Type.String({
      ...EventId,
      description: 'The permanent id of the event. Pass it as `after` to continue from there.',
    }),
    type: Type.Enum(eventTypes, { description: 'The event type. More types may be added; ignore unknown ones.' }),
    time: Type.String({ format: 'date-time', description: 'When it happened.' }),
    sequence: Type.Integer({
      format: 'int64',
      minimum: 1,
      description: 'The position in the total order of all events. Events that you cannot see leave gaps.',
    }),
    accountId: optionalId(
      'The account that caused the event. Visible to the owner of the resource, to that account and to admins; absent for ' +
        'automatic changes.',
    ),
    data: Type.Object(
      {
        id: Type.Union([Type.Integer({ format: 'int64' }), Type.String()], { description: 'The id of the resource.' }),
      },
      {
        additionalProperties: true,
        description:
          'The resource after the change, or before its deletion: the fields of a pet, category, hold or order, without ' +
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
      { description: 'The changed fields; every field of a created or deleted resource.' },
    ),
    cause: Type.Optional(
      Type.Object(
        {
          reason: optionalText('The reason for an indirect change: `held`, `order_placed`, …'),
          holdId: optionalId('The hold behind the change; visible like `accountId`.'),
          orderId: optionalId('The order behind the change; visible like `accountId`.'),
          intoId: optionalId('The target of a category merge.'),
          keyId: optionalText('The other key of a rotation: the previous one, or its successor.'),
          note: optionalText('The note of an order step.'),
        },
        { description: 'Why it happened; absent for direct changes.' },
      ),
    ),
  },
  { $id: 'Event' },
);

/** An event as the API shows it. */
export type PublicEvent = Static<typeof PublicEvent>;

export const PublicEvents = Type.Array(PublicEvent, { $id: 'Events' });

export function eventIdAt(position: number): string {
  return `evt_${position}`;
}

/** Returns the position of an event id that matches the pattern. */
export function positionOf(id: string): number {
  return Number(id.slice('evt_'.length));
}
