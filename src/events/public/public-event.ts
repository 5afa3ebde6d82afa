import Type, { type Static } from 'typebox';

/** Every type of event that is told. */
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

/** A type of event, or all types of one kind of thing. */
export const EventTypes = Type.Array(
  Type.Enum([...new Set(eventTypes.map(type => `${type.split('.')[0]}.*`)), ...eventTypes]),
  {
    minItems: 1,
    maxItems: 50,
    description: 'Only events of this type, or of all types of one kind such as `pet.*`; several are alternatives.',
  },
);

/** The id of an event as a parameter. */
export const EventId = {
  pattern: '^evt_(0|[1-9]\\d{0,15})$',
  maxLength: 20,
  examples: ['evt_42'],
} as const;

/** Something that happened, as it is told. */
export const PublicEvent = Type.Object(
  {
    id: Type.String({
      ...EventId,
      description: 'Names the event for good, and the place behind which a reader goes on.',
    }),
    type: Type.Enum([...eventTypes], {
      description: 'What happened to what. More types will come; pass over those that you do not know.',
    }),
    time: Type.String({ format: 'date-time', description: 'When it happened.' }),
    sequence: Type.Integer({
      format: 'int64',
      minimum: 1,
      description: 'Where it stands in the one order of all events; there are others between those that you see.',
    }),
    accountId: Type.Optional(
      Type.Integer({
        format: 'int64',
        description:
          'Who did it: told to the owner of the thing, to who did it and to admins; absent where it happened by itself.',
      }),
    ),
    data: Type.Object(
      { id: Type.Union([Type.Integer({ format: 'int64' }), Type.String()], { description: 'The id of the thing.' }) },
      {
        additionalProperties: true,
        description:
          'The thing as it was after the change, or at its end: members of a pet, a category, a hold or an order, ' +
          'but for its times of creation and change and the steps of an order; of a message, never its text; ' +
          'of an account, never its e-mail address; of a key and of its ban, never a secret, and the `id` is the key’s.',
      },
    ),
    changes: Type.Record(
      Type.String(),
      Type.Object({
        from: Type.Optional(Type.Unknown({ description: 'What it was; absent where there was nothing.' })),
        to: Type.Optional(Type.Unknown({ description: 'What it is; absent where there is nothing any more.' })),
      }),
      { description: 'What changed, member by member; every member of a thing that is new or gone.' },
    ),
    cause: Type.Optional(
      Type.Object(
        {
          reason: Type.Optional(
            Type.String({ description: 'Why, where it was not for its own sake: `held`, `order_placed`, …' }),
          ),
          holdId: Type.Optional(
            Type.Integer({ format: 'int64', description: 'For which hold; told as `accountId` is.' }),
          ),
          orderId: Type.Optional(
            Type.Integer({ format: 'int64', description: 'For which order; told as `accountId` is.' }),
          ),
          intoId: Type.Optional(
            Type.Integer({ format: 'int64', description: 'The category that took over, where one was merged.' }),
          ),
          keyId: Type.Optional(
            Type.String({
              description: 'The other key of a rotation: the one before it, or the one that takes its place.',
            }),
          ),
          note: Type.Optional(Type.String({ description: 'What was said with the step of an order.' })),
        },
        { description: 'Why it happened, and for what, where there is something to say.' },
      ),
    ),
  },
  { $id: 'Event' },
);

/** Something that happened, as it is told. */
export type PublicEvent = Static<typeof PublicEvent>;

/** A page of events. */
export const PublicEvents = Type.Array(PublicEvent, { $id: 'Events' });

/** The id of the event at a place in the one order of all events. */
export function idAt(place: number): string {
  return `evt_${place}`;
}

/** The place that an id of the right form names. */
export function placeIn(id: string): number {
  return Number(id.slice('evt_'.length));
}
