import Type, { type Static, type TSchema } from 'typebox';
import { CategoryId } from '../categories/category.ts';
import { NAME_LENGTH_MAX, nameFault } from '../lib/name.ts';

/** Availability of an animal (contract, PetStatus). */
export const PetStatus = Type.Enum(['available', 'pending', 'sold'], {
  title: 'PetStatus',
  description: 'Availability of an animal.',
});

/** The id of an animal: assigned by the service from 1 upward, never given twice (contract, Pet `id`). */
export const PetId = Type.Integer({
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Assigned by the service on creation.',
});

/** What an animal costs, in the smallest unit of its currency: 12500 EUR are 125 euros. */
export const Price = Type.Object(
  {
    amount: Type.Integer({
      format: 'int64',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'In the smallest unit of the currency: 12500 for 125.00 EUR.',
    }),
    currency: Type.String({
      pattern: '^[A-Z]{3}$',
      examples: ['EUR'],
      description: 'ISO 4217: three capital letters.',
    }),
  },
  { title: 'Price', description: 'A price or an adoption fee.' },
);
export type Price = Static<typeof Price>;

/** What is sent to change a price: what is left out stays, as RFC 7396 has it for members of members. */
const PricePatch = Type.Partial(Price, {
  title: 'PricePatch',
  description:
    'The members of a price to change; what is left out stays. Where there is no price yet, both are needed.',
});
export type PricePatch = Static<typeof PricePatch>;

const Name = text(
  NAME_LENGTH_MAX,
  'The animal’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters.',
);

const StatusReason = text(
  NAME_LENGTH_MAX,
  'Why the animal has its status, in the shelter’s words: in foster, medical, adopted. Gone with the next status.',
);

const members = { name: Name, categoryId: CategoryId, status: Type.Optional(PetStatus) };
const more = { statusReason: Type.Optional(StatusReason), price: Type.Optional(Price) };

/** What is sent to add an animal (contract, NewPet). An `id` in it is ignored: the service assigns it. */
export const NewPet = Type.Object({ ...members, ...more }, { title: 'NewPet', description: 'An animal to add.' });
export type NewPet = Static<typeof NewPet>;

/** What is sent to change some of an animal: a JSON Merge Patch (RFC 7396), where `null` takes an optional member away. */
export const PetPatch = Type.Object(
  {
    name: Type.Optional(Name),
    categoryId: Type.Optional(CategoryId),
    status: Type.Optional(PetStatus),
    statusReason: Type.Optional(Type.Union([StatusReason, Type.Null()])),
    price: Type.Optional(Type.Union([PricePatch, Type.Null()])),
  },
  { title: 'PetPatch', description: 'The members of an animal to change; `null` takes an optional one away.' },
);
export type PetPatch = Static<typeof PetPatch>;

const shown = {
  id: PetId,
  name: Type.String({ description: 'The animal’s name.' }),
  categoryId: CategoryId,
};

/** How much is said of an animal. */
export const PetView = Type.Enum(['plain', 'full'], {
  default: 'plain',
  description:
    'How much is said of an animal: `full` adds why it has its status, its price, owner, times and entity tag.',
});

/** An animal as it is answered: exactly these fields, in this order (contract, Animal). */
export const Pet = Type.Object(
  { ...shown, status: Type.Optional(PetStatus) },
  { title: 'Pet', description: 'An animal.' },
);
export type Pet = Static<typeof Pet>;

const Time = Type.String({ format: 'date-time' });

const forSome = 'Shown to the animal’s owner, to the one who did it and to admins.';

/** An animal with all there is to say about it (`view=full`). */
export const FullPet = Type.Object(
  {
    ...shown,
    status: PetStatus,
    statusReason: Type.Optional(StatusReason),
    price: Type.Optional(Price),
    accountId: Type.Integer({ format: 'int64', description: 'The account that the animal belongs to.' }),
    createdAt: { ...Time, description: 'When it was added.' },
    updatedAt: { ...Time, description: 'When it was changed last.' },
    etag: Type.String({ description: 'Its entity tag, to be sent in `If-Match` as it is.' }),
  },
  { title: 'FullPet', description: 'An animal with all there is to say about it.' },
);
export type FullPet = Static<typeof FullPet>;

/**
 * An animal that was taken out, as mirrors are told of it: a Pet without a status. The schema has one all the same, so
 * that programs in typed languages may ask any animal of a list for it.
 */
export const RemovedPet = Type.Object(
  {
    ...shown,
    status: Type.Optional(PetStatus),
    deletedAt: { ...Time, description: 'When it was taken out of the store.' },
  },
  {
    title: 'RemovedPet',
    description: 'An animal that was taken out of the store, as it was at the end; it has no status any more.',
  },
);
export type RemovedPet = Static<typeof RemovedPet>;

/**
 * A page of animals (contract, Pets): each a Pet, unless more was asked for. What says more comes first, so that who
 * takes the first that fits loses nothing.
 */
export const Pets = Type.Array(Type.Union([FullPet, RemovedPet, Pet]), { title: 'Pets', description: 'Animals.' });

/** Something that happened to an animal. */
export const PetHistoryEntry = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'Rises with every entry of one animal.' }),
    at: { ...Time, description: 'When it happened.' },
    type: Type.Enum(['created', 'updated', 'deleted'], { description: 'What happened.' }),
    reason: Type.Optional(
      Type.String({
        description:
          'Why, where not by a wish of its owner: `held`, `hold_released`, `hold_expired`, `order_placed`, `order_cancelled`, `order_expired`, `order_delivered`, `order_returned`, `category_merged`. There may be more.',
      }),
    ),
    changes: Type.Optional(
      Type.Object(
        {
          name: changed(shown.name),
          categoryId: changed(CategoryId),
          status: changed(PetStatus),
          statusReason: changed(Type.String()),
          price: changed(Price),
        },
        {
          description:
            'What changed: each member as it was (`from`) and as it is since (`to`); absent where it had no value.',
        },
      ),
    ),
    accountId: Type.Optional(Type.Integer({ format: 'int64', description: `Who did it. ${forSome}` })),
    holdId: Type.Optional(Type.Integer({ format: 'int64', description: `For which hold. ${forSome}` })),
    orderId: Type.Optional(Type.Integer({ format: 'int64', description: `For which order. ${forSome}` })),
  },
  { title: 'PetHistoryEntry', description: 'Something that happened to an animal.' },
);
export type PetHistoryEntry = Static<typeof PetHistoryEntry>;

/** A page of what happened to an animal. */
export const PetHistory = Type.Array(PetHistoryEntry, {
  title: 'PetHistory',
  description: 'What happened to an animal, oldest first.',
});

function changed<Member extends TSchema>(member: Member) {
  return Type.Optional(Type.Object({ from: Type.Optional(member), to: Type.Optional(member) }));
}

function text(lengthMax: number, description: string) {
  return Type.Refine(
    Type.String({ minLength: 1, maxLength: lengthMax, description }),
    value => nameFault(value) === undefined,
    value => nameFault(value) ?? '',
  );
}
