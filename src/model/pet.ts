import { etagOf } from '../lib/etag.ts';
import { columnsFor } from '../lib/fields/columns.ts';
import { field, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import {
  changesSchema,
  fullSchema,
  newSchema,
  patchSchema,
  plainSchema,
  recordedSchema,
} from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { documentedRule, idSchema, lineSchema, openEnum, optionalId, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { NAME_LENGTH_MAX } from '../lib/text.ts';
import { type Static, Type } from '../lib/type.ts';
import { ageAt } from './age.ts';
import { CategoryId } from './category.ts';
import type { Noun } from './noun.ts';
import { photoOf, photosCodec, photosSchema, RecordedPhotos } from './photo.ts';
import { profileFields } from './profile.ts';

/** The availability of a pet (contract, PetStatus). */
export const PetStatus = Type.Enum(['available', 'pending', 'sold'], {
  title: 'PetStatus',
  description: 'Availability of an animal.',
});
export type PetStatus = Static<typeof PetStatus>;

/** The id of a pet: assigned by the database from 1 upward, never reused (contract, Pet `id`). */
export const PetId = idSchema('Assigned by the service on creation.');

/** A price in the smallest unit of its currency: 12500 EUR are 125 euros. */
export const Price = Type.Object(
  {
    amount: Type.Integer({
      format: 'int64',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'In the smallest unit of the currency: 12500 for 125.00 EUR.',
    }),
    currency: Type.String({
      ...documentedRule({ maxLength: 3 }),
      pattern: '^[A-Z]{3}$',
      examples: ['EUR'],
      description: 'ISO 4217 code: three capital letters.',
    }),
  },
  { title: 'Price', description: 'A price or an adoption fee.' },
);
export type Price = Static<typeof Price>;

const PricePatch = Type.Partial(Price, {
  title: 'PricePatch',
  description:
    'The fields of the price to change; the others stay. If the animal has no price, both fields are required.',
});

const Name = lineSchema(
  `The animal’s name, stored as sent: 1–${NAME_LENGTH_MAX} characters, at least one of them not white space, no control characters.`,
);
const ShownName = Type.String({ description: 'The animal’s name.' });
const StatusReason = lineSchema(
  'The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it.',
);
const AccountId = Type.Integer({ format: 'int64', description: 'The account that the animal belongs to.' });
const CreatedAt = timeSchema('When the animal was added.');
const UpdatedAt = timeSchema('When the animal last changed.');
const Etag = Type.String({ description: 'The entity tag of the animal, to send in `If-Match`.' });

/**
 * The fields of a pet, one entry each. Schemas, table, queries, events, history, command line and documentation derive
 * from them: a new optional field is one entry here and one migration.
 *
 * A hold or an order reserves a pet until `reserved_until`. From then on, every read shows the pet as available and
 * with another version, even if its row does not record that yet.
 */
export const petFields = {
  id: field(PetId, { column: 'id', view: 'plain', generated: true, fixed: true }),
  name: field(Name, { column: 'name', write: 'required', view: 'plain', shown: ShownName }),
  categoryId: field(CategoryId, { column: 'category_id', write: 'required', view: 'plain', cli: { flag: 'category' } }),
  status: field(PetStatus, {
    column: 'status',
    write: 'optional',
    default: 'available',
    view: 'plain',
    // Only reserved pets are pending. For others, SQLite reads no more than the index by name, which has the status.
    at: now => sql`case when status = 'pending' and reserved_until <= ${now} then 'available' else status end`,
  }),
  statusReason: field(StatusReason, {
    column: 'status_reason',
    write: 'optional',
    at: now => sql`case when reserved_until <= ${now} then null else status_reason end`,
    cli: { flag: 'reason' },
  }),
  price: field(Price, {
    columns: { amount: 'price_amount', currency: 'price_currency' },
    write: 'optional',
    patch: PricePatch,
  }),
  ...profileFields,
  photos: field(RecordedPhotos, {
    column: 'photos',
    codec: photosCodec,
    nullable: true,
    recorded: true,
    shown: photosSchema('animal'),
  }),
  accountId: field(AccountId, { column: 'account_id', fixed: true }),
  createdAt: field(CreatedAt, { column: 'created_at', codec: time, fixed: true }),
  updatedAt: field(UpdatedAt, {
    column: 'updated_at',
    codec: time,
    at: now => sql`case when reserved_until <= ${now} then reserved_until else updated_at end`,
  }),
  version: field(Type.Integer(), {
    column: 'version',
    generated: true,
    view: 'row',
    at: now => sql`case when reserved_until <= ${now} then version + 1 else version end`,
  }),
  etag: field(Etag, { derive: etagOf }),
  reservedUntil: field(Type.Integer(), { column: 'reserved_until', nullable: true, view: 'lock' }),
};
export type PetFields = typeof petFields;

/** The columns of queries over pets. */
export const petColumns = columnsFor(petFields);

/** Conversions between JSON values and rows of pets. */
export const petValues = valuesFor(petFields);

/** A row of the full view. */
export type PetRow = RowOf<PetFields>;

/** The recorded fields of a pet, as events store them. */
export type PetState = StateOf<PetFields>;

/**
 * Returns the full view of a pet as of `now`. Its owner and admins see every field.
 * @param reader the account that sees it
 */
export function fullPetOf(row: PetRow, reader: PetReader, now: number): FullPet {
  const sees = reader.admin || row.accountId === reader.accountId;
  return shownPet(sees ? petValues.fullOf(row) : petValues.publicOf(row), row, now, reader.publicUrl);
}

/** Completes a view of a row with the age as of `now` and the URLs of photos. */
export function shownPet<Shown extends Pick<FullPet, 'age' | 'photos'>>(
  pet: Shown,
  row: PetRow,
  now: number,
  publicUrl = '',
): Shown {
  return {
    ...pet,
    ...(pet.age === undefined && row.birthDate !== null && { age: ageAt(row.birthDate, now) }),
    ...(pet.photos !== undefined && { photos: pet.photos.map(photo => photoOf(photo, publicUrl)) }),
  };
}

/** The account that sees a pet. */
export interface PetReader {
  readonly accountId: number | null;
  readonly admin: boolean;
  /** The public address at which URLs begin; without it, they are paths. */
  readonly publicUrl?: string;
}

/** A reader who does not own pets. */
export const anyone: PetReader = { accountId: 0, admin: false };

/** The body that adds or replaces a pet (contract, NewPet). An `id` in it is ignored. */
export const NewPet = newSchema(petFields, 'NewPet', 'An animal to add.');
export type NewPet = Static<typeof NewPet>;

/** The body that changes a pet: a JSON Merge Patch (RFC 7396). */
export const PetPatch = patchSchema(petFields, 'PetPatch');
export type PetPatch = Static<typeof PetPatch>;

export const PetView = Type.Enum(['plain', 'full'], {
  default: 'plain',
  description: '`full` adds every other field, such as the price, the owner, the times and the entity tag.',
});

export type PetView = Static<typeof PetView>;

/** The plain view of a pet (contract, Animal): exactly these fields, in this order. */
export const Pet = plainSchema(petFields, 'Pet', 'An animal.', { status: Type.Optional(PetStatus) });
export type Pet = Static<typeof Pet>;

export const Distance = Type.Object(
  {
    value: Type.Number({ minimum: 0, description: 'The number of units, to one decimal.', examples: [12.4] }),
    unit: Type.Enum(['km', 'mi'], { description: 'The unit: the unit of `within`, or else kilometers.' }),
  },
  { title: 'Distance', description: 'In a list with `near`: how far away the organization of the animal is.' },
);
export type Distance = Static<typeof Distance>;

/** A stored value that is unknown. */
const Warning = Type.Object(
  {
    path: Type.String({ description: 'A JSON Pointer to the value.' }),
    code: Type.String({ description: '`unknown_value`. More codes may be added.' }),
    message: Type.String({ description: 'The warning in English.' }),
    value: Type.String({ description: 'The value.' }),
    suggestion: Type.Optional(Type.String({ description: 'The most similar known value, if any is similar.' })),
  },
  { title: 'Warning', description: 'A warning about a value.' },
);
export type Warning = Static<typeof Warning>;

/** The full view of a pet. */
export const FullPet = fullSchema(petFields, 'FullPet', 'An animal with all its fields.', {
  distance: Type.Optional(Distance),
  warnings: Type.Optional(
    Type.Array(Warning, { description: 'Only in the response to a change: warnings about unknown values.' }),
  ),
});
export type FullPet = Static<typeof FullPet>;

/** Returns the fields of a row that a card shows, without those that `shownPet` adds. */
export const cardOf = petValues.readerFor([
  ...(['id', 'name', 'status', 'categoryId', 'accountId', 'price', 'createdAt'] as const),
  ...(['breeds', 'sex', 'age', 'size', 'photos'] as const),
]);

/** The fields of a pet on a card, which everyone sees. */
export type PetCard = ReturnType<typeof cardOf> & Pick<FullPet, 'distance'>;

/**
 * A deleted pet in a list of changes: a Pet without a status. The schema has an optional status, so that typed clients
 * can read `status` of every item of a list.
 */
export const RemovedPet = Type.Object(
  { ...Pet.properties, deletedAt: timeSchema('When the animal was deleted.') },
  { title: 'RemovedPet', description: 'A deleted animal, with its last values and without a status.' },
);
export type RemovedPet = Static<typeof RemovedPet>;

/** A page of pets. The larger schemas come first, so that a client that uses the first match loses no members. */
export const Pets = Type.Array(Type.Union([FullPet, RemovedPet, Pet]), { title: 'Pets', description: 'Animals.' });

/** The reason why a pet changed, if its owner did not change it. */
export const petReasons = [
  'held',
  'hold_released',
  'hold_expired',
  'order_placed',
  'order_cancelled',
  'order_expired',
  'order_delivered',
  'order_returned',
  'category_merged',
  'transferred',
] as const;
export type PetReason = (typeof petReasons)[number];

const VISIBILITY = 'Visible to the animal’s owner, to the account that made the change and to admins.';

export const PetHistoryEntry = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'Increases with every entry of the same animal.' }),
    at: timeSchema('When the change happened.'),
    type: Type.Enum(['created', 'updated', 'deleted'], { description: 'The kind of change.' }),
    reason: Type.Optional(openEnum(petReasons, 'Why the service changed the animal; absent if its owner changed it.')),
    changes: Type.Optional(
      changesSchema(
        petFields,
        'The fields that changed, each with its value before (`from`) and after (`to`) the change. `from` or `to` is absent if there was no value.',
      ),
    ),
    accountId: optionalId(`The account that made the change. ${VISIBILITY}`),
    holdId: optionalId(`The hold that caused the change. ${VISIBILITY}`),
    orderId: optionalId(`The order that caused the change. ${VISIBILITY}`),
  },
  { title: 'PetHistoryEntry', description: 'A change of an animal.' },
);
export type PetHistoryEntry = Static<typeof PetHistoryEntry>;

