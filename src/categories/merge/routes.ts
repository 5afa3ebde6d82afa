import { operation } from '../../deployment.ts';
import { withIdempotency } from '../../idempotency/idempotency.ts';
import { Category, CategoryMerger } from '../category.ts';
import { categoryAnswer, categoryIdInPath } from '../routes.ts';
import { mergeExamples } from './examples.ts';
import { mergeCategory, movingAhead } from './merge-category.ts';

/** Merges a category into another. */
export const merge = operation({
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
  examples: mergeExamples,
  handle(call) {
    const { context, caller, path, body, expect } = call;
    const merger = { id: path.categoryId, intoId: body.intoId };
    return movingAhead(context.database, caller, merger, () =>
      withIdempotency(call, async tx => categoryAnswer(await mergeCategory(tx, caller, merger, expect))),
    );
  },
});
