import { nowOf, operation } from '../../access/deployment.ts';
import { hasStoredResponse, withIdempotency, withIdempotencyAfter } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import type { PathParameter, RouteResponse } from '../../lib/http/route.ts';
import { Type } from '../../lib/type.ts';
import { problem } from '../../model/errors.ts';
import { OrganizationId } from '../../model/organization.ts';
import { PetId } from '../../model/pet.ts';
import {
  AltText,
  AVIF_ADVICE,
  HEIC_ADVICE,
  PHOTO_BYTES_MAX,
  PHOTO_PIXELS_MAX,
  Photo,
  PhotoId,
  PhotoPatch,
  photoOf,
  photoTypes,
} from '../../model/photo.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import { findPhoto, type PhotoFacts, photosOf } from '../photo-references.ts';
import { examplesOf } from './examples.ts';
import { type HolderRow, organizationPhotos, type PhotoHolders, petPhotos } from './holders.ts';
import { deletePhoto, findIn, type HeldPhoto, updatePhoto } from './photos.ts';
import { addReceived, receivePhoto, requireOwner } from './receive.ts';

const photoId = {
  schema: PhotoId,
  description: 'The id of the photo.',
  errorCode: 'photo_not_found',
  errorMessage: 'There is no photo with this id.',
} as const;

interface Holding<Row extends HolderRow> {
  readonly holders: PhotoHolders<Row>;
  /** The path parameter with the id of the holder. */
  readonly name: 'petId' | 'organizationId';
  readonly parameter: PathParameter;
  /** The sentence in the descriptions about who may call the operations. */
  readonly owners: string;
  readonly examples: ReturnType<typeof examplesOf>;
}

function operationsOn<Row extends HolderRow>(holding: Holding<Row>) {
  return {
    add: addOperation(holding),
    update: updateOperation(holding),
    remove: deleteOperation(holding),
    original: originalOperation(holding),
  };
}

function addOperation<Row extends HolderRow>({ holders, name, parameter, owners, examples }: Holding<Row>) {
  const { noun } = holders;
  return operation({
    summary: `Add a photo of an ${noun}`,
    description:
      `Stores the body, which must be the bytes of a JPEG, PNG or WebP, and adds the photo after the other photos of the ${noun}. The response is ` +
      `sent once the photo and all its sizes are on disk. The sizes have no metadata, such as the location. ${owners}`,
    parameters: { [name]: parameter },
    conditional: true,
    query: Type.Object({ alt: Type.Optional(AltText) }),
    notInSandbox: 'upload photos',
    upload: {
      kind: 'photos',
      contentTypes: photoTypes,
      advice: { 'image/heic': HEIC_ADVICE, 'image/heif': HEIC_ADVICE, 'image/avif': AVIF_ADVICE },
      bytesMax: PHOTO_BYTES_MAX,
      description: `The bytes of the photo: at most ${PHOTO_BYTES_MAX / MEBIBYTE} MiB, and at most ${PHOTO_PIXELS_MAX / 1_000_000} megapixels.`,
    },
    successes: [
      { status: 201, description: 'The new photo.', schema: Photo, headers: entityTag(noun) },
      { status: 200, description: `The ${noun} already has this photo.`, schema: Photo, headers: entityTag(noun) },
    ],
    errors: ['invalid_photo', 'not_owner', 'photo_limit_exceeded', 'photo_storage_exceeded'],
    examples: examples.add,
    async handle(request) {
      const { context, caller, path, query, upload, checkPreconditions } = request;
      const isRetry = await hasStoredResponse(request);
      const add = (hash: string, store: () => Promise<PhotoFacts>) =>
        // A retry with the same Idempotency-Key sends the same bytes.
        withIdempotencyAfter({ ...request, body: hash }, store, async (tx, photo) => {
          const options = { alt: query.alt, checkPreconditions };
          const { isNew, ...added } = await addReceived(tx, context, holders, caller, idIn(name, path), photo, options);
          return { ...responseOf(request, added), status: isNew ? 201 : 200 };
        });
      return receivePhoto(context, holders, caller, idIn(name, path), upload!, add, { isRetry });
    },
  });
}