/** A page of a pet's history. */
export const PetHistory = Type.Array(PetHistoryEntry, {
  title: 'PetHistory',
  description: 'The changes of an animal, oldest first.',
});

export const pet = {
  tag: { name: 'Pets', description: 'The animals in the store.', group: 'Catalogue' },
  table: { name: 'pets', fields: petFields, accounts: ['account_id'], checks: {} },
  events: {
    actions: { created: 'creates', updated: 'changes', deleted: 'deletes' },
    scopes: ['pets:read', 'events:read'],
    visibleTo: 'everyone',
    belongsTo: 'owners',
    data: recordedSchema(petFields, 'PetEventData', 'An animal after the change, or before its deletion.', {
      id: PetId,
      accountId: optionalId('The account that the resource belongs to.'),
    }),
  },
  exported: { animals: ['listPets', { owner: 'me', view: 'full' }] },
  deletion: ['pets'],
  commands: {
    list: {
      summary: 'List animals.',
      account: 'Only the animals of this account; see `petstore account list`.',
      flags: { updatedSince: null, includeRemoved: null, owner: null },
      options: { external: { description: 'Only the animal to which the account gave this identifier.' } },
      list: {
        columns: ['name', 'categoryId', 'status', 'price', 'accountId', 'updatedAt'],
        noun: 'animals',
        hint: '`petstore pet create --account ID --name NAME --category ID` creates one. To list the animals of staging, add --deployment staging.',
        stagingHint: '`petstore staging reset` creates the sample animals.',
      },
      examples: {
        '--status pending': 'animals that are held, ordered or set aside',
        '--account 1 --sort name': 'the animals of an account, by name',
        '--deployment staging --limit 1000 --json': 'for a program',
      },
    },
    show: {
      summary: 'Show an animal, and the hold or order that reserves it.',
      options: { history: { description: 'Also show its history; works even if the animal was deleted.' } },
      examples: { '7': 'its current state', '7 --history': 'everything that happened to it' },
    },
    create: {
      reads: 'getPet',
      account: 'The account that owns the animal; see `petstore account list`.',
      options: { status: { default: 'available' } },
      examples: {
        '--account 1 --name Minka --category 2': 'a cat that is available',
        '--account 1 --name Rex --category 1 --status pending --reason "in foster" --price "125.00 EUR"':
          'a dog that is not available yet',
      },
    },
    update: {
      reads: 'getPet',
      details:
        'Fields without an option stay as they are. A new status clears the reason of the old one. While a hold or an order reserves an animal, only this hold or order can change its status.',
      examples: { '7 --status pending --reason medical': 'set an animal aside', '7 --price none': 'remove its price' },
    },
    delete: {
      reads: 'getPet',
      details: 'Deletes without asking. The history of the animal stays.',
      examples: { '7': 'an animal that was added by mistake' },
      done: ({ id, name }) =>
        `Deleted the animal ${id}, ${name}; \`petstore pet show ${id} --history\` still shows its history.`,
    },
  },
} as const satisfies Noun;
