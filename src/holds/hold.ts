import Type, { type Static } from 'typebox';
import { idSchema, Note, timeSchema } from '../lib/schemas.ts';
import { parseTime } from '../lib/time.ts';

/** The status of a hold. A hold ends once; its status never changes afterwards. */
export const HoldStatus = Type.Enum(['active', 'released', 'used', 'expired'], {
  title: 'HoldStatus',
  description:
    '`active` until the hold ends; then `released` if it was released early, `used` if all of its animals were ordered, ' +
    'or `expired`, from the moment of `expiresAt`.',
});
export type HoldStatus = Static<typeof HoldStatus>;

/** The id of a hold: assigned by the database from 1 upward, never reused. */
export const HoldId = idSchema('The id of the hold, assigned by the service.');

/** The body that places a hold. */
export const NewHold = Type.Object(
  {
    petIds: Type.Array(idSchema('The id of an animal.'), {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description: 'The animals to hold: 1–20, without duplicates. The hold gets all of them or fails.',
    }),
    expiresAt: Type.Optional(expirySchema(' The default is 15 minutes from now.')),
    note: Type.Optional(Note),
  },
  { title: 'NewHold', description: 'A hold to place.' },
);
export type NewHold = Static<typeof NewHold>;

/** The body that changes when a hold expires. */
export const HoldExtension = Type.Object(
  { expiresAt: expirySchema() },
  { title: 'HoldExtension', description: 'The new expiry of a hold.' },
);
export type HoldExtension = Static<typeof HoldExtension>;

/** A hold in a response. */
export const Hold = Type.Object(
  {
    id: HoldId,
    petIds: Type.Array(idSchema('The id of an animal.'), {
      description: 'The animals of the hold, by id ascending, including those that have been ordered.',
    }),
    accountId: idSchema('The account that placed the hold.'),
    status: HoldStatus,
    note: Type.Optional(Note),
    expiresAt: timeSchema('When the hold expires, or would have expired.'),
    endedAt: Type.Optional(timeSchema('When the hold ended.')),
    createdAt: timeSchema('When the hold was placed.'),
    updatedAt: timeSchema('When the hold last changed.'),
  },
  { title: 'Hold', description: 'A reservation of one or more animals for an account until a given time.' },
);
export type Hold = Static<typeof Hold>;

/** A page of holds. */
export const Holds = Type.Array(Hold, { title: 'Holds', description: 'Holds.' });

function expirySchema(more = '') {
  const description = `When the hold expires (RFC 3339): at least one second from now, at most 30 days after it was placed.${more}`;
  return Type.Refine(
    Type.String({ format: 'date-time', description, examples: ['2026-11-21T12:15:00Z'] }),
    text => parseTime(text) !== undefined,
    () => 'must be an RFC 3339 time, such as 2026-11-21T12:15:00Z',
  );
}
