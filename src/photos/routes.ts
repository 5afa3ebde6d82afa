import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { problem } from '../errors.ts';
import { withIdempotency, withIdempotencyAfter } from '../idempotency/idempotency.ts';
import { etagOf } from '../lib/etag.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import { PetId } from '../pets/pet.ts';
import { getPet } from '../pets/pets.ts';
import { addExamples, originalExamples, removeExamples, updateExamples } from './examples.ts';
import { AltText, PHOTO_BYTES_MAX, Photo, PhotoId, PhotoPatch, photoOf, photoTypes } from './photo.ts';
import { deletePhoto, findIn, type PetPhoto, updatePhoto } from './photos.ts';
import { addReceived, receivePhoto, requireOwner } from './receive.ts';
import { findPhoto, photosOf } from './references.ts';

const petId = {
  schema: PetId,
  description: 'The id of the animal.',
  errorCode: 'pet_not_found',
  errorMessage: 'There is no animal with this id.',
} as const;

const photoId = {
  schema: PhotoId,
  description: 'The id of the photo.',
  errorCode: 'photo_not_found',
  errorMessage: 'The animal has no photo with this id.',
} as const;

const OWNERS = 'Only the owner of the animal or an admin can do this.';
const headers = { ETag: 'The new entity tag of the animal.' };

export const add = operation({
  summary: 'Add a photo',
  description:
    'Stores the body, a JPEG, PNG or WebP as it is, and adds it after the other photos of the animal. The response is ' +
    `sent once the photo and all its sizes are on disk. The sizes have no metadata, such as the location. ${OWNERS}`,
  parameters: { petId },
  conditional: true,
  query: Type.Object({ alt: Type.Optional(AltText) }),
  upload: {
    contentTypes: photoTypes,
    bytesMax: PHOTO_BYTES_MAX,
    description: 'The bytes of the photo: at most 10 MiB, and at most 50 megapixels.',
  },
  successes: [
    { status: 201, description: 'The new photo.', schema: Photo, headers },
    { status: 200, description: 'The animal has this photo already.', schema: Photo, headers },
  ],
  errors: ['invalid_photo', 'not_owner', 'photo_limit_exceeded', 'photo_storage_exceeded'],
  examples: addExamples,
  handle(request) {
    const { context, caller, path, query, upload, checkPreconditions } = request;
    return receivePhoto(context, caller, path.petId, upload!, (hash, store) =>
      // A retry with the same Idempotency-Key sends the same bytes.
      withIdempotencyAfter({ ...request, body: hash }, store, async (tx, photo) => {
        const options = { alt: query.alt, checkPreconditions };
        const { isNew, ...added } = await addReceived(tx, context, caller, path.petId, photo, options);
        return { ...responseOf(request, added), status: isNew ? 201 : 200 };
      }),
    );
  },
});

export const update = operation({
  summary: 'Change a photo',
  description:
    'Applies a JSON Merge Patch (RFC 7396) to the text of a photo, or moves it. The photo at position 1 is the main photo ' +
    `of the animal. ${OWNERS}`,
  parameters: { petId, photoId },
  conditional: true,
  body: PhotoPatch,
  successes: [{ status: 200, description: 'The photo after the change.', schema: Photo, headers }],
  errors: ['not_owner'],
  examples: updateExamples,
  handle(request) {
    const { caller, path, body, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      responseOf(request, await updatePhoto(tx, caller, path.petId, path.photoId, body, checkPreconditions)),
    );
  },
});

export const remove = operation({
  summary: 'Delete a photo',
  description: `Removes a photo from an animal. Its URLs stop working within a few days. ${OWNERS}`,
  parameters: { petId, photoId },
  conditional: true,
  successes: [{ status: 204, description: 'The photo is deleted.' }],
  errors: ['not_owner'],
  examples: removeExamples,
  async handle({ context, caller, origin, path, checkPreconditions }) {
    await context.database.write(tx => deletePhoto(tx, caller, path.petId, path.photoId, checkPreconditions), origin);
    return {};
  },
});

export const original = operation({
  summary: 'Get the original of a photo',
  description:
    'Returns the bytes that were uploaded, with all their metadata, as a file to save. Everyone can get the sizes at the ' +
    `\`urls\` of the photo. ${OWNERS}`,
  parameters: { petId, photoId },
  successes: [
    {
      status: 200,
      description: 'The bytes.',
      contentType: 'application/octet-stream',
      schema: Type.String({ format: 'binary' }),
      headers: { 'Content-Disposition': 'The name of the file, such as `photo.jpg`.' },
    },
  ],
  errors: ['not_owner'],
  examples: originalExamples,
  async handle({ context, caller, path }) {
    const pet = await getPet(context.database, path.petId, nowOf(context));
    requireOwner(caller, pet);
    const { id } = findIn(photosOf(pet), path.photoId);
    const { type } = (await findPhoto(context.database, id))!;
    const file = await context.photos.files.find(id, 'original');
    if (file === undefined) throw problem('photo_not_found');
    const name = `photo.${type === 'image/jpeg' ? 'jpg' : type.slice('image/'.length)}`;
    return {
      file,
      headers: [
        ...['Content-Disposition', `attachment; filename="${name}"`, 'ETag', `"${id}"`],
        ...['Content-Security-Policy', "default-src 'none'; sandbox"],
      ],
    };
  },
});

function responseOf({ publicUrl }: { readonly publicUrl: string }, { pet, photo }: PetPhoto): RouteResponse {
  return { body: photoOf(photo, publicUrl), headers: ['ETag', etagOf(pet)] };
}
