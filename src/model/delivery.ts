import { columnsFor } from '../lib/fields/columns.ts';
import { field, type PlainRowOf, type RowOf, time } from '../lib/fields/field.ts';
import { fullSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { BODY_KEPT_BYTES } from '../lib/http/client/outcome.ts';
import { documentedRule, idSchema, requestTimeSchema, timeSchema } from '../lib/schemas.ts';
import { countText } from '../lib/text.ts';
import { formatTime } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import { EventId, eventIdAt } from './public-event.ts';

/** The id of a delivery: assigned from 1 upward, never reused. */
export const DeliveryId = idSchema('Assigned by the service.');

export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed'], {
  title: 'DeliveryStatus',
  description:
    '`pending`: not delivered yet. `delivered`: the receiver responded with 200–299. `failed`: the last attempt of the retry ' +
    'schedule failed.',
});

const AttemptNumber = Type.Integer({
  minimum: 1,
  description:
    'The number of the attempt, from 1. Numbers are missing where the service itself interrupted an attempt.',
});
const Duration = Type.Integer({ minimum: 0, description: 'The duration of the attempt in milliseconds.' });
const HttpStatus = Type.Integer({ description: 'The HTTP status of the response; absent without a response.' });
const AttemptFault = Type.String({ description: 'Why there was no response.', examples: ['timeout'] });
const Answer = Type.String({
  description: `The first ${countText(BODY_KEPT_BYTES)} bytes of the response body. Lists leave it out.`,
});
const nonEmpty = { encode: (text: string) => text, decode: (text: string) => text || undefined };

/** The fields of an attempt; the plain view is that of lists. */
export const attemptFields = {
  number: field(AttemptNumber, { column: 'number', view: 'plain' }),
  at: field(timeSchema('When the attempt began.'), { column: 'at', codec: time, view: 'plain' }),
  durationMs: field(Duration, { column: 'duration_ms', view: 'plain' }),
  status: field(HttpStatus, { column: 'status', nullable: true, view: 'plain' }),
  fault: field(AttemptFault, { column: 'fault', nullable: true, view: 'plain' }),
  answer: field(Answer, { column: 'answer', codec: nonEmpty, nullable: true }),
  deliveryId: field(DeliveryId, { column: 'delivery_id', view: 'row' }),
};

/** The columns of queries over attempts. */
export const attemptColumns = columnsFor(attemptFields);
const attemptValues = valuesFor(attemptFields);

/** An attempt as stored. Lists omit `answer`. */
export type AttemptRow = PlainRowOf<typeof attemptFields> & Partial<RowOf<typeof attemptFields>>;

const Attempt = fullSchema(
  attemptFields,
  'WebhookAttempt',
  'An attempt to send a delivery. It succeeds with a status from 200 to 299.',
);

const DeliveredEvent = Type.String({
  ...EventId,
  description: 'The event, which is also the `webhook-id`; absent for a test delivery.',
});
const DeliveredType = Type.String({
  description: 'The type of the event; `webhook.test` for a test delivery.',
  examples: ['pet.updated'],
});
const NextAttempt = timeSchema(
  'When the next attempt is due; absent if the delivery is finished, in progress, or waits for an earlier event with the same ' +
    'ordering key.',
);

/**
 * The fields of a delivery. Four columns keep the names of earlier releases: `place` is the position, `lane` the ordering
 * key, `leased` whether the delivery is claimed, and `takes` the number of its claims.
 */
export const deliveryFields = {
  id: field(DeliveryId, { column: 'id', generated: true }),
  eventId: field(DeliveredEvent, {
    derive: ({ position }: { position: number | null }) => (position === null ? null : eventIdAt(position)),
    nullable: true,
  }),
  type: field(DeliveredType, { column: 'type' }),
  status: field(DeliveryStatus, { column: 'status' }),
  createdAt: field(timeSchema('When the delivery was created.'), { column: 'created_at', codec: time }),
  updatedAt: field(timeSchema('When the delivery was last changed.'), { column: 'updated_at', codec: time }),
  nextAttemptAt: field(NextAttempt, {
    derive: ({ dueAt, claimed }: { dueAt: number | null; claimed: number }) =>
      dueAt === null || claimed === 1 ? null : formatTime(dueAt),
    nullable: true,
  }),
  attempts: field(Type.Array(Attempt, { description: 'Every attempt, oldest first.' }), {
    derive: ({ attempts }: { attempts: readonly AttemptRow[] }) =>
      attempts.map(attempt => attemptValues.fullOf(attempt as Required<AttemptRow>)),
  }),
  webhookId: field(Type.Integer(), { column: 'webhook_id', view: 'row' }),
  /** The position of the event; null for a test delivery. */
  position: field(Type.Integer(), { column: 'place', nullable: true, view: 'row' }),
  /** Deliveries to a webhook with the same key are sent in order. */
  orderingKey: field(Type.String(), { column: 'lane', view: 'row' }),
  /** When to send it, or when its lease ends; null while it waits for an earlier delivery with its ordering key. */
  dueAt: field(Type.Integer(), { column: 'due_at', nullable: true, view: 'row' }),
  /** 1 while a process has claimed it. */
  claimed: field(Type.Integer(), { column: 'leased', generated: true, view: 'row' }),
  /** How often it was claimed. Only the process with the latest claim records a failure. */
  claims: field(Type.Integer(), { column: 'takes', generated: true, view: 'lock' }),
  /** The number of failed attempts. */
  failures: field(Type.Integer(), { column: 'failures', generated: true, view: 'lock' }),
  /** The account that caused the event; 0 for the operator and automatic changes, null for a test delivery. */
  causeId: field(Type.Integer(), { column: 'cause_id', generated: true, nullable: true, view: 'lock' }),
  /** Its number in the round robin of the accounts that caused events; null after a failed attempt. */
  turn: field(Type.Integer(), { column: 'turn', generated: true, nullable: true, view: 'lock' }),
  /** 1 if it was created before the deliveries of earlier events; see `dispatch-ahead.ts`. */
  ahead: field(Type.Integer(), { column: 'ahead', generated: true, nullable: true, view: 'lock' }),
};

/** The columns of queries over deliveries. */
export const deliveryColumns = columnsFor(deliveryFields);

/** A delivery as stored, with its attempts, oldest first. Times are milliseconds since the Unix epoch. */
export type DeliveryRow = RowOf<typeof deliveryFields> & { readonly attempts: readonly AttemptRow[] };

export const Delivery = fullSchema(
  deliveryFields,
  'Delivery',
  'The delivery of one event to one webhook, with every attempt.',
);
export type Delivery = Static<typeof Delivery>;

/** Returns a delivery in the form of responses. */
export const deliveryOf: (row: DeliveryRow) => Delivery = valuesFor(deliveryFields).fullOf;

export const Deliveries = Type.Array(Delivery, { title: 'Deliveries', description: 'Deliveries.' });

const RedeliveredEvent = Type.Optional(Type.String({ ...EventId, description: 'The event to deliver again.' }));

/** The body of `redeliverEvents`: one event, or all events since a time. */
export const NewRedelivery = Type.Object(
  {
    eventId: RedeliveredEvent,
    since: Type.Optional(
      requestTimeSchema(
        'Deliver again all events that were recorded at this time or later (RFC 3339).',
        '2026-11-21T11:00:00Z',
      ),
    ),
  },
  {
    title: 'NewRedelivery',
    description: 'Either `eventId` or `since`.',
    ...documentedRule({ minProperties: 1, maxProperties: 1, additionalProperties: false }),
  },
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
