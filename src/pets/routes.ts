import Type from 'typebox';
import { CategoryId } from '../categories/category.ts';
import { type Deployment, route } from '../deployment.ts';
import { KeptAnswers } from '../lib/http/kept-answers.ts';
import { pageHeaders } from '../lib/http/pagination.ts';
import type { Answer, Route } from '../lib/http/route.ts';
import { listPets } from './list-pets.ts';
import { NewPet, Pet, PetId, PetStatus, Pets } from './pet.ts';
import type { PetFilter } from './pet-list.ts';
import { countPets, createPet, getPet } from './pets.ts';

/** A page of animals. */
const list = route({
  operation: 'listPets',
  method: 'GET',
  path: '/pets',
  access: { key: true, scope: 'pets:read' },
  tag: 'Pets',
  summary: 'List all animals',
  description:
    'Returns a paginated list of animals, by id ascending where no sort is given. Follow the `next` link of the `Link` ' +
    'header, or `x-next`, until there is none. A list that no single index serves (by name with a filter, by status within a category) looks at 20,000 rows ' +
    'a page: such a page may be short, even empty, and still have a next one.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of animals returned.' }),
    ),
    status: Type.Optional(
      Type.Array(PetStatus, {
        minItems: 1,
        maxItems: 3,
        description: 'Filters by availability status; several values are alternatives.',
      }),
    ),
    id: Type.Optional(
      Type.Array(PetId, { minItems: 1, maxItems: 100, description: 'Only the animals with these ids, up to 100.' }),
    ),
    categoryId: Type.Optional(Type.Integer({ ...CategoryId, description: 'Only the animals of this category.' })),
    sort: Type.Optional(
      Type.Enum(['id', '-id', 'name', '-name'], {
        default: 'id',
        description: 'The order: by id or by name (by code point, ties by id); a minus turns it round.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Where to read on: taken from a link, opaque, good only with the same filters and sort.',
      }),
    ),
  }),
  headers: {
    Prefer:
      '`count=exact` asks for the total, without filters or by one status or one category; `handling=strict` refuses unknown parameters.',
  },
  successes: [
    {
      status: 200,
      description: 'A page of animals.',
      schema: Pets,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
        'X-Total-Count': 'How many animals there are in all pages together, where `count=exact` was applied.',
        'Preference-Applied': 'Which preferences were applied (RFC 7240).',
      },
    },
  ],
  errors: ['invalid_parameter'],
  examples: [
    { name: 'first page', summary: 'The first twenty animals', status: 200 },
    {
      name: 'available cats by name',
      summary: 'Two cats that are available, by name, and how many cats there are',
      query: 'limit=2&status=available&categoryId=2&sort=name',
      status: 200,
    },
    { name: 'some by id', summary: 'Two animals at once', query: 'id=1&id=2', status: 200 },
    {
      name: 'limit too large',
      summary: 'A limit beyond the maximum is refused, not clamped',
      query: 'limit=101',
      status: 400,
      code: 'invalid_parameter',
    },
    {
      name: 'foreign cursor',
      summary: 'A cursor that is none',
      query: 'cursor=abc',
      status: 400,
      code: 'invalid_parameter',
    },
  ],
  handle({ context: { database }, query, prefer, url, baseUrl }) {
    const kept = keptLists(database);
    const counted = prefer.get('count') === 'exact';
    const question = `${baseUrl} ${url}${counted ? ' counted' : ''}`;
    const version = database.version('pets');
    return kept.get(version, question) ?? read();

    async function read(): Promise<Answer> {
      const { limit = 20, cursor, sort = 'id', ...rest } = query;
      const filter: PetFilter = { ...rest, sort };
      const { pets, ...neighbours } = await listPets(database, filter, limit, cursor);
      const total = counted ? await countPets(database, rest) : undefined;
      // The path may be spelled in other ways than the links are.
      const mark = url.indexOf('?');
      const headers = pageHeaders(`${baseUrl}/pets${mark < 0 ? '' : url.slice(mark)}`, neighbours);
      if (total !== undefined) headers.push('X-Total-Count', String(total), 'Preference-Applied', 'count=exact');
      return kept.keep(version, question, { body: pets, headers });
    }
  },
});

/** Adds an animal. */
const create = route({
  operation: 'createPet',
  method: 'POST',
  path: '/pets',
  access: { key: true, scope: 'pets:write' },
  tag: 'Pets',
  summary: 'Add an animal',
  description:
    'Adds an animal, which then belongs to the account of the key. The answer comes once the animal is on disk. ' +
    'Without a status it is `available`. Unknown members are ignored, an `id` among them: the service assigns it.',
  body: NewPet,
  headers: { Prefer: '`handling=strict` refuses unknown members of the body.' },
  successes: [
    {
      status: 201,
      description: 'The animal, with the id that was assigned.',
      schema: Pet,
      headers: { Location: 'The URL of the animal.' },
    },
  ],
  errors: ['category_not_found'],
  examples: [
    {
      name: 'a cat',
      summary: 'A cat that is available',
      body: { name: 'Minka', categoryId: 2, status: 'available' },
      status: 201,
    },
    { name: 'the least', summary: 'Only what is required', body: { name: 'Bruno', categoryId: 1 }, status: 201 },
    {
      name: 'nothing required is there',
      summary: 'Every missing or wrong field is named',
      body: { status: 'lost' },
      status: 400,
      code: 'invalid_body',
    },
    { name: 'no JSON', summary: 'A body that is not JSON', body: '{"name": ', status: 400, code: 'invalid_json' },
  ],
  async handle({ context: { database, categories }, caller, body, baseUrl }) {
    const pet = await database.write(tx => createPet(tx, caller.accountId, body, categories));
    return { body: pet, headers: ['Location', `${baseUrl}/pets/${pet.id}`] };
  },
});

/** One animal by its id; goes away on 5 December 2030 (contract, Versioning). */
const get = route({
  operation: 'getPet',
  method: 'GET',
  path: '/pets/{petId}',
  access: { key: true, scope: 'pets:read' },
  tag: 'Pets',
  summary: 'Get an animal',
  description:
    'Fetches one animal by its identifier. Deprecated; removed on 5 December 2030. The replacement is `GET /pets` with ' +
    'the `status` filter; to fetch animals by their ids, `GET /pets` with the `id` filter.',
  parameters: {
    petId: {
      schema: PetId,
      description: 'The identifier of the animal.',
      notFound: 'pet_not_found',
      absent: 'There is no animal with this id.',
    },
  },
  successes: [{ status: 200, description: 'The animal.', schema: Pet }],
  errors: ['pet_not_found'],
  deprecation: {
    since: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    instead: 'Use GET /pets with the status filter, or with the id filter for single animals.',
    page: '/deprecations/getPet',
    successor: ({ petId }) => `/pets?id=${encodeURIComponent(petId ?? '')}`,
  },
  examples: [
    { name: 'one animal', summary: 'The animal with the id 1', path: { petId: '1' }, status: 200 },
    {
      name: 'no such animal',
      summary: 'An id that no animal has',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
  ],
  async handle({ context: { database }, path }) {
    return { body: await getPet(database, path.petId) };
  },
});

/** Every operation on animals. */
export const petRoutes: readonly Route<Deployment>[] = [list, create, get];

const keptByDatabase = new WeakMap<Deployment['database'], KeptAnswers>();

function keptLists(database: Deployment['database']): KeptAnswers {
  let kept = keptByDatabase.get(database);
  if (kept === undefined) {
    kept = new KeptAnswers();
    keptByDatabase.set(database, kept);
  }
  return kept;
}
