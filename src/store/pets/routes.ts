import { type Deployment, listOperation, nowOf, operation } from '../../access/deployment.ts';
import { sharedWithOthers, withIdempotency } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import type { RouteResponse } from '../../lib/http/route.ts';
import { ResponseCache } from '../../lib/http/server/response-cache.ts';
import { onePer } from '../../lib/one-per.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import { Type } from '../../lib/type.ts';
import {
  FullPet,
  fullPetOf,
  NewPet,
  Pet,
  PetHistory,
  PetId,
  PetPatch,
  type PetReader,
  type PetRow,
  PetView,
  petValues,
} from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import type { Reader } from '../../model/schema.ts';
import { newCategoriesOf } from '../categories/bound.ts';
import { warningsAbout } from '../profile/attributes.ts';
import {
  createExamples,
  getExamples,
  historyExamples,
  removeExamples,
  replaceExamples,
  updateExamples,
} from './examples.ts';
import { expireReservations } from './expiry.ts';
import { withBonds } from './groups.ts';
import { petHistory } from './history.ts';
import { createPet, deletePet, getPet, replacePet, updatePet } from './pets.ts';

const petId = {
  schema: PetId,
  description: 'The id of the animal.',
  errorCode: 'pet_not_found',
  errorMessage: 'There is no animal with this id.',
} as const;

const query = Type.Object({ view: Type.Optional(PetView) });
const schema = Type.Union([FullPet, Pet]);
const updated = {
  status: 200,
  description: 'The animal after the change: `Pet`, or `FullPet` with `view=full`.',
  schema,
  headers: { ETag: 'The new entity tag.' },
};
const updateErrors = [
  'not_owner',
  'pet_reserved',
  'external_id_taken',
  'category_not_found',
  'category_limit_exceeded',
];

export const create = operation({
  summary: 'Add an animal',
  description:
    'Adds an animal that belongs to the account of the key. The response is sent once the animal is on disk. The default ' +
    'status is `available`. Unknown fields are ignored, including `id`, which the service assigns.',
  query,
  body: NewPet,
  successes: [
    {
      status: 201,
      description: 'The new animal: `Pet`, or `FullPet` with `view=full`.',
      schema,
      headers: { Location: 'The URL of the animal.' },
    },
  ],
  errors: [
    ...['external_id_taken', 'category_not_found', 'category_limit_exceeded', 'pet_limit_exceeded'],
    'sandbox_pet_limit_exceeded',
  ],
  examples: createExamples,
  handle(request) {
    const { context, caller, body, baseUrl } = request;
    return withIdempotency(
      request,
      async tx => {
        const pet = await createPet(tx, caller.accountId, body, newCategoriesOf(context, caller), {
          petsMax: boundOf(context.bounds, caller, 'pets'),
        });
        return changeResponse(request, tx, pet, ['Location', `${baseUrl}/pets/${pet.id}`]);
      },
      sharedWithOthers,
    );
  },
});

/** Returns a pet. Removed on 5 December 2030 (contract, Versioning). */
export const get = operation({
  summary: 'Get an animal',
  description:
    'Returns one animal. Deprecated; removed on 5 December 2030. Use `GET /pets?id=…` instead, or `GET /pets` with the ' +
    '`status` filter.',
  parameters: { petId },
  query,
  successes: [{ status: 200, description: 'The animal: `Pet`, or `FullPet` with `view=full`.', schema }],
  errors: ['pet_not_found'],
  deprecation: {
    since: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    instead: 'Use GET /pets with the status filter, or with the id filter for single animals.',
    page: '/deprecations/getPet',
    successor: '/pets?id={petId}',
  },
  examples: getExamples,
  /** Caches the plain view in memory until an animal changes. */
  handle(request) {
    const { context, path, query } = request;
    const { database } = context;
    const isFull = query.view === 'full';
    const cache = cacheOf(database);
    const version = database.dataVersion('pets');
    return (isFull ? undefined : cache.get(version, 0, path.petId)) ?? load();

    async function load(): Promise<RouteResponse> {
      const pet = await getPet(database, path.petId, nowOf(context));
      const headers = ['ETag', etagOf(pet)];
      if (isFull) return { body: await fullOf(request, database, pet), headers };
      const response = { body: petValues.plainOf(pet), headers };
      // A reservation ends by the clock.
      return pet.status === 'pending' ? response : cache.set(version, undefined, path.petId, response);
    }
  },
});

