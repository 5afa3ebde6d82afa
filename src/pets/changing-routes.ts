import { operation } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { createExamples, removeExamples, replaceExamples, updateExamples } from './examples.ts';
import { NewPet, Pet, PetPatch, petEtag } from './pet.ts';
import { petIdInPath } from './pet-id-in-path.ts';
import { createPet, deletePet, replacePet, updatePet } from './pets.ts';
import { petValues } from './rows.ts';

/** Adds an animal. */
export const create = operation({
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
  examples: createExamples,
  handle(call) {
    const { context, caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const pet = await createPet(tx, caller.accountId, body, context.categories);
      return { body: petValues.plainOf(pet), headers: ['Location', `${baseUrl}/pets/${pet.id}`, 'ETag', petEtag(pet)] };
    });
  },
});

/** Changes some members of an animal. */
export const update = operation({
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
  examples: updateExamples,
  handle(call) {
    const { context, caller, path, body, expect } = call;
    return withIdempotency(call, async tx => {
      const pet = await updatePet(tx, caller, path.petId, body, context.categories, expect);
      return { body: petValues.plainOf(pet), headers: ['ETag', petEtag(pet)] };
    });
  },
});

/** Replaces an animal. */
export const replace = operation({
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
  examples: replaceExamples,
  async handle({ context, caller, path, body, expect }) {
    const pet = await context.database.write(tx =>
      replacePet(tx, caller, path.petId, body, context.categories, expect),
    );
    return { body: petValues.plainOf(pet), headers: ['ETag', petEtag(pet)] };
  },
});

/** Takes an animal out. */
export const remove = operation({
  summary: 'Take an animal out of the store',
  description:
    'Takes an animal out. Its history stays, and `updatedSince` tells mirrors of it; its id is never given again. ' +
    'Only the account that the animal belongs to, or an admin, may.',
  parameters: { petId: petIdInPath },
  conditional: true,
  successes: [{ status: 204, description: 'The animal is gone.' }],
  errors: ['not_owner', 'pet_reserved'],
  examples: removeExamples,
  async handle({ context, caller, path, expect }) {
    await context.database.write(tx => deletePet(tx, caller, path.petId, expect));
    return {};
  },
});
