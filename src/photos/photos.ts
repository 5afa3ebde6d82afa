import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { PreconditionCheck } from '../lib/http/route.ts';
import { changePet } from '../pets/change.ts';
import type { PetRow } from '../pets/pet.ts';
import { lockOwnPet } from '../pets/pets.ts';
import type { Transaction } from '../schema.ts';
import { PHOTOS_MAX, type PhotoPatch, type StoredPhoto } from './photo.ts';
import { addReference, countPhotoBytes, type PhotoFacts, photosOf, releasePhotos } from './references.ts';

/** A pet with one of its photos. */
export interface PetPhoto {
  readonly pet: PetRow;
  readonly photo: StoredPhoto;
}

/** How a photo is added. */
export interface AddOptions {
  /** What the photo shows. */
  readonly alt?: string | undefined;
  readonly checkPreconditions?: PreconditionCheck | undefined;
  /** Returns the index of the photo among the others of its pet; after them by default. */
  indexIn?(photos: readonly StoredPhoto[]): number;
}

/**
 * Adds a photo to a pet, and records `pet.updated`. A photo that the pet has already stays as it is.
 * @param bytesMax the most bytes of photos of the caller's account
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws; `photo_limit_exceeded`;
 *   `photo_storage_exceeded`
 */
export async function addPhoto(
  tx: Transaction,
  actor: Actor,
  petId: number,
  { hash, type, bytes, width, height }: PhotoFacts,
  bytesMax: number,
  { alt, checkPreconditions, indexIn = all => all.length }: AddOptions = {},
): Promise<PetPhoto & { readonly isNew: boolean }> {
  const pet = await lockOwnPet(tx, actor, petId, checkPreconditions);
  const photos = photosOf(pet);
  const known = photos.find(({ id }) => id === hash);
  if (known !== undefined) return { pet, photo: known, isNew: false };
  requireRoom(petId, photos);
  const photo: StoredPhoto = { id: hash, ...(alt !== undefined && { alt }), width, height, bytes };
  await addReference(tx, { hash, type, bytes, width, height });
  const changed = await changePet(
    tx,
    pet,
    { photos: JSON.stringify(photos.toSpliced(indexIn(photos), 0, photo)) },
    { accountId: actor.accountId },
  );
  // The bound is that of the owner's plan; an admin may exceed it.
  const max = pet.accountId === actor.accountId ? bytesMax : Number.POSITIVE_INFINITY;
  await countPhotoBytes(tx, pet.accountId, bytes, max);
  return { pet: changed, photo, isNew: true };
}

/** @throws {Problem} `photo_limit_exceeded` if a pet has as many photos as it can have */
export function requireRoom(petId: number, photos: readonly StoredPhoto[]): void {
  if (photos.length < PHOTOS_MAX) return;
  throw problem(
    'photo_limit_exceeded',
    `The animal ${petId} has ${photos.length} photos; ${PHOTOS_MAX} is the maximum.`,
  );
}

/**
 * Changes the text or the place of a photo of a pet, and records `pet.updated`. A patch without an effect changes nothing.
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws; `photo_not_found`
 */
export async function updatePhoto(
  tx: Transaction,
  actor: Actor,
  petId: number,
  photoId: string,
  { alt, position }: PhotoPatch,
  checkPreconditions?: PreconditionCheck,
): Promise<PetPhoto> {
  const pet = await lockOwnPet(tx, actor, petId, checkPreconditions);
  const photos = photosOf(pet);
  const { alt: before, ...rest } = findIn(photos, photoId);
  const text = alt === undefined ? before : alt;
  const { id, ...dimensions } = rest;
  const photo: StoredPhoto = { id, ...(typeof text === 'string' && { alt: text }), ...dimensions };
  const index = position === undefined ? photos.findIndex(one => one.id === photoId) : position - 1;
  const changed = photos.filter(one => one.id !== photoId).toSpliced(index, 0, photo);
  return { pet: await changePet(tx, pet, { photos: JSON.stringify(changed) }, { accountId: actor.accountId }), photo };
}

/**
 * Removes a photo from a pet, and records `pet.updated`. Its files are deleted later, unless another pet has it.
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws; `photo_not_found`
 */
export async function deletePhoto(
  tx: Transaction,
  actor: Actor,
  petId: number,
  photoId: string,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const pet = await lockOwnPet(tx, actor, petId, checkPreconditions);
  const photos = photosOf(pet);
  const photo = findIn(photos, photoId);
  const left = photos.filter(one => one !== photo);
  await releasePhotos(tx, [{ accountId: pet.accountId, photos: JSON.stringify([photo]) }]);
  await changePet(tx, pet, { photos: left.length === 0 ? null : JSON.stringify(left) }, { accountId: actor.accountId });
}

/** Returns the photo with this id. @throws {Problem} `photo_not_found` */
export function findIn(photos: readonly StoredPhoto[], id: string): StoredPhoto {
  const found = photos.find(photo => photo.id === id);
  if (found === undefined) throw problem('photo_not_found');
  return found;
}