const cacheOf = onePer(() => new ResponseCache<number>());

export const update = operation({
  summary: 'Change an animal',
  description:
    'Applies a JSON Merge Patch (RFC 7396): fields that are left out stay, and `null` deletes an optional field. A new ' +
    'status clears the `statusReason` of the previous one. Only the owner of the animal or an admin can change it.',
  parameters: { petId },
  conditional: true,
  query,
  body: PetPatch,
  successes: [updated],
  errors: updateErrors,
  examples: updateExamples,
  handle(request) {
    const { context, caller, path, body, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      changeResponse(
        request,
        tx,
        await updatePet(tx, caller, path.petId, body, newCategoriesOf(context, caller), checkPreconditions),
      ),
    );
  },
});

export const replace = operation({
  summary: 'Replace an animal',
  description:
    'Replaces all fields of an animal. Optional fields that are left out are deleted; the default status is ' +
    '`available`. Only the owner of the animal or an admin can replace it.',
  parameters: { petId },
  conditional: true,
  query,
  body: NewPet,
  successes: [updated],
  errors: updateErrors,
  examples: replaceExamples,
  async handle(request) {
    const { context, caller, origin, path, body, checkPreconditions } = request;
    const pet = await context.database.write(
      tx => replacePet(tx, caller, path.petId, body, newCategoriesOf(context, caller), checkPreconditions),
      origin,
    );
    return changeResponse(request, context.database, pet);
  },
});

export const remove = operation({
  summary: 'Delete an animal',
  description:
    'Deletes an animal. Its history stays, lists of changes with `updatedSince` report the deletion, and its id is never ' +
    'reused. Only the owner of the animal or an admin can delete it.',
  parameters: { petId },
  conditional: true,
  successes: [{ status: 204, description: 'The animal is deleted.' }],
  errors: ['not_owner', 'pet_reserved'],
  examples: removeExamples,
  async handle({ context, caller, origin, path, checkPreconditions }) {
    await context.database.write(tx => deletePet(tx, caller, path.petId, checkPreconditions), origin);
    return {};
  },
});

export const history = listOperation({
  summary: 'Get the history of an animal',
  description:
    'Returns a paginated list of the changes of an animal, oldest first, even if the animal was deleted. The account, the hold and the order that caused a change are visible to the owner of the animal, to that account and to admins.',
  noun: 'entries',
  parameters: { petId },
  schema: PetHistory,
  response: 'A page of the history.',
  errors: ['pet_not_found'],
  examples: historyExamples,
  async handle({ context, caller, path, page }) {
    await bestEffort(expireReservations(context.database, nowOf(context)));
    return petHistory(context.database, caller, path.petId, page);
  },
});

interface PetRequest {
  readonly context: Deployment;
  readonly caller: PetReader;
  readonly publicUrl: string;
  readonly query: { readonly view?: PetView };
}

async function fullOf({ context, caller, publicUrl }: PetRequest, reader: Reader, pet: PetRow): Promise<FullPet> {
  return (await withBonds(reader, [fullPetOf(pet, { ...caller, publicUrl }, nowOf(context))]))[0]!;
}

/** Returns the response to a change, in the requested view; the full view includes warnings about its values. */
async function changeResponse(
  request: PetRequest,
  reader: Reader,
  pet: PetRow,
  location: readonly string[] = [],
): Promise<RouteResponse> {
  const headers = [...location, 'ETag', etagOf(pet)];
  if (request.query.view !== 'full') return { body: petValues.plainOf(pet), headers };
  const body = await fullOf(request, reader, pet);
  const warnings = await warningsAbout(reader, pet);
  return { body: warnings.length === 0 ? body : { ...body, warnings }, headers };
}
