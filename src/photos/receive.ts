import { type Deployment, nowOf } from '../deployment.ts';
import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { PetRow } from '../pets/pet.ts';
import { getPet } from '../pets/pets.ts';
import { boundOf } from '../plans/plan.ts';
import type { Transaction } from '../schema.ts';
import type { Draft } from './files/photo-files.ts';
import { type AddOptions, addPhoto, requireRoom } from './photos.ts';
import { findPhoto, type PhotoFacts, photosOf } from './references.ts';

/** What receiving photos needs. */
type ReceiveDeps = Pick<Deployment, 'database' | 'clock' | 'photos'>;

/** The caller who uploads a photo, with the plan that bounds the photos of the account. */
export type Uploader = Actor & { readonly accountId: number; readonly plan: string };

/**
 * Receives the file of a photo for a pet, and discards it unless `add` stores and adds it.
 * @param add gets the hash of the file, and the function that makes its sizes and stores them
 * @throws {Problem} `pet_not_found`; `not_owner`; `overloaded`; `invalid_photo`; `storage_full`; what reading the file throws
 */
export async function receivePhoto<T>(
  deployment: ReceiveDeps,
  uploader: Uploader,
  petId: number,
  file: AsyncIterable<Buffer>,
  add: (hash: string, store: () => Promise<PhotoFacts>) => Promise<T>,
): Promise<T> {
  const { accountId } = uploader;
  const { files, uploads } = deployment.photos;
  const pet = await getPet(deployment.database, petId, nowOf(deployment));
  requireOwner(uploader, pet);
  if (!uploads.reserve(accountId, 1)) {
    const message = 'The account uploads too many photos at the same time; nothing was changed.';
    throw problem('overloaded', message, { headers: ['Retry-After', '2'] });
  }
  try {
    await using draft = await files.receive(file);
    return await add(draft.hash, () => storeDraft(deployment, accountId, pet, draft));
  } finally {
    uploads.release(accountId, 1);
  }
}

/** Adds a photo that is stored to a pet, as `addPhoto`. @throws {Problem} `overloaded` too */
export async function addReceived(
  tx: Transaction,
  { bounds, photos: { files } }: Pick<Deployment, 'bounds' | 'photos'>,
  uploader: Uploader,
  petId: number,
  photo: PhotoFacts,
  options?: AddOptions,
) {
  const bytesMax = boundOf(bounds, uploader, 'photoBytes');
  const added = await addPhoto(tx, uploader, petId, photo, bytesMax, options);
  // No pet had the photo, and its files were deleted at this moment.
  if (!files.has(photo.hash)) throw problem('overloaded', undefined, { headers: ['Retry-After', '1'] });
  return added;
}

/** @throws {Problem} `not_owner` unless the account owns the pet or is an admin */
export function requireOwner({ admin, accountId }: Actor, pet: PetRow): void {
  if (!admin && pet.accountId !== accountId) throw problem('not_owner');
}

async function storeDraft(
  { database, photos: { files } }: ReceiveDeps,
  accountId: number,
  pet: PetRow,
  draft: Draft,
): Promise<PhotoFacts> {
  const photos = photosOf(pet);
  if (!photos.some(({ id }) => id === draft.hash)) requireRoom(pet.id, photos);
  const known = await findPhoto(database, draft.hash);
  if (known !== undefined && files.has(draft.hash)) return known;
  const { hash, type, bytes } = draft;
  return { hash, type, bytes, ...(await files.store(draft, accountId)) };
}
