import Type, { type Static } from 'typebox';
import { columnsFor } from '../lib/fields/columns.ts';
import {
  booleanAsInteger,
  type Codec,
  field,
  json,
  type PreviousOf,
  type RowOf,
  type StateOf,
} from '../lib/fields/field.ts';
import { fullSchema, newSchema, patchSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { idSchema, lineSchema, timeSchema } from '../lib/schemas.ts';
import { formatTime, parseTime } from '../lib/time.ts';

/** The id of a category: an integer from 1 to 2^53−1 (contract, NewPet `categoryId`; decisions, requests and answers). */
export const CategoryId = idSchema('Identifier of the category the animal belongs to.');

/** The maximum length of a slug. */
export const SLUG_LENGTH_MAX = 100;

const SLUG = 'A unique short name for URLs: lower-case letters and digits with single hyphens.';

export const Slug = slug(SLUG);

const Name = lineSchema(
  'The category’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters.',
);
const Id = idSchema('Assigned by the service, or first named by an animal.');
const ParentId = idSchema('The parent category; absent at the top level. The tree has at most ten levels.');
const NewParentId = idSchema('The new parent category; `null` moves the category to the top level.');
const Placeholder = Type.Boolean({
  description: 'Whether an animal created the category by naming its id, and no one has named it since.',
});

/** The time of a change; 0 in the column, and absent in JSON, for a built-in category that was never changed. */
const sinceInstallation: Codec<string, number> = {
  encode: text => parseTime(text)!,
  decode: stored => (stored > 0 ? formatTime(stored) : (undefined as never)),
};

/** The fields of a category, one entry each; schemas, table, queries and events derive from them. */
export const categoryFields = {
  id: field(Id, { column: 'id', fixed: true }),
  name: field(Name, {
    column: 'name',
    write: 'required',
    shown: Type.String({ description: 'The category’s name.' }),
  }),
  slug: field(slug(`${SLUG} Derived from the name by default.`), {
    column: 'slug',
    write: 'optional',
    default: '',
    patch: Slug,
    shown: Slug,
  }),
  parentId: field(ParentId, { column: 'parent_id', write: 'optional', patch: NewParentId, cli: { flag: 'parent' } }),
  breeds: field(addedValues('breeds'), { column: 'breeds', codec: json<string[]>(), write: 'optional', view: 'row' }),
  colors: field(addedValues('colors'), { column: 'colors', codec: json<string[]>(), write: 'optional', view: 'row' }),
  placeholder: field(Placeholder, { column: 'placeholder', codec: booleanAsInteger, recorded: true }),
  /** The account that it belongs to; null for built-in categories and placeholders. */
  accountId: field(Type.Integer(), { column: 'account_id', nullable: true, fixed: true, view: 'row' }),
  /** The account that created it, also by the pet of a placeholder; null for built-in categories and those of the operator. */
  creatorId: field(Type.Integer(), { column: 'creator_id', nullable: true, fixed: true, view: 'row' }),
  createdAt: field(Type.String(), {
    column: 'created_at',
    codec: sinceInstallation,
    fixed: true,
    shown: Type.Optional(timeSchema('When it was created; absent for built-in categories.')),
  }),
  updatedAt: field(Type.String(), {
    column: 'updated_at',
    codec: sinceInstallation,
    shown: Type.Optional(timeSchema('When it last changed; absent if it never did.')),
  }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
};
export type CategoryFields = typeof categoryFields;

/** The columns of queries over categories. */
export const categoryColumns = columnsFor(categoryFields);

/** Conversions between JSON values and rows of categories. */
export const categoryValues = valuesFor(categoryFields);

/** A category as it is stored. Times are milliseconds since the Unix epoch, 0 for built-in categories. */
export type CategoryRow = RowOf<CategoryFields>;

/** The body of `createCategory`. An `id` in it is ignored. */
export const NewCategory = newSchema(categoryFields, 'NewCategory', 'A category to create.');
export type NewCategory = Static<typeof NewCategory>;

/** The body of `updateCategory`: a JSON Merge Patch (RFC 7396). */
export const CategoryPatch = patchSchema(categoryFields, 'CategoryPatch');
export type CategoryPatch = Static<typeof CategoryPatch>;

export const CategoryMerge = Type.Object(
  { intoId: idSchema('The category that takes over the animals and subcategories of this one.') },
  { title: 'CategoryMerger', description: 'The target of a merge.' },
);

/** A category as callers see it. */
export const Category = fullSchema(categoryFields, 'Category', 'A category of animals, in a tree of categories.');
export type Category = Static<typeof Category>;

export const Categories = Type.Array(Category, { title: 'Categories', description: 'Categories.' });

export interface CategoryEventData {
  /** The category after the change, or before its end. */
  readonly category: StateOf<CategoryFields>;
  /** The changed members with their values before; `null` for those that were absent. */
  readonly was?: PreviousOf<CategoryFields>;
  /** The account that it belongs to; absent for none, and in events of early releases. */
  readonly ownerId?: number;
  /** Why the service changed it: its parent was merged into another category. */
  readonly reason?: 'category_merged';
  /** The target, if it was merged. */
  readonly intoId?: number;
}

/** Returns the schema of values that a category adds to the known ones of its pets. */
function addedValues(noun: string) {
  return Type.Array(lineSchema('A value.', 100), {
    maxItems: 200,
    uniqueItems: true,
    description: `Up to 200 ${noun} that the category adds to the known ones of its animals; the attributes of the category show all.`,
  });
}

function slug(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: SLUG_LENGTH_MAX,
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    examples: ['guinea-pigs'],
    description,
  });
}
