import { example, nowOf, operation } from '../../access/deployment.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { countText } from '../../lib/text.ts';
import { Type } from '../../lib/type.ts';
import { storedTraits, traitParameters } from '../profile/traits.ts';
import { MERGED_MAX } from '../search/merged-ids.ts';
import { countFacets } from './facets.ts';
import { categoriesOf } from './filter.ts';
import { filterOf, listFilters } from './list-route.ts';

const { q, status, categoryId, includeDescendants, owner, organizationId, near, within } = listFilters;

const Facets = Type.Object(
  {
    exact: Type.Boolean({
      description: `Whether all matching animals were counted. Otherwise the numbers count only the matching animals among the first ${countText(SCAN_LIMIT)} that the list reads.`,
    }),
    facets: Type.Record(
      Type.String({ description: 'The name of a trait.' }),
      Type.Record(Type.String({ description: 'A value.' }), Type.Integer({ minimum: 1 })),
      {
        description: `The number of animals by value, for each of ${storedTraits.map(({ name }) => `\`${name}\``).join(', ')}. Animals without a value are not counted.`,
      },
    ),
  },
  { title: 'Facets', description: 'Numbers of animals by trait and value.' },
);

export const facets = operation({
  summary: 'Count the animals by traits',
  description:
    'Returns how many animals have each value of each trait, such as `sex` and `size`, for a search form. The numbers are exact ' +
    `with \`status\` and a category of up to ${MERGED_MAX} categories with its descendants. With another filter, animals are counted one by one: see \`exact\`.`,
  query: Type.Object({
    ...{ q, status, categoryId, includeDescendants, owner, organizationId, near, within },
    ...traitParameters,
  }),
  successes: [{ status: 200, description: 'The numbers.', schema: Facets }],
  errors: ['search_not_ready'],
  examples: [
    example('of a category', 'The available dogs by traits', 200, { query: 'categoryId=1&status=available' }),
    example('of a search', 'The dogs that get along with children by their other traits', 200, {
      given: ['createPet: with a profile'],
      query: 'q=lab&goodWithChildren=yes',
    }),
    example('near a place', 'The animals within 50 km of a postal code by traits', 200, {
      query: 'near=US-90210&within=50km',
    }),
    example('without a category', 'Descendants of no category', 'invalid_parameter', {
      query: 'includeDescendants=true',
    }),
  ],
  async handle(request) {
    const { context, caller, query } = request;
    const { filter } = await filterOf(context.database, caller, query);
    const categories = await categoriesOf(context.database, filter, request);
    return { body: await countFacets(context.database, filter, categories, { request }, nowOf(context)) };
  },
});
