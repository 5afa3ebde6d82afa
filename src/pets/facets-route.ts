import Type from 'typebox';
import { example, nowOf, operation } from '../deployment.ts';
import { invalidParameter } from '../lib/http/problem.ts';
import { countFacets } from './facets.ts';
import { categoriesOf } from './filter.ts';
import { listFilters } from './list-route.ts';
import { storedTraits, traitFilterOf, traitParameters } from './traits.ts';
import { beginningsIn } from './words.ts';

const { q, status, categoryId, includeDescendants } = listFilters;

const Facets = Type.Object(
  {
    exact: Type.Boolean({
      description:
        'Whether all matching animals were counted. Otherwise the numbers are of those among the first 20,000 that the list reads.',
    }),
    facets: Type.Record(
      Type.String({ description: 'The name of a trait.' }),
      Type.Record(Type.String({ description: 'A value.' }), Type.Integer({ minimum: 1 })),
      {
        description: `The number of animals by value, for each of ${storedTraits.map(({ name }) => `\`${name}\``).join(', ')}. Animals without a value count for none.`,
      },
    ),
  },
  { title: 'Facets', description: 'Numbers of animals by trait and value.' },
);

export const facets = operation({
  summary: 'Count the animals by traits',
  description:
    'Returns how many animals have each value of each trait, such as `sex` and `size`, for a search form. The numbers are exact ' +
    'with `status` and a category of up to 50 categories with its descendants. With `q` or traits, animals are counted one by one: see `exact`.',
  query: Type.Object({ q, status, categoryId, includeDescendants, ...traitParameters }),
  successes: [{ status: 200, description: 'The numbers.', schema: Facets }],
  errors: ['search_not_ready'],
  examples: [
    example('of a category', 'The available dogs by traits', 200, { query: 'categoryId=1&status=available' }),
    example('of a search', 'The dogs that get along with children by their other traits', 200, {
      given: ['createPet: with a profile'],
      query: 'q=lab&goodWithChildren=yes',
    }),
    example('without a category', 'Descendants of no category', 'invalid_parameter', {
      query: 'includeDescendants=true',
    }),
  ],
  async handle(request) {
    const { context, query } = request;
    if (query.includeDescendants && query.categoryId === undefined) {
      throw invalidParameter('includeDescendants', 'Requires categoryId.', 'invalid_combination');
    }
    const { q, status, categoryId, includeDescendants } = query;
    const words = q === undefined ? undefined : beginningsIn(q);
    const filter = { status, categoryId, includeDescendants, traits: traitFilterOf(query), words };
    const categories = await categoriesOf(context.database, filter, request);
    return { body: await countFacets(context.database, filter, categories, request, nowOf(context)) };
  },
});
