import { type Deployment, route } from '../../deployment.ts';
import { withIdempotency } from '../../idempotency/idempotency.ts';
import type { Route } from '../../lib/http/route.ts';
import { Category, CategoryMerger } from '../category.ts';
import { categoryAnswer, categoryIdInPath } from '../routes.ts';
import { mergeCategory, movingAhead } from './merge-category.ts';

/** Merges a category into another. */
const merge = route({
  operation: 'mergeCategory',
  method: 'POST',
  path: '/categories/{categoryId}/merge',
  access: { key: true, scope: 'pets:write' },
  tag: 'Categories',
  summary: 'Merge a category into another',
  description:
    'Moves every animal of a category, and every category below it, into another one, and takes it away. Each animal that ' +
    'moves has it in its history; what it is kept for stays as it is. A great many animals move in portions before: when ' +
    'it breaks off amid them, ask for it again. Only an admin may.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  body: CategoryMerger,
  successes: [
    {
      status: 200,
      description: 'The category that took over.',
      schema: Category,
      headers: { ETag: 'Its entity tag.' },
    },
  ],
  errors: ['not_owner', 'category_not_found', 'category_cycle', 'category_in_use'],
  examples: [
    {
      name: 'a placeholder into a usual one',
      summary: 'An animal’s new category turns out to be an old one',
      as: 'admin',
      given: ['createPet: a new category'],
      path: { categoryId: '9000' },
      body: { intoId: 4 },
      status: 200,
    },
    {
      name: 'below itself',
      summary: 'What is below a category cannot take it over',
      as: 'admin',
      given: ['createCategory: a kind of cat'],
      path: { categoryId: '2' },
      body: { intoId: 1001 },
      status: 409,
      code: 'category_cycle',
    },
    {
      name: 'no such target',
      summary: 'The category to merge into does not exist',
      as: 'admin',
      path: { categoryId: '2' },
      body: { intoId: 4711 },
      status: 400,
      code: 'category_not_found',
    },
    {
      name: 'no admin',
      summary: 'Only admins merge categories',
      path: { categoryId: '2' },
      body: { intoId: 1 },
      status: 403,
      code: 'not_owner',
    },
  ],
  handle(call) {
    const { context, caller, path, body, expect } = call;
    const merger = { id: path.categoryId, intoId: body.intoId };
    return movingAhead(context.database, caller, merger, () =>
      withIdempotency(call, async tx => categoryAnswer(await mergeCategory(tx, caller, merger, expect))),
    );
  },
});

/** What is done to categories and moves animals. */
export const mergeRoutes: readonly Route<Deployment>[] = [merge];
