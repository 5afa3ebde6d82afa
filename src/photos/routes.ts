import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { problem } from '../errors.ts';
import { hasStoredResponse, withIdempotency, withIdempotencyAfter } from '../idempotency/idempotency.ts';
import { etagOf } from '../lib/etag.ts';
import type { PathParameter, RouteResponse } from '../lib/http/route.ts';
import { OrganizationId } from '../organizations/organization.ts';
import { PetId } from '../pets/pet.ts';
import { examplesOf } from './examples.ts';
import { type HolderRow, organizationPhotos, type PhotoHolders, petPhotos } from './holders.ts';
import {
  AltText,
  AVIF_ADVICE,
  HEIC_ADVICE,
  PHOTO_BYTES_MAX,
  Photo,
  PhotoId,
  PhotoPatch,
  photoOf,
  photoTypes,
} from './photo.ts';
import { deletePhoto, findIn, type HeldPhoto, updatePhoto } from './photos.ts';
import { addReceived, receivePhoto, requireOwner } from './receive.ts';
import { findPhoto, type PhotoFacts, photosOf } from './references.ts';

const photoId = {
  schema: PhotoId,
  description: 'The id of the photo.',
  errorCode: 'photo_not_found',
  errorMessage: 'There is no photo with this id.',
} as const;

interface Holding<Row extends HolderRow> {
  readonly holders: PhotoHolders<Row>;
  /** The path parameter with the id of what has the photos. */
  readonly name: 'petId' | 'organizationId';
  readonly parameter: PathParameter;
  /** The sentence in the descriptions that says who may call the operations. */
  readonly owners: string;
  readonly examples: ReturnType<typeof examplesOf>;
}

function operationsOn<Row extends HolderRow>({ holders, name, parameter, owners, examples }: Holding<Row>) {
  const { noun } = holders;
  const headers = { ETag: `The new entity tag of the ${noun}.` };
  const one = { [name]: parameter };
  const parameters = { ...one, photoId };
  const idIn = (path: Readonly<Record<string, unknown>>) => path[name] as number;
  const photoIn = (path: Readonly<Record<string, unknown>>) => path['photoId'] as string;

  const add = operation({
    summary: `Add a photo of an ${noun}`,
    description:
      `Stores the body, a JPEG, PNG or WebP as it is, and adds it after the other photos of the ${noun}. The response is ` +
      `sent once the photo and all its sizes are on disk. The sizes have no metadata, such as the location. ${owners}`,
    parameters: one,
    conditional: true,
    query: Type.Object({ alt: Type.Optional(AltText) }),
    notInSandbox: 'upload photos',
    upload: {
      kind: 'photos',
      contentTypes: photoTypes,
      advice: { 'image/heic': HEIC_ADVICE, 'image/heif': HEIC_ADVICE, 'image/avif': AVIF_ADVICE },
      bytesMax: PHOTO_BYTES_MAX,
      description: 'The bytes of the photo: at most 10 MiB, and at most 50 megapixels.',
    },
    successes: [
      { status: 201, description: 'The new photo.', schema: Photo, headers },
      { status: 200, description: `The ${noun} has this photo already.`, schema: Photo, headers },
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
          const { isNew, ...added } = await addReceived(tx, context, holders, caller, idIn(path), photo, options);
          return { ...responseOf(request, added), status: isNew ? 201 : 200 };
        });
      return receivePhoto(context, holders, caller, idIn(path), upload!, add, { isRetry });
    },
  });

  const update = operation({
    summary: `Change a photo of an ${noun}`,
    description:
      'Applies a JSON Merge Patch (RFC 7396) to the text of a photo, or moves it. The photo at position 1 is the main photo ' +
      `of the ${noun}. ${owners}`,
    parameters,
    conditional: true,
    body: PhotoPatch,
    successes: [{ status: 200, description: 'The photo after the change.', schema: Photo, headers }],
    errors: ['not_owner'],
    examples: examples.update,
    handle(request) {
      const { caller, path, body, checkPreconditions } = request;
      return withIdempotency(request, async tx =>
        responseOf(
          request,
          await updatePhoto(tx, holders, caller, idIn(path), photoIn(path), body, checkPreconditions),
        ),
      );
    },
  });

  const remove = operation({
    summary: `Delete a photo of an ${noun}`,
    description: `Removes a photo from the ${noun}. Its URLs stop working within a few days. ${owners}`,
    parameters,
    conditional: true,
    successes: [{ status: 204, description: 'The photo is deleted.' }],
    errors: ['not_owner'],
    examples: examples.remove,
    async handle({ context, caller, origin, path, checkPreconditions }) {
      await context.database.write(
        tx => deletePhoto(tx, holders, caller, idIn(path), photoIn(path), checkPreconditions),
        origin,
      );
      return {};
    },
  });

  const original = operation({
    summary: `Get the original of a photo of an ${noun}`,
    description:
      'Returns the bytes that were uploaded, with all their metadata, as a file to save. Everyone can get the sizes at the ' +
      `\`urls\` of the photo. ${owners}`,
    parameters,
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
      const holder = await holders.get(context.database, caller, idIn(path), nowOf(context));
      requireOwner(caller, holders.ownerOf(holder));
      const { id } = findIn(photosOf(holder), photoIn(path));
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

  return { add, update, remove, original };
}

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
    description: 'The id of the organization: that of its account.',
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
