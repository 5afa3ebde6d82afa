import { type Deployment, route } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import type { Example, Route } from '../lib/http/route.ts';
import { NewPet, Pet, PetPatch } from './pet.ts';
import { petIdInPath } from './pet-id-in-path.ts';
import { petEtag, petOf } from './pet-rows.ts';
import { createPet, deletePet, replacePet, updatePet } from './pets.ts';

/** Adds an animal. */
export const createRoute = route({
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
      name: 'a new category',
      summary: 'A category that was never seen before gets a placeholder',
      body: { name: 'Pepe', categoryId: 9000 },
      status: 201,
    },
    {
      name: 'nothing required is there',
      summary: 'Every missing or wrong field is named',
      body: { status: 'lost' },
      status: 400,
      code: 'invalid_body',
    },
    { name: 'no JSON', summary: 'A body that is not JSON', body: '{"name": ', status: 400, code: 'invalid_json' },
  ],
  handle(call) {
    const { context, caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const pet = await createPet(tx, caller.accountId, body, context.categories);
      return { body: pet, headers: ['Location', `${baseUrl}/pets/${pet.id}`, 'ETag', petEtag({ ...pet, version: 1 })] };
    });
  },
});

/** Changes some members of an animal. */
const update = route({
  operation: 'updatePet',
  method: 'PATCH',
  path: '/pets/{petId}',
  access: { key: true, scope: 'pets:write' },
  tag: 'Pets',
  summary: 'Change an animal',
  description:
    'Changes the members that are sent, as a JSON Merge Patch (RFC 7396): `null` takes an optional member away. ' +
    'A new status lets go of the `statusReason` of the one before. Only the account that the animal belongs to, or an admin, may.',
  parameters: { petId: petIdInPath },
  conditional: true,
  body: PetPatch,
  successes: [
    { status: 200, description: 'The animal as it is now.', schema: Pet, headers: { ETag: 'Its new entity tag.' } },
  ],
  errors: ['not_owner', 'pet_reserved', 'category_not_found'],
  examples: [
    {
      name: 'set aside',
      summary: 'An animal goes into foster care',
      path: { petId: '1' },
      body: { status: 'pending', statusReason: 'in foster' },
      status: 200,
    },
    {
      name: 'free of charge',
      summary: 'The version that was seen is changed, and no other: the price goes',
      path: { petId: '1' },
      headers: { 'If-Match': '"1.1"' },
      body: { price: null },
      status: 200,
    },
    {
      name: 'no name',
      summary: 'What cannot be taken away',
      path: { petId: '1' },
      body: { name: null },
      status: 400,
      code: 'invalid_body',
    },
    ...refusals({ body: { status: 'sold' } }),
  ],
  handle(call) {
    const { context, caller, path, body, expect } = call;
    return withIdempotency(call, async tx => {
      const pet = await updatePet(tx, caller, path.petId, body, context.categories, expect);
      return { body: petOf(pet), headers: ['ETag', petEtag(pet)] };
    });
  },
});

/** Replaces an animal. */
const replace = route({
  operation: 'replacePet',
  method: 'PUT',
  path: '/pets/{petId}',
  access: { key: true, scope: 'pets:write' },
  tag: 'Pets',
  summary: 'Replace an animal',
  description:
    'Replaces all members of an animal: optional ones that are left out are gone, and without a status it is ' +
    '`available`. Only the account that the animal belongs to, or an admin, may.',
  parameters: { petId: petIdInPath },
  conditional: true,
  body: NewPet,
  successes: [
    { status: 200, description: 'The animal as it is now.', schema: Pet, headers: { ETag: 'Its new entity tag.' } },
  ],
  errors: ['not_owner', 'pet_reserved', 'category_not_found'],
  examples: [
    {
      name: 'a new name',
      summary: 'The animal gets another name',
      path: { petId: '1' },
      body: { name: 'Minka the Second', categoryId: 2 },
      status: 200,
    },
    {
      name: 'half an animal',
      summary: 'What is required has to be there',
      path: { petId: '1' },
      body: { name: 'Minka the Second' },
      status: 400,
      code: 'invalid_body',
    },
    ...refusals({ body: { name: 'Minka', categoryId: 2, status: 'sold' } }),
  ],
  async handle({ context, caller, path, body, expect }) {
    const pet = await context.database.write(tx =>
      replacePet(tx, caller, path.petId, body, context.categories, expect),
    );
    return { body: petOf(pet), headers: ['ETag', petEtag(pet)] };
  },
});

/** Takes an animal out. */
const remove = route({
  operation: 'deletePet',
  method: 'DELETE',
  path: '/pets/{petId}',
  access: { key: true, scope: 'pets:write' },
  tag: 'Pets',
  summary: 'Take an animal out of the store',
  description:
    'Takes an animal out. Its history stays, and `updatedSince` tells mirrors of it; its id is never given again. ' +
    'Only the account that the animal belongs to, or an admin, may.',
  parameters: { petId: petIdInPath },
  conditional: true,
  successes: [{ status: 204, description: 'The animal is gone.' }],
  errors: ['not_owner', 'pet_reserved'],
  examples: [
    { name: 'an animal', summary: 'The animal with the id 1 is gone', path: { petId: '1' }, status: 204 },
    {
      name: 'another animal',
      summary: 'Only as it was seen: nobody has changed it since',
      path: { petId: '3' },
      headers: { 'If-Match': '"3.1"' },
      status: 204,
    },
    ...refusals({}),
  ],
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deletePet(tx, caller, path.petId, expect));
    return {};
  },
});

/** Every operation that changes an animal. */
export const changingRoutes: readonly Route<Deployment>[] = [update, replace, remove];

/** Examples of what any of them may answer instead; `sent` is what they have in common. */
function refusals(sent: Pick<Example, 'body'>): Example[] {
  return [
    {
      ...sent,
      name: 'by another account',
      summary: 'An animal is changed by the account that it belongs to, or by an admin',
      as: 'stranger',
      path: { petId: '1' },
      status: 403,
      code: 'not_owner',
    },
    {
      ...sent,
      name: 'no such animal',
      summary: 'An id that no animal has',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
    {
      ...sent,
      name: 'on hold',
      summary: 'While somebody holds the animal, only the hold moves it',
      given: ['createHold: two cats'],
      path: { petId: '1' },
      status: 409,
      code: 'pet_reserved',
    },
    {
      ...sent,
      name: 'changed meanwhile',
      summary: 'Somebody was faster: the version that was seen is not the one there is',
      given: ['updatePet: set aside'],
      path: { petId: '1' },
      headers: { 'If-Match': '"1.1"' },
      status: 412,
      code: 'precondition_failed',
    },
  ];
}
