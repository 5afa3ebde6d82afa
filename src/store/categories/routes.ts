import { listOperation, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { countText, spelled } from '../../lib/text.ts';
import { Type } from '../../lib/type.ts';
import {
  Categories,
  Category,
  CategoryId,
  CategoryPatch,
  type CategoryRow,
  categoryValues,
  NewCategory,
  Slug,
} from '../../model/category.ts';
import { boundOf } from '../../model/plan.ts';
import { CATEGORY_LEVELS_MAX } from '../../model/rules.ts';
import { createCategory, getCategory, updateCategory } from './categories.ts';
import { deleteCategory } from './deletion.ts';
import { createExamples, deleteExamples, getExamples, listExamples, updateExamples } from './examples.ts';
import { FIRST_ID } from './ids.ts';
import { listCategories } from './list.ts';
import { withSlugConflict } from './slugs.ts';

export const categoryIdInPath = {
  schema: CategoryId,
  description: 'The identifier of the category.',
  errorCode: 'no_such_category',
  errorMessage: 'There is no category with this id.',
} as const;

export function categoryResponse(category: CategoryRow) {
  return { body: categoryValues.fullOf(category), headers: ['ETag', etagOf(category)] };
}

export const list = listOperation({
  summary: 'List all categories',
  description:
    'Returns a paginated list of categories, sorted by id, the built-in ones first. Follow the `next` link of the ' +
    `\`Link\` header, or \`x-next\`, until it is absent. With \`placeholder\`, a page scans up to ${countText(SCAN_LIMIT)} categories: it may be ` +
    'short or empty and still have a next page.',
  noun: 'categories',
  filters: {
    parentId: Type.Optional(Type.Integer({ ...CategoryId, description: 'Only direct children of this category.' })),
    placeholder: Type.Optional(
      Type.Boolean({
        description:
          '`true`: only placeholders (created because an animal used an unknown category id). `false`: only other categories.',
        examples: [true],
      }),
    ),
    slug: Type.Optional({ ...Slug, description: 'Only the category with this slug.' }),
  },
  schema: Categories,
  examples: listExamples,
  async handle({ context, filters, page }) {
    const { rows, ...links } = await listCategories(context.database, filters, page);
    return { rows: rows.map(categoryValues.fullOf), ...links };
  },
});

/** Categories are public, so only accounts may add them, not trial keys. */
const notInSandbox = 'change categories';

export const create = operation({
  summary: 'Create a category',
  description: `Creates a category that belongs to the account of the key. Its id is the smallest number above ${countText(FIRST_ID - 1)} that no category ever had. Without a \`slug\`, the service derives one from the name: lower case, without accents, with a number appended if the slug is taken. The tree has at most ${spelled(CATEGORY_LEVELS_MAX)} levels.`,
  body: NewCategory,
  notInSandbox,
  successes: [
    { status: 201, description: 'The category.', schema: Category, headers: { Location: 'The URL of the category.' } },
  ],
  errors: ['category_not_found', 'category_slug_taken', 'category_limit_exceeded'],
  examples: createExamples,
  handle(request) {
    const { context, caller, body, baseUrl } = request;
    const max = boundOf(context.bounds, caller, 'categories');
    return withIdempotency(request, async tx => {
      const category = await createCategory(tx, caller, body, max);
      const { headers, ...response } = categoryResponse(category);
      return { ...response, headers: ['Location', `${baseUrl}/categories/${category.id}`, ...headers] };
    });
  },
});

export const get = operation({
  summary: 'Get a category',
  description: 'Fetches one category by its identifier.',
  parameters: { categoryId: categoryIdInPath },
  successes: [{ status: 200, description: 'The category.', schema: Category }],
  errors: ['no_such_category'],
  examples: getExamples,
  async handle({ context, path }) {
    return categoryResponse(await getCategory(context.database, path.categoryId));
  },
});

const OWNERS =
  'Only the account that the category belongs to, or an admin, can do this; built-in categories and placeholders belong ' +
  'to no account.';

export const update = operation({
  summary: 'Change a category',
  description:
    'Changes the fields that are sent, as a JSON Merge Patch (RFC 7396). `parentId` moves the category with its ' +
    'descendants; `null` moves it to the top level. A placeholder that gets a name becomes a regular category. The slug ' +
    `stays unless another one is sent. ${OWNERS}`,
  parameters: { categoryId: categoryIdInPath },
  notInSandbox,
  conditional: true,
  body: CategoryPatch,
  successes: [
    {
      status: 200,
      description: 'The changed category.',
      schema: Category,
      headers: { ETag: 'The new entity tag of the category.' },
    },
  ],
  errors: ['not_owner', 'category_not_found', 'category_slug_taken', 'category_cycle'],
  examples: updateExamples,
  handle(request) {
    const { caller, path, body, checkPreconditions } = request;
    return withSlugConflict(body.slug, () =>
      withIdempotency(request, async tx =>
        categoryResponse(await updateCategory(tx, caller, path.categoryId, body, checkPreconditions)),
      ),
    );
  },
});

export const remove = operation({
  summary: 'Delete a category',
  description: `Deletes a category without animals and subcategories; otherwise merge it into another category. ${OWNERS}`,
  parameters: { categoryId: categoryIdInPath },
  notInSandbox,
  conditional: true,
  successes: [{ status: 204, description: 'The category is deleted.' }],
  errors: ['not_owner', 'category_in_use'],
  examples: deleteExamples,
  async handle({ context, caller, origin, path, checkPreconditions }) {
    await context.database.write(tx => deleteCategory(tx, caller, path.categoryId, checkPreconditions), origin);
    return {};
  },
});
