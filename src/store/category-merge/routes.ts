import { example, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { Category, CategoryMerge } from '../../model/category.ts';
import { categoryIdInPath, categoryResponse } from '../categories/routes.ts';
import { mergeCategory, movingAhead } from './merge.ts';

const cats = { categoryId: '2' };

const examples = [
  example('a placeholder', 'A category that an animal created becomes part of a built-in one', 200, {
    as: 'admin',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    body: { intoId: 4 },
  }),
  example('cycle', 'The target is a descendant', 'category_cycle', {
    as: 'admin',
    given: ['createCategory: a subcategory'],
    path: cats,
    body: { intoId: 1001 },
  }),
  example('unknown target', 'The target does not exist', 'category_not_found', {
    as: 'admin',
    path: cats,
    body: { intoId: 4711 },
  }),
  example('not an admin', 'Only admins merge', 'not_owner', { path: cats, body: { intoId: 1 } }),
];

export const merge = operation({
  summary: 'Merge a category into another',
  description:
    'Moves the animals and subcategories of a category into another category, and deletes the first category. The history of each animal ' +
    'records the move; holds and orders stay as they are. Large categories move in batches first: repeat the request if ' +
    'it is interrupted. Only an admin can do this.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  body: CategoryMerge,
  successes: [
    {
      status: 200,
      description: 'The target of the merge.',
      schema: Category,
      headers: { ETag: 'The entity tag of the target.' },
    },
  ],
  errors: ['not_owner', 'category_not_found', 'category_cycle', 'category_in_use'],
  examples,
  handle(request) {
    const { context, caller, origin, path, body, checkPreconditions } = request;
    const ids = { id: path.categoryId, intoId: body.intoId };
    const attempt = () =>
      withIdempotency(request, async tx => categoryResponse(await mergeCategory(tx, caller, ids, checkPreconditions)));
    return movingAhead(context.database, caller, ids, attempt, origin);
  },
});
