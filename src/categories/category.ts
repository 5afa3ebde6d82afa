import Type, { type Static } from 'typebox';
import { NAME_LENGTH_MAX, nameFault } from '../lib/name.ts';

/** The id of a category: an integer from 1 to 2^53−1 (contract, NewPet `categoryId`; decisions, requests and answers). */
export const CategoryId = Type.Integer({
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Identifier of the category the animal belongs to.',
});

/** How long a slug may be. */
export const SLUG_LENGTH_MAX = 100;

const SLUG = 'A short name for URLs, which no other category has: lower-case letters and digits with single hyphens.';

/** The short name of a category for URLs; no two have the same. */
export const Slug = slug(SLUG);

const Name = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    description:
      'The category’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters.',
  }),
  value => nameFault(value) === undefined,
  value => nameFault(value) ?? '',
);

const ParentId = Type.Integer({
  ...CategoryId,
  description: 'The category that it stands below; absent at the top. Ten levels are the most.',
});

/** What is sent to add a category. An `id` in it is ignored: the service assigns it. */
export const NewCategory = Type.Object(
  {
    name: Name,
    slug: Type.Optional(slug(`${SLUG} Made from the name where it is left out.`)),
    parentId: Type.Optional(ParentId),
  },
  { title: 'NewCategory', description: 'A category to add.' },
);
export type NewCategory = Static<typeof NewCategory>;

/** What is sent to change some of a category: a JSON Merge Patch (RFC 7396). */
export const CategoryPatch = Type.Object(
  {
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    parentId: Type.Optional(
      Type.Union([ParentId, Type.Null()], {
        description: 'The category that it is to stand below; `null` takes it to the top.',
      }),
    ),
  },
  { title: 'CategoryPatch', description: 'The members of a category to change.' },
);
export type CategoryPatch = Static<typeof CategoryPatch>;

/** What is sent to merge a category into another. */
export const CategoryMerger = Type.Object(
  { intoId: Type.Integer({ ...CategoryId, description: 'The category that takes over all that is in this one.' }) },
  { title: 'CategoryMerger', description: 'Where all that is in a category goes.' },
);

const Time = Type.String({ format: 'date-time' });

/** A category as it is answered. */
export const Category = Type.Object(
  {
    id: Type.Integer({ ...CategoryId, description: 'Assigned by the service, or first named by an animal.' }),
    name: Type.String({ description: 'The category’s name.' }),
    slug: Slug,
    parentId: Type.Optional(ParentId),
    placeholder: Type.Boolean({
      description: 'Whether it was made for an animal that named its id, and nobody has given it a name yet.',
    }),
    createdAt: Type.Optional({ ...Time, description: 'When it was added; absent for the usual ones.' }),
    updatedAt: Type.Optional({ ...Time, description: 'When it was changed last; absent where it never was.' }),
  },
  { title: 'Category', description: 'What kind of animals there are: one place in the tree of categories.' },
);
export type Category = Static<typeof Category>;

/** A page of categories. */
export const Categories = Type.Array(Category, { title: 'Categories', description: 'Categories.' });

function slug(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: SLUG_LENGTH_MAX,
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    examples: ['guinea-pigs'],
    description,
  });
}
