import { operation } from '../../access/deployment.ts';
import { categoryIdInPath } from '../categories/routes.ts';
import { CategoryAttributes, getAttributes } from '../profile/attributes.ts';
import { attributesExamples } from './examples.ts';

export const get = operation({
  summary: 'Get the values of a category',
  description:
    'Returns the values that the profile of the animals of a category can have. `breeds` and `colors` are the known values of its top-level category, and the values that the category and the categories above it add. An animal can have other values; then the full view in the response to the change has `warnings` with the most similar known values.',
  parameters: { categoryId: categoryIdInPath },
  successes: [{ status: 200, description: 'The values.', schema: CategoryAttributes }],
  errors: ['no_such_category'],
  examples: attributesExamples,
  async handle({ context, path }) {
    return { body: await getAttributes(context.database, path.categoryId) };
  },
});
