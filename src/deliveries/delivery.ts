import Type, { type Static } from 'typebox';
import { EventId } from '../events/public/public-event.ts';
import { idSchema, timeSchema } from '../lib/schemas.ts';
import { parseTime } from '../lib/time.ts';

/** The id of a delivery: assigned from 1 upward, never reused. */
export const DeliveryId = idSchema('Assigned by the service.');

/** The progress of a delivery. */
export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed'], {
  title: 'DeliveryStatus',
  description:
    '`pending`: not delivered yet. `delivered`: the receiver responded with 200–299. `failed`: the last attempt of the retry ' +
    'schedule failed.',
});
export type DeliveryStatus = Static<typeof DeliveryStatus>;

const Attempt = Type.Object(
  {
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the attempt, from 1. Attempts that the service itself interrupted are missing.',
    }),
    at: timeSchema('When it began.'),
    durationMs: Type.Integer({ minimum: 0, description: 'Its duration in milliseconds.' }),
    status: Type.Optional(Type.Integer({ description: 'The HTTP status of the response; absent without a response.' })),
    fault: Type.Optional(Type.String({ description: 'Why there was no response.', examples: ['timeout'] })),
    answer: Type.Optional(
      Type.String({ description: 'The first 1,024 bytes of the response body. Lists leave it out.' }),
    ),
  },
  { title: 'WebhookAttempt', description: 'An attempt to send a delivery. It succeeds with a status from 200 to 299.' },
);

/** A delivery in responses. */
export const Delivery = Type.Object(
  {
    id: DeliveryId,
    eventId: Type.Optional(
      Type.String({
        ...EventId,
        description: 'The event, which is also the `webhook-id`; absent for a test delivery.',
      }),
    ),
    type: Type.String({
      description: 'The type of the event; `webhook.test` for a test delivery.',
      examples: ['pet.updated'],
    }),
    status: DeliveryStatus,
    createdAt: timeSchema('When it was created.'),
    updatedAt: timeSchema('When it was last changed.'),
    nextAttemptAt: Type.Optional(
      timeSchema(
        'When it will be attempted next; absent if it is finished, in progress, or waits for an earlier event with the same ' +
          'ordering key.',
      ),
    ),
    attempts: Type.Array(Attempt, { description: 'Every attempt, oldest first.' }),
  },
  { title: 'Delivery', description: 'The delivery of one event to one webhook, with every attempt.' },
);
export type Delivery = Static<typeof Delivery>;

/** A page of deliveries. */
export const Deliveries = Type.Array(Delivery, { title: 'Deliveries', description: 'Deliveries.' });

const RedeliveredEvent = Type.Optional(Type.String({ ...EventId, description: 'The event to deliver again.' }));

/** The body of `redeliverEvents`: one event, or all events since a time. */
export const NewRedelivery = Type.Object(
  {
    eventId: RedeliveredEvent,
    since: Type.Optional(
      Type.Refine(
        Type.String({
          format: 'date-time',
          description: 'Deliver all events again that were recorded at this time or later (RFC 3339).',
          examples: ['2026-11-21T11:00:00Z'],
        }),
        value => parseTime(value) !== undefined,
        () => 'must be a time in RFC 3339 format, such as 2026-11-21T11:00:00Z',
      ),
    ),
  },
  { title: 'NewRedelivery', description: 'Either `eventId` or `since`.' },
);

/** The response of `redeliverEvents`. */
export const Redelivery = Type.Object(
  {
    id: Type.Optional(idSchema('Identifies the redelivery of all events since a time.')),
    eventId: RedeliveredEvent,
    since: Type.Optional(timeSchema('All events that were recorded at this time or later are delivered again.')),
  },
  { title: 'Redelivery', description: 'The events that will be delivered again.' },
);
