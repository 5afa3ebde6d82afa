import { categoryIdInPath } from '../categories/routes.ts';
import { operation } from '../deployment.ts';
import { CategoryAttributes, getAttributes } from './attributes.ts';
import { attributesExamples } from './examples.ts';

export const get = operation({
  summary: 'Get the values of a category',
  description:
    'Returns the values that the profile of the animals of a category can have. `breeds` and `colors` are the known ones of ' +
    'the category at the top of its tree, and those that it and the categories above it add; an animal can have others. ' +
    'Then the full view in the response to the change has `warnings` with the nearest known values.',
  parameters: { categoryId: categoryIdInPath },
  successes: [{ status: 200, description: 'The values.', schema: CategoryAttributes }],
  errors: ['no_such_category'],
  examples: attributesExamples,
  async handle({ context, path }) {
    return { body: await getAttributes(context.database, path.categoryId) };
  },
});
