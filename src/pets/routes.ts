import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { getExamples, historyExamples } from './examples.ts';
import { expireReservations } from './expiry.ts';
import { petHistory } from './history.ts';
import { FullPet, Pet, PetHistory, PetView, petEtag } from './pet.ts';
import { petIdInPath } from './pet-id-in-path.ts';
import { getPet } from './pets.ts';
import { petValues } from './rows.ts';

/** One animal by its id; goes away on 5 December 2030 (contract, Versioning). */
export const get = operation({
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
  examples: getExamples,
  async handle({ context, path, query }) {
    const pet = await getPet(context.database, path.petId, nowOf(context));
    return {
      body: query.view === 'full' ? petValues.fullOf(pet) : petValues.plainOf(pet),
      headers: ['ETag', petEtag(pet)],
    };
  },
});

/** What happened to an animal. */
export const history = operation({
  summary: 'Get what happened to an animal',
  description:
    'Returns a paginated list of everything that happened to an animal, oldest first, also to one that was taken out. ' +
    'Who did it, and for which hold or order, is shown to the owner of the animal, to the one who did it and to admins.',
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
  examples: historyExamples,
  async handle({ context, caller, path, query, baseUrl, url }) {
    const { limit = 20, cursor } = query;
    await bestEffort(expireReservations(context.database, nowOf(context)));
    const { entries, ...neighbours } = await petHistory(context.database, caller, path.petId, limit, cursor);
    const mark = url.indexOf('?');
    const own = `${baseUrl}/pets/${path.petId}/history${mark < 0 ? '' : url.slice(mark)}`;
    return { body: entries, headers: pageHeaders(own, neighbours) };
  },
});
