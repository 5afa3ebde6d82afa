import Type from 'typebox';
import { listOperation, operation } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { createCategory, deleteCategory, getCategory, listCategories, updateCategory } from './categories.ts';
import { Categories, Category, CategoryId, CategoryPatch, NewCategory, Slug } from './category.ts';
import { type CategoryRow, categoryEtag, categoryOf } from './category-rows.ts';
import { createExamples, getExamples, listExamples, removeExamples, updateExamples } from './examples.ts';
import { withFreeSlug } from './slugs.ts';

/** The id of a category in a path. */
export const categoryIdInPath = {
  schema: CategoryId,
  description: 'The identifier of the category.',
  notFound: 'no_such_category',
  absent: 'There is no category with this id.',
} as const;

/** What an operation that answers with one category answers. */
export function categoryAnswer(category: CategoryRow) {
  return { body: categoryOf(category), headers: ['ETag', categoryEtag(category)] };
}

/** Lists categories. */
export const list = listOperation({
  summary: 'List all categories',
  description:
    'Returns a paginated list of categories, by id ascending, the built-in ones first. Follow the `next` link of the ' +
    '`Link` header, or `x-next`, until it is absent. With `placeholder`, a page scans up to 20,000 categories: it may be ' +
    'short or empty and still have a next page.',
  noun: 'categories',
  filters: {
    parentId: Type.Optional(Type.Integer({ ...CategoryId, description: 'Only direct children of this category.' })),
    placeholder: Type.Optional(
      Type.Boolean({
        description: 'Only placeholders, which a pet created by naming their id, or only other categories.',
      }),
    ),
    slug: Type.Optional({ ...Slug, description: 'Only the category with this slug.' }),
  },
  schema: Categories,
  examples: listExamples,
  async handle({ context, filters, page }) {
    const { rows, ...links } = await listCategories(context.database, filters, page);
    return { rows: rows.map(categoryOf), ...links };
  },
});

/** Adds a category. */
export const create = operation({
  summary: 'Add a category',
  description:
    'Adds a category, which then belongs to the account of the key. Its id is the smallest above 1,000 that no category ' +
    'ever had. Without a `slug` one is made from the name: lower case, without accents, with a number behind it where it is taken. ' +
    'The tree has at most ten levels.',
  body: NewCategory,
  successes: [
    {
      status: 201,
      description: 'The category, with the id that was assigned.',
      schema: Category,
      headers: { Location: 'The URL of the category.' },
    },
  ],
  errors: ['category_not_found', 'category_slug_taken'],
  examples: createExamples,
  handle(call) {
    const { caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const category = await createCategory(tx, caller, body);
      const { headers, ...answer } = categoryAnswer(category);
      return { ...answer, headers: ['Location', `${baseUrl}/categories/${category.id}`, ...headers] };
    });
  },
});

/** One category by its id. */
export const get = operation({
  summary: 'Get a category',
  description: 'Fetches one category by its identifier.',
  parameters: { categoryId: categoryIdInPath },
  successes: [{ status: 200, description: 'The category.', schema: Category }],
  errors: ['no_such_category'],
  examples: getExamples,
  async handle({ context, path }) {
    return categoryAnswer(await getCategory(context.database, path.categoryId));
  },
});

/** Changes some members of a category. */
export const update = operation({
  summary: 'Change a category',
  description:
    'Changes the members that are sent, as a JSON Merge Patch (RFC 7396): `parentId` moves the category with all that is ' +
    'below it, `null` takes it to the top. A placeholder that is given a name is none any more. The slug stays until another ' +
    'one is sent. Only the account that the category belongs to, or an admin, may; the usual categories and placeholders belong to nobody.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  body: CategoryPatch,
  successes: [
    {
      status: 200,
      description: 'The category as it is now.',
      schema: Category,
      headers: { ETag: 'Its new entity tag.' },
    },
  ],
  errors: ['not_owner', 'category_not_found', 'category_slug_taken', 'category_cycle'],
  examples: updateExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withFreeSlug(body.slug, () =>
      withIdempotency(call, async tx =>
        categoryAnswer(await updateCategory(tx, caller, path.categoryId, body, expect)),
      ),
    );
  },
});

/** Takes a category away. */
export const remove = operation({
  summary: 'Delete a category',
  description:
    'Takes a category away that no animal and no category is in; else merge it into another one. ' +
    'Only the account that the category belongs to, or an admin, may; the usual categories and placeholders belong to nobody.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  successes: [{ status: 204, description: 'The category is gone.' }],
  errors: ['not_owner', 'category_in_use'],
  examples: removeExamples,
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deleteCategory(tx, caller, path.categoryId, expect));
    return {};
  },
});