function updateOperation<Row extends HolderRow>({ holders, name, parameter, owners, examples }: Holding<Row>) {
  const { noun } = holders;
  return operation({
    summary: `Change a photo of an ${noun}`,
    description:
      'Applies a JSON Merge Patch (RFC 7396) to the text of a photo, or moves it. The photo at position 1 is the main photo ' +
      `of the ${noun}. ${owners}`,
    parameters: { [name]: parameter, photoId },
    conditional: true,
    body: PhotoPatch,
    successes: [{ status: 200, description: 'The photo after the change.', schema: Photo, headers: entityTag(noun) }],
    errors: ['not_owner'],
    examples: examples.update,
    handle(request) {
      const { caller, path, body, checkPreconditions } = request;
      return withIdempotency(request, async tx =>
        responseOf(
          request,
          await updatePhoto(tx, holders, caller, idIn(name, path), photoIn(path), body, checkPreconditions),
        ),
      );
    },
  });
}

function deleteOperation<Row extends HolderRow>({ holders, name, parameter, owners, examples }: Holding<Row>) {
  const { noun } = holders;
  return operation({
    summary: `Delete a photo of an ${noun}`,
    description: `Removes a photo from the ${noun}. Its URLs stop working within a few days. ${owners}`,
    parameters: { [name]: parameter, photoId },
    conditional: true,
    successes: [{ status: 204, description: 'The photo is deleted.' }],
    errors: ['not_owner'],
    examples: examples.remove,
    async handle({ context, caller, origin, path, checkPreconditions }) {
      await context.database.write(
        tx => deletePhoto(tx, holders, caller, idIn(name, path), photoIn(path), checkPreconditions),
        origin,
      );
      return {};
    },
  });
}

function originalOperation<Row extends HolderRow>({ holders, name, parameter, owners, examples }: Holding<Row>) {
  const { noun } = holders;
  return operation({
    summary: `Get the original of a photo of an ${noun}`,
    description:
      'Returns the bytes that were uploaded, with all their metadata, as a file to save. Everyone can get the sizes at the ' +
      `\`urls\` of the photo. ${owners}`,
    parameters: { [name]: parameter, photoId },
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
    examples: examples.original,
    async handle({ context, caller, path }) {
      const holder = await holders.get(context.database, caller, idIn(name, path), nowOf(context));
      requireOwner(caller, holders.ownerOf(holder));
      const { id } = findIn(photosOf(holder), photoIn(path));
      const { type } = (await findPhoto(context.database, id))!;
      const file = await context.photos.files.find(id, 'original');
      if (file === undefined) throw problem('photo_not_found');
      const fileName = `photo.${type === 'image/jpeg' ? 'jpg' : type.slice('image/'.length)}`;
      return {
        file,
        headers: [
          ...['Content-Disposition', `attachment; filename="${fileName}"`, 'ETag', `"${id}"`],
          ...['Content-Security-Policy', "default-src 'none'; sandbox"],
        ],
      };
    },
  });
}

const entityTag = (noun: string) => ({ ETag: `The new entity tag of the ${noun}.` });
const idIn = (name: string, path: Readonly<Record<string, unknown>>) => path[name] as number;
const photoIn = (path: Readonly<Record<string, unknown>>) => path['photoId'] as string;

function responseOf<Row extends HolderRow>(
  { publicUrl }: { readonly publicUrl: string },
  { holder, photo }: HeldPhoto<Row>,
): RouteResponse {
  return { body: photoOf(photo, publicUrl), headers: ['ETag', etagOf(holder)] };
}

/** The operations on the photos of pets. */
export const ofPets = operationsOn({
  holders: petPhotos,
  name: 'petId',
  parameter: {
    schema: PetId,
    description: 'The id of the animal.',
    errorCode: 'pet_not_found',
    errorMessage: 'There is no animal with this id.',
  },
  owners: 'Only the owner of the animal or an admin can do this.',
  examples: examplesOf({ path: { petId: '1' }, adding: 'addPhoto', given: [] }),
});

/** The operations on the photos of organizations. */
export const ofOrganizations = operationsOn({
  holders: organizationPhotos,
  name: 'organizationId',
  parameter: {
    schema: OrganizationId,
    description: 'The id of the organization: the id of its account.',
    errorCode: 'organization_not_found',
    errorMessage: 'There is no organization with this id.',
  },
  owners: 'Only the account itself or an admin can do this.',
  examples: examplesOf({
    path: { organizationId: '1' },
    adding: 'addOrganizationPhoto',
    given: ['replaceOrganization: a shelter'],
  }),
});
