import Type from 'typebox';
import { type Deployment, route } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route } from '../lib/http/route.ts';
import { createCategory, deleteCategory, getCategory, listCategories, updateCategory } from './categories.ts';
import { Categories, Category, CategoryId, CategoryPatch, NewCategory, Slug } from './category.ts';
import { type CategoryRow, categoryEtag, categoryOf } from './category-rows.ts';
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

/** A page of categories. */
const list = route({
  operation: 'listCategories',
  method: 'GET',
  path: '/categories',
  access: { key: true, scope: 'pets:read' },
  tag: 'Categories',
  summary: 'List all categories',
  description:
    'Returns a paginated list of categories by id ascending, the usual ones first. Follow the `next` link of the `Link` ' +
    'header, or `x-next`, until there is none. A list by `placeholder` looks at 20,000 categories a page: such a page may be ' +
    'short, even empty, and still have a next one.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of categories returned.' }),
    ),
    parentId: Type.Optional(
      Type.Integer({ ...CategoryId, description: 'Only the categories directly below this one.' }),
    ),
    placeholder: Type.Optional(
      Type.Boolean({
        description: 'Only those that an animal named first and nobody has given a name yet, or only the others.',
      }),
    ),
    slug: Type.Optional({ ...Slug, description: 'Only the category with this slug.' }),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Where to read on: taken from a link, opaque, good only with the same filters.',
      }),
    ),
  }),
  successes: [
    {
      status: 200,
      description: 'A page of categories.',
      schema: Categories,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: ['invalid_parameter'],
  examples: [
    { name: 'first page', summary: 'The usual categories', status: 200 },
    { name: 'by slug', summary: 'The category with a slug', query: 'slug=scales-fins-other', status: 200 },
    {
      name: 'directly below',
      summary: 'The kinds of cats',
      given: ['createCategory: a kind of cat'],
      query: 'parentId=2',
      status: 200,
    },
    {
      name: 'no parent',
      summary: 'There is no category 0',
      query: 'parentId=0',
      status: 400,
      code: 'invalid_parameter',
    },
  ],
  async handle({ context, query, url, baseUrl }) {
    const { limit = 20, cursor, ...filter } = query;
    const { categories, ...neighbours } = await listCategories(context.database, filter, limit, cursor);
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: categories,
      headers: pageHeaders(`${baseUrl}/categories${mark < 0 ? '' : url.slice(mark)}`, neighbours),
    };
  },
});

/** Adds a category. */
const create = route({
  operation: 'createCategory',
  method: 'POST',
  path: '/categories',
  access: { key: true, scope: 'pets:write' },
  tag: 'Categories',
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
  examples: [
    {
      name: 'a kind of cat',
      summary: 'A category below another; its slug is made from its name',
      body: { name: 'Maine Coon', parentId: 2 },
      status: 201,
    },
    {
      name: 'with a slug',
      summary: 'A category at the top, with a slug of its own',
      body: { name: 'Hedgehogs & Friends', slug: 'hedgehogs' },
      status: 201,
    },
    {
      name: 'slug taken',
      summary: 'A slug that another category has',
      body: { name: 'Wild cats', slug: 'cat' },
      status: 409,
      code: 'category_slug_taken',
    },
    {
      name: 'no such parent',
      summary: 'A parent that does not exist',
      body: { name: 'Unicorns', parentId: 4711 },
      status: 400,
      code: 'category_not_found',
    },
    {
      name: 'no slug',
      summary: 'A slug in another form',
      body: { name: 'Hedgehogs', slug: 'Hedge hogs' },
      status: 400,
      code: 'invalid_body',
    },
  ],
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
const get = route({
  operation: 'getCategory',
  method: 'GET',
  path: '/categories/{categoryId}',
  access: { key: true, scope: 'pets:read' },
  tag: 'Categories',
  summary: 'Get a category',
  description: 'Fetches one category by its identifier.',
  parameters: { categoryId: categoryIdInPath },
  successes: [{ status: 200, description: 'The category.', schema: Category }],
  errors: ['no_such_category'],
  examples: [
    { name: 'one category', summary: 'The category with the id 2', path: { categoryId: '2' }, status: 200 },
    {
      name: 'a placeholder',
      summary: 'A category that an animal named first',
      given: ['createPet: a new category'],
      path: { categoryId: '9000' },
      status: 200,
    },
    {
      name: 'no such category',
      summary: 'An id that no category has',
      path: { categoryId: '999999999' },
      status: 404,
      code: 'no_such_category',
    },
  ],
  async handle({ context, path }) {
    return categoryAnswer(await getCategory(context.database, path.categoryId));
  },
});

/** Changes some members of a category. */
const update = route({
  operation: 'updateCategory',
  method: 'PATCH',
  path: '/categories/{categoryId}',
  access: { key: true, scope: 'pets:write' },
  tag: 'Categories',
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
  examples: [
    {
      name: 'to the top',
      summary: 'A category leaves the one that it stands below',
      given: ['createCategory: a kind of cat'],
      path: { categoryId: '1001' },
      body: { name: 'Maine Coons', parentId: null },
      status: 200,
    },
    {
      name: 'a name for a placeholder',
      summary: 'An admin says what an animal’s new category is',
      as: 'admin',
      given: ['createPet: a new category'],
      path: { categoryId: '9000' },
      body: { name: 'Alpacas', slug: 'alpacas' },
      status: 200,
    },
    {
      name: 'changed meanwhile',
      summary: 'A change of a version that is gone',
      given: ['createCategory: a kind of cat', 'updateCategory: to the top'],
      path: { categoryId: '1001' },
      headers: { 'If-Match': '"1001.1"' },
      body: { name: 'Coon cats' },
      status: 412,
      code: 'precondition_failed',
    },
    {
      name: 'below itself',
      summary: 'A category cannot stand below itself',
      as: 'admin',
      given: ['createCategory: a kind of cat'],
      path: { categoryId: '2' },
      body: { parentId: 1001 },
      status: 409,
      code: 'category_cycle',
    },
    {
      name: 'a usual one',
      summary: 'The usual categories are changed by admins alone',
      path: { categoryId: '2' },
      body: { name: 'Felines' },
      status: 403,
      code: 'not_owner',
    },
  ],
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
const remove = route({
  operation: 'deleteCategory',
  method: 'DELETE',
  path: '/categories/{categoryId}',
  access: { key: true, scope: 'pets:write' },
  tag: 'Categories',
  summary: 'Delete a category',
  description:
    'Takes a category away that no animal and no category is in; else merge it into another one. ' +
    'Only the account that the category belongs to, or an admin, may; the usual categories and placeholders belong to nobody.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  successes: [{ status: 204, description: 'The category is gone.' }],
  errors: ['not_owner', 'category_in_use'],
  examples: [
    {
      name: 'an empty one',
      summary: 'A category that nothing is in',
      given: ['createCategory: a kind of cat'],
      path: { categoryId: '1001' },
      status: 204,
    },
    {
      name: 'one in use',
      summary: 'Animals are in it',
      as: 'admin',
      path: { categoryId: '2' },
      status: 409,
      code: 'category_in_use',
    },
  ],
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deleteCategory(tx, caller, path.categoryId, expect));
    return {};
  },
});

/** Every operation on categories but their merger, which moves animals (`pets/merge-routes.ts`). */
export const categoryRoutes: readonly Route<Deployment>[] = [list, create, get, update, remove];
