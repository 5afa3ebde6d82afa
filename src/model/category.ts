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
import { fullSchema, newSchema, patchSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { idSchema, lineSchema, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { NAME_LENGTH_MAX, spelled } from '../lib/text.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import type { Noun } from './noun.ts';
import { CATEGORY_LEVELS_MAX } from './rules.ts';

/**
 * The id of a category: an integer from 1 to 2^53−1 (contract, NewPet `categoryId`; decisions, requests and responses).
 */
export const CategoryId = idSchema('Identifier of the category the animal belongs to.');

/** The maximum number of breeds, and of colors, that a category adds to the known ones. */
const ADDED_VALUES_MAX = 200;

/** The maximum length of a slug. */
export const SLUG_LENGTH_MAX = 100;

const SLUG = 'A unique short name for URLs: lower-case letters and digits with single hyphens.';

export const Slug = slug(SLUG);

const Name = lineSchema(
  `The category’s name, stored as sent: 1–${NAME_LENGTH_MAX} characters, at least one of them not white space, no control characters.`,
);
const Id = idSchema('Assigned by the service, or chosen by the animal that first named the category.');
const ParentId = idSchema(
  `The parent category; absent at the top level. The tree has at most ${spelled(CATEGORY_LEVELS_MAX)} levels.`,
);
const NewParentId = idSchema('The new parent category; `null` moves the category to the top level.');
const Placeholder = Type.Boolean({
  description:
    'Whether the category is a placeholder: an animal created it by naming its id, and nobody has given it a name yet.',
});

/** The time of a change; 0 in the column, and absent in JSON, for a built-in category that was never changed. */
const sinceInstallation: Codec<string, number> = {
  encode: text => parseTime(text)!,
  decode: stored => (stored > 0 ? formatTime(stored) : (undefined as never)),
};

/** The fields of a category, one entry each. Schemas, table, queries and events derive from them. */
const categoryFields = {
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
  /**
   * The account that created it, or whose pet caused its placeholder; null for built-in categories and those of the
   * operator.
   */
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

/** A category in responses. */
export const Category = fullSchema(categoryFields, 'Category', 'A category of animals, in a tree of categories.');
export type Category = Static<typeof Category>;

export const Categories = Type.Array(Category, { title: 'Categories', description: 'Categories.' });

export interface CategoryEventData {
  /** The category after the change, or before its deletion. */
  readonly category: StateOf<CategoryFields>;
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: PreviousOf<CategoryFields>;
  /** The account that it belongs to; absent if there is none, and in events of early releases. */
  readonly ownerId?: number;
  /** The reason of a change by the service: its parent was merged into another category. */
  readonly reason?: 'category_merged';
  /** The target, if it was merged. */
  readonly intoId?: number;
}

/** Returns the schema of values that a category adds to the known ones of its pets. */
function addedValues(noun: string) {
  return Type.Array(lineSchema('A value.', 100), {
    maxItems: ADDED_VALUES_MAX,
    uniqueItems: true,
    description: `Up to ${ADDED_VALUES_MAX} ${noun} that the category adds to the known ${noun} of its animals; the attributes of the category list all of them.`,
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

export const category = {
  tag: { name: 'Categories', description: 'The tree of categories that pets belong to.', group: 'Catalogue' },
  table: {
    name: 'categories',
    fields: categoryFields,
    accounts: ['account_id', 'creator_id'],
    checks: {
      'tree of categories': () => sql`
        select 'Category ' || id || ' is below itself.' as finding from categories where id not in (
          with recursive tree (id, level) as (
            select id, 1 from categories where parent_id is null
            union all select categories.id, level + 1 from categories join tree on parent_id = tree.id where level < 100
          ) select id from tree)`,
    },
  },
  events: {
    actions: { created: 'creates', updated: 'changes', deleted: 'deletes', merged: 'deletes' },
    scopes: ['pets:read', 'events:read'],
    visibleTo: 'everyone',
    belongsTo: 'owners',
    data: recordedSchema(categoryFields, 'CategoryEventData', 'A category after the change, or before its deletion.', {
      id: categoryFields.id.schema,
    }),
  },
  exported: 'shared by all accounts',
  deletion: [],
  commands: {
    list: {
      summary: 'List categories.',
      flags: { placeholder: 'placeholders' },
      options: {
        placeholders: {
          description: 'Only placeholders: the categories that an animal named and that nobody has given a name yet.',
        },
      },
      list: {
        columns: ['name', 'slug', 'parentId', 'updatedAt'],
        noun: 'categories',
        hint: '`petstore category create --name NAME` creates one.',
      },
      examples: { '': 'the first 20 categories', '--placeholders': 'categories to be named, or merged into another' },
    },
    show: {
      summary: 'Show a category, and how many animals and categories are directly in it.',
      examples: { '2': 'how many cats there are' },
    },
    attributes: {
      operation: 'getCategoryAttributes',
      examples: { '2': 'the known breeds and colors of cats' },
    },
    create: {
      examples: {
        '--name Reptiles': 'a category at the top level',
        '--name "Maine Coon" --parent 2': 'a subcategory of cats',
      },
    },
    update: {
      details: 'A placeholder that gets a name is no longer a placeholder. A category moves with everything in it.',
      examples: {
        '9000 --name Alpacas --slug alpacas': 'name a placeholder',
        '4 --breeds "Roborovski Hamster,Chinese Hamster"': 'the breeds that the category adds to the known breeds',
        '1001 --parent none': 'move it to the top',
      },
    },
    delete: {
      reads: 'getCategory',
      details: 'Deletes without asking. To delete a category that is not empty, use `petstore category merge`.',
      examples: { '1001': 'an unused category' },
      done: ({ id, name }) => `Deleted the category ${id}, ${name}.`,
    },
    merge: {
      details:
        'Many animals move in batches; if the command is interrupted, run it again. Prints the category that remains.',
      examples: { '9000 --into 4': 'a placeholder that means an existing category' },
    },
  },
} as const satisfies Noun;
