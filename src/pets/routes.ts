import Type from 'typebox';
import { type Deployment, nowOf, route } from '../deployment.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route } from '../lib/http/route.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { changingRoutes, createRoute } from './changing-routes.ts';
import { petHistory } from './history.ts';
import { listRoute } from './list-route.ts';
import { FullPet, Pet, PetHistory, PetView } from './pet.ts';
import { petIdInPath } from './pet-id-in-path.ts';
import { fullPetOf, petEtag, petOf } from './pet-rows.ts';
import { getPet } from './pets.ts';
import { sweepPets } from './sweep-pets.ts';

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
  parameters: { petId: petIdInPath },
  query: Type.Object({ view: Type.Optional(PetView) }),
  successes: [
    {
      status: 200,
      description: 'The animal: `Pet`, or `FullPet` with `view=full`.',
      schema: Type.Union([FullPet, Pet]),
    },
  ],
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
      name: 'all there is to say',
      summary: 'The animal with its price, its owner, its times and its entity tag',
      path: { petId: '1' },
      query: 'view=full',
      status: 200,
    },
    {
      name: 'no such animal',
      summary: 'An id that no animal has',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
  ],
  async handle({ context, path, query }) {
    const pet = await getPet(context.database, path.petId, nowOf(context));
    return { body: query.view === 'full' ? fullPetOf(pet) : petOf(pet), headers: ['ETag', petEtag(pet)] };
  },
});

/** What happened to an animal. */
const history = route({
  operation: 'getPetHistory',
  method: 'GET',
  path: '/pets/{petId}/history',
  access: { key: true, scope: 'pets:read' },
  tag: 'Pets',
  summary: 'Get what happened to an animal',
  description:
    'Returns a paginated list of everything that happened to an animal, oldest first, also to one that was taken out. ' +
    'Who did it, and for which hold or order, is shown to the owner of the animal, to the one who did it and to admins.',
  stability: 'beta',
  parameters: { petId: petIdInPath },
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of entries returned.' }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'Where to read on: taken from a link, opaque, good only with the same animal.',
      }),
    ),
  }),
  successes: [
    {
      status: 200,
      description: 'A page of the history.',
      schema: PetHistory,
      headers: {
        Link: 'Where else it goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: ['pet_not_found'],
  examples: [
    {
      name: 'set aside',
      summary: 'An animal was added, and went into foster care',
      given: ['updatePet: set aside'],
      path: { petId: '1' },
      status: 200,
    },
    {
      name: 'on hold',
      summary: 'Anybody sees that an animal is on hold; only some, who holds it',
      given: ['createHold: two cats'],
      as: 'stranger',
      path: { petId: '2' },
      status: 200,
    },
    {
      name: 'taken out',
      summary: 'The history of an animal that is not there any more',
      given: ['deletePet: another animal'],
      path: { petId: '3' },
      status: 200,
    },
    {
      name: 'never there',
      summary: 'An id that no animal ever had',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
  ],
  async handle({ context, caller, path, query, baseUrl, url }) {
    const { limit = 20, cursor } = query;
    await bestEffort(sweepPets(context.database, nowOf(context)));
    const { entries, ...neighbours } = await petHistory(context.database, caller, path.petId, limit, cursor);
    const mark = url.indexOf('?');
    const own = `${baseUrl}/pets/${path.petId}/history${mark < 0 ? '' : url.slice(mark)}`;
    return { body: entries, headers: pageHeaders(own, neighbours) };
  },
});

/** Every operation on animals. */
export const petRoutes: readonly Route<Deployment>[] = [listRoute, createRoute, get, ...changingRoutes, history];
