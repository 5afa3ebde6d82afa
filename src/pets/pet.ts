import Type, { type Static } from 'typebox';
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

const Name = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    description:
      'The animal’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters.',
  }),
  name => nameFault(name) === undefined,
  name => nameFault(name) ?? '',
);

/** What is sent to add an animal (contract, NewPet). An `id` in it is ignored: the service assigns it. */
export const NewPet = Type.Object(
  { name: Name, categoryId: CategoryId, status: Type.Optional(PetStatus) },
  { title: 'NewPet', description: 'An animal to add.' },
);
export type NewPet = Static<typeof NewPet>;

/** An animal as it is answered: exactly these fields, in this order (contract, Animal). */
export const Pet = Type.Object(
  {
    id: PetId,
    name: Type.String({ description: 'The animal’s name.' }),
    categoryId: CategoryId,
    status: Type.Optional(PetStatus),
  },
  { title: 'Pet', description: 'An animal.' },
);
export type Pet = Static<typeof Pet>;

/** A page of animals (contract, Pets). */
export const Pets = Type.Array(Pet, { title: 'Pets', description: 'Animals.' });
