import { field, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { eitherRule, idSchema, Note, requestTimeSchema, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { durationIn, formatTime } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import type { Noun } from './noun.ts';
import { BONDED_MAX } from './profile.ts';
import { HOLD_DEFAULT_MS, HOLD_MAX_MS, HOLD_MIN_MS } from './rules.ts';

/** The status of a hold. After a hold has ended, its status never changes. */
export const HoldStatus = Type.Enum(['active', 'released', 'used', 'expired'], {
  title: 'HoldStatus',
  description:
    '`active` until the hold ends; then `released` if it was released early, `used` if all of its animals were ordered, ' +
    'or `expired`, from the moment of `expiresAt`.',
});
export type HoldStatus = Static<typeof HoldStatus>;

/** The id of a hold: assigned by the database from 1 upward, never reused. */
export const HoldId = idSchema('The id of the hold, assigned by the service.');

/** The ways in which a hold can end. */
const HoldOutcome = Type.Enum(['released', 'used', 'expired']);
export type HoldOutcome = Static<typeof HoldOutcome>;

const NewPetIds = Type.Array(idSchema('The id of an animal.'), {
  minItems: 1,
  maxItems: BONDED_MAX,
  uniqueItems: true,
  description: `Several animals to hold, instead of \`petId\`: 1–${BONDED_MAX}, without duplicates. The hold gets all of them or fails.`,
});
const PetIds = Type.Array(idSchema('The id of an animal.'), {
  maxItems: BONDED_MAX,
  description: 'The animals of the hold, sorted by id, including those that have been ordered.',
});

/** An SQL expression of the status of a hold as of a time. */
export const statusAt = (now: unknown) => sql<HoldStatus>`case
  when holds.ended_at is not null then holds.outcome when holds.expires_at <= ${now} then 'expired' else 'active' end`;

const isExpiredAt = (now: unknown) => sql`holds.ended_at is null and holds.expires_at <= ${now}`;

interface HeldPets {
  /** By id ascending, including pets that have been ordered. */
  readonly petIds: readonly number[];
  /** The owner of each pet, in the order of `petIds`. */
  readonly ownerIds: readonly number[];
}

/**
 * The fields of a hold, one entry each. Schemas, table, queries, events and documentation derive from them.
 *
 * A hold expires at `expires_at`. From then on, every read shows it as expired and with another version, even if its
 * row does not record that yet.
 */
export const holdFields = {
  id: field(HoldId, { column: 'id', generated: true, at: () => sql`holds.id` }),
  petIds: field(NewPetIds, { write: 'required', shown: PetIds, derive: ({ petIds }: HeldPets) => petIds }),
  accountId: field(idSchema('The account that placed the hold.'), { column: 'account_id', recorded: true }),
  status: field(HoldStatus, {
    derive: ({ status }: { readonly status: HoldStatus }) => status,
    recorded: true,
  }),
  note: field(Note, { column: 'note', write: 'optional' }),
  // createHold replaces this default.
  expiresAt: field(expirySchema(` The default is ${durationIn('minute', HOLD_DEFAULT_MS)} from now.`), {
    column: 'expires_at',
    codec: time,
    write: 'optional',
    default: null,
    shown: timeSchema('When the hold expires, or would have expired.'),
  }),
  endedAt: field(timeSchema('When the hold ended.'), {
    column: 'ended_at',
    codec: time,
    nullable: true,
    at: now => sql`case when ${isExpiredAt(now)} then holds.expires_at else holds.ended_at end`,
  }),
  createdAt: field(timeSchema('When the hold was placed.'), { column: 'created_at', codec: time }),
  updatedAt: field(timeSchema('When the hold last changed.'), {
    column: 'updated_at',
    codec: time,
    at: now => sql`case when ${isExpiredAt(now)} then holds.expires_at else holds.updated_at end`,
  }),
  version: field(Type.Integer(), {
    column: 'version',
    generated: true,
    view: 'row',
    at: now => sql`case when ${isExpiredAt(now)} then holds.version + 1 else holds.version end`,
  }),
  outcome: field(HoldOutcome, { column: 'outcome', nullable: true, view: 'lock' }),
};
type HoldFields = typeof holdFields;

/** A hold with its pets. Times are milliseconds since the Unix epoch. */
export type HoldRow = RowOf<HoldFields> & HeldPets & { readonly status: HoldStatus };

/** A hold as events store it. */
export type HoldState = StateOf<HoldFields>;

/** The body that places a hold. */
export const NewHold = holdSchema();
export type NewHold = Static<typeof NewHold>;

/** The body that changes when a hold expires. */
export const HoldExtension = Type.Object(
  { expiresAt: expirySchema() },
  { title: 'HoldExtension', description: 'The new expiry of a hold.' },
);
export type HoldExtension = Static<typeof HoldExtension>;

export const Hold = fullSchema(holdFields, 'Hold', 'A reservation of animals for an account until a given time.');
export type Hold = Static<typeof Hold>;

export const Holds = Type.Array(Hold, { title: 'Holds', description: 'Holds.' });

/** Returns the schema of a new hold, whose animals are in `petId` or `petIds`; see `requestedIds`. */
function holdSchema() {
  const { petIds, ...properties } = newSchema(holdFields, 'NewHold', '').properties;
  return Type.Object(
    { petId: Type.Optional(idSchema('The animal to hold.')), petIds: Type.Optional(petIds), ...properties },
    {
      title: 'NewHold',
      description: 'A hold to place, with either `petId` or `petIds`.',
      ...eitherRule('petId', 'petIds'),
    },
  );
}

function expirySchema(more = '') {
  const description = `When the hold expires (RFC 3339): at least ${durationIn('second', HOLD_MIN_MS, 'words')} from now, at most ${durationIn('day', HOLD_MAX_MS)} after it was placed.${more}`;
  return requestTimeSchema(description, '2026-11-21T12:15:00Z');
}

export const hold = {
  tag: { name: 'Holds', description: 'Pets that are reserved for an account for a limited time.', group: 'Store' },
  table: {
    name: 'holds',
    fields: holdFields,
    accounts: ['account_id'],
    checks: {
      'reservations of holds': () => sql`
        select 'Animal ' || pet_id || ' is reserved by hold ' || holds.id || ', which has ' ||
          case when ended_at is null then 'another expiry' else 'ended' end || '.' as finding
        from reservations join holds on holds.id = hold_id
        where active = 1 and (ended_at is not null or until is null or expires_at <> until)`,
    },
  },
  events: {
    actions: { created: 'creates', extended: 'changes', released: 'changes', used: 'changes', expired: 'changes' },
    scopes: ['orders:read'],
    // The account that placed it, and the owners of its pets.
    visibleTo: 'parties',
    belongsTo: 'account',
    data: recordedSchema(holdFields, 'HoldEventData', 'A hold after the change.', {
      id: holdFields.id.schema,
      endedAt: Type.Optional(holdFields.endedAt.schema),
    }),
    derived: (status, at) => (status === 'active' ? {} : { endedAt: formatTime(at) }),
  },
  exported: { holds: ['listHolds', {}] },
  deletion: ['holds'],
  commands: {
    list: {
      list: {
        columns: ['animals', 'accountId', 'status', 'createdAt', 'expiresAt', 'endedAt'],
        noun: 'holds',
        hint: 'accounts create them with POST /v1/holds.',
      },
      examples: { '--status active': 'what is held now' },
    },
    show: { examples: { '3': 'the account of the hold, and when it ends' } },
    extend: {
      // In the transaction, so that a duration counts from its time.
      reads: 'getHold',
      flags: { expiresAt: 'until' },
      examples: { '3 --until 2h': 'two hours from now', '3 --until 2026-11-24T18:00:00+01:00': 'until the evening' },
    },
    release: { examples: { '3': 'the customer changed their mind' } },
  },
} as const satisfies Noun;
