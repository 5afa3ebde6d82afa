import Type, { type Static } from 'typebox';
import { NOTE_LENGTH_MAX, noteFault } from '../lib/note.ts';
import { parseTime } from '../lib/time.ts';

/** The most animals that one hold has. */
const PETS_MAX = 20;

/** How a hold is: it ends once, and stays ended. */
export const HoldStatus = Type.Enum(['active', 'released', 'used', 'expired'], {
  title: 'HoldStatus',
  description:
    '`active` while the animals are kept; `released` by somebody; `used` when every animal of it was ordered; `expired` ' +
    'from the very moment of its end.',
});
export type HoldStatus = Static<typeof HoldStatus>;

/** The id of a hold: assigned by the service from 1 upward, never given twice. */
export const HoldId = id('Assigned by the service when the hold is placed.');

const Note = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NOTE_LENGTH_MAX,
    description: 'What is to be remembered with it: 1–1,000 characters, stored as sent; line breaks may be in it.',
  }),
  value => noteFault(value) === undefined,
  value => noteFault(value) ?? '',
);

/** What is sent to keep animals. */
export const NewHold = Type.Object(
  {
    petIds: Type.Array(id('An animal.'), {
      minItems: 1,
      maxItems: PETS_MAX,
      uniqueItems: true,
      description: 'The animals that belong together: all are kept, or none. 1–20, each once.',
    }),
    expiresAt: Type.Optional(end(' Without it, 15 minutes from now.')),
    note: Type.Optional(Note),
  },
  { title: 'NewHold', description: 'Animals to keep.' },
);
export type NewHold = Static<typeof NewHold>;

/** What is sent to move the end of a hold. */
export const HoldExtension = Type.Object(
  { expiresAt: end() },
  { title: 'HoldExtension', description: 'When a hold is to end instead.' },
);
export type HoldExtension = Static<typeof HoldExtension>;

/** A hold as it is answered. */
export const Hold = Type.Object(
  {
    id: HoldId,
    petIds: Type.Array(id('An animal.'), {
      description: 'The animals, by rising id; also those that were ordered since.',
    }),
    accountId: id('The account that the animals are kept for.'),
    status: HoldStatus,
    note: Type.Optional(Note),
    expiresAt: time('When it ends by itself, or would have.'),
    endedAt: Type.Optional(time('When it ended.')),
    createdAt: time('When it was placed.'),
    updatedAt: time('When it was changed last.'),
  },
  { title: 'Hold', description: 'Animals that are kept for an account until a time.' },
);
export type Hold = Static<typeof Hold>;

/** A page of holds. */
export const Holds = Type.Array(Hold, { title: 'Holds', description: 'Holds.' });

function id(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

function time(description: string) {
  return Type.String({ format: 'date-time', description });
}

function end(more = '') {
  const description =
    'When the hold ends by itself (RFC 3339): at least one second from now, at most 30 days after it was placed.';
  return Type.Refine(
    Type.String({ format: 'date-time', description: description + more, examples: ['2026-11-21T12:15:00Z'] }),
    value => parseTime(value) !== undefined,
    () => 'must be a time as RFC 3339 has it, such as 2026-11-21T12:15:00Z',
  );
}
