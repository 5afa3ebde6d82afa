import type { PreconditionCheck } from '../../lib/http/route.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { PHOTOS_MAX, type PhotoPatch, type StoredPhoto } from '../../model/photo.ts';
import type { Transaction } from '../../model/schema.ts';
import { addReference, countPhotoBytes, type PhotoFacts, photosOf, releasePhotos } from '../photo-references.ts';
import type { HolderRow, PhotoHolders } from './holders.ts';

/** A photo and its holder: a pet or an organization. */
export interface HeldPhoto<Row> {
  readonly holder: Row;
  readonly photo: StoredPhoto;
}

/** The options of a new photo. */
export interface AddOptions {
  /** The description of the photo. */
  readonly alt?: string | undefined;
  readonly checkPreconditions?: PreconditionCheck | undefined;
  /** Returns the index of the photo among those of its holder; by default it is last. */
  indexIn?(photos: readonly StoredPhoto[]): number;
}

/**
 * Adds a photo to a pet or an organization, and records its change. If the holder already has the photo, it does not
 * change.
 * @param bytesMax the maximum bytes of photos of the caller's account
 * @throws {Problem} any error of `holders.lock`; `photo_limit_exceeded`; `photo_storage_exceeded`; `overloaded` while
 *   the files of the photo are being deleted
 */
export async function addPhoto<Row extends HolderRow>(
  tx: Transaction,
  holders: PhotoHolders<Row>,
  actor: Actor,
  id: number,
  facts: PhotoFacts,
  bytesMax: number,
  { alt, checkPreconditions, indexIn = all => all.length }: AddOptions = {},
): Promise<HeldPhoto<Row> & { readonly isNew: boolean }> {
  const holder = await holders.lock(tx, actor, id, checkPreconditions);
  const photos = photosOf(holder);
  const known = photos.find(photo => photo.id === facts.hash);
  if (known !== undefined) return { holder, photo: known, isNew: false };
  requireRoom(holders, id, photos);
  const photo = await addReference(tx, facts, alt);
  const changed = await holders.change(tx, actor, holder, textOf(photos.toSpliced(indexIn(photos), 0, photo)));
  const ownerId = holders.ownerOf(holder);
  // The bound is that of the owner's plan; an admin may exceed it for others.
  const max = ownerId === actor.accountId ? bytesMax : Number.POSITIVE_INFINITY;
  await countPhotoBytes(tx, ownerId, photo.bytes, max);
  return { holder: changed, photo, isNew: true };
}

/** @throws {Problem} `photo_limit_exceeded` if a holder has the maximum number of photos */
export function requireRoom({ noun }: Pick<PhotoHolders, 'noun'>, id: number, photos: readonly StoredPhoto[]): void {
  if (photos.length < PHOTOS_MAX) return;
  throw problem('photo_limit_exceeded', `The ${noun} ${id} has ${photos.length} photos, the maximum.`);
}

/**
 * Changes the text or the position of a photo, and records the change of its holder. A patch without differences
 * changes nothing.
 * @throws {Problem} any error of `holders.lock`; `photo_not_found`
 */
export async function updatePhoto<Row extends HolderRow>(
  tx: Transaction,
  holders: PhotoHolders<Row>,
  actor: Actor,
  id: number,
  photoId: string,
  { alt, position }: PhotoPatch,
  checkPreconditions?: PreconditionCheck,
): Promise<HeldPhoto<Row>> {
  const holder = await holders.lock(tx, actor, id, checkPreconditions);
  const photos = photosOf(holder);
  const { alt: before, id: hash, ...dimensions } = findIn(photos, photoId);
  const text = alt === undefined ? before : alt;
  const photo: StoredPhoto = { id: hash, ...(typeof text === 'string' && { alt: text }), ...dimensions };
  const index = position === undefined ? photos.findIndex(one => one.id === photoId) : position - 1;
  const changed = photos.filter(one => one.id !== photoId).toSpliced(index, 0, photo);
  return { holder: await holders.change(tx, actor, holder, textOf(changed)), photo };
}

/**
 * Removes a photo, and records the change of its holder. Its files are deleted later, unless another holder has it.
 * @throws {Problem} what `holders.lock` throws; `photo_not_found`
 */
export async function deletePhoto<Row extends HolderRow>(
  tx: Transaction,
  holders: PhotoHolders<Row>,
  actor: Actor,
  id: number,
  photoId: string,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const holder = await holders.lock(tx, actor, id, checkPreconditions);
  const photos = photosOf(holder);
  const photo = findIn(photos, photoId);
  await releasePhotos(tx, [{ accountId: holders.ownerOf(holder), photos: textOf([photo]) }]);
  await holders.change(tx, actor, holder, textOf(photos.filter(one => one !== photo)));
}

/** Returns the photo with this id. @throws {Problem} `photo_not_found` */
export function findIn(photos: readonly StoredPhoto[], id: string): StoredPhoto {
  const found = photos.find(photo => photo.id === id);
  if (found === undefined) throw problem('photo_not_found');
  return found;
}

/** Returns photos as they are stored. */
function textOf(photos: readonly StoredPhoto[]): string | null {
  return photos.length === 0 ? null : JSON.stringify(photos);
}
