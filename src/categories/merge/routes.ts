import { operation } from '../../deployment.ts';
import { withIdempotency } from '../../idempotency/idempotency.ts';
import { Category, CategoryMerge } from '../category.ts';
import { categoryIdInPath, categoryResponse } from '../routes.ts';
import { mergeExamples } from './examples.ts';
import { mergeCategory, movingAhead } from './merge.ts';

/** Merges a category into another. */
export const merge = operation({
  summary: 'Merge a category into another',
  description:
    'Moves the animals and subcategories of a category into another one, and deletes it. The history of each animal ' +
    'records the move; holds and orders stay as they are. Large categories move in batches first: repeat the request if ' +
    'it is interrupted. Only an admin can do this.',
  parameters: { categoryId: categoryIdInPath },
  conditional: true,
  body: CategoryMerge,
  successes: [
    { status: 200, description: 'The target of the merge.', schema: Category, headers: { ETag: 'Its entity tag.' } },
  ],
  errors: ['not_owner', 'category_not_found', 'category_cycle', 'category_in_use'],
  examples: mergeExamples,
  handle(request) {
    const { context, caller, path, body, checkPreconditions } = request;
    const ids = { id: path.categoryId, intoId: body.intoId };
    return movingAhead(context.database, caller, ids, () =>
      withIdempotency(request, async tx => categoryResponse(await mergeCategory(tx, caller, ids, checkPreconditions))),
    );
  },
});
