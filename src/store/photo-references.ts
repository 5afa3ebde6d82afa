import { accountCounter } from '../access/plans/account-counter.ts';
import { countText } from '../lib/text.ts';
import { problem } from '../model/errors.ts';
import type { StoredPhoto } from '../model/photo.ts';
import { type Params, query, type Reader, sql, type Tables, type Transaction } from '../model/schema.ts';

/**
 * The bytes that the photos of each account count: the sum of `bytes` of the stored photos of its pets and
 * organization.
 */
export const photoBytes = accountCounter('photo_bytes', 'bytes');

/** A holder of photos: a pet or an organization. */
interface PhotoOwner {
  readonly accountId: number;
  /** A list of `StoredPhoto` as JSON. */
  readonly photos: string | null;
}

/** The type, dimensions and sizes of a stored photo. */
export type PhotoFacts = Pick<Tables['photos'], (typeof factColumns)[number]>;

export const factColumns = ['hash', 'type', 'bytes', 'width', 'height', 'sizes_bytes'] as const;

/** Returns a photo in the format in which pets and organizations store it. */
export function storedPhotoOf(
  { hash: id, bytes, width, height, sizes_bytes: sizes }: Omit<PhotoFacts, 'type'>,
  alt: string | undefined,
): StoredPhoto {
  const counted = sizes === null ? { bytes } : { bytes: bytes + sizes, original: bytes };
  return { id, ...(alt !== undefined && { alt }), width, height, ...counted };
}

/** Returns the photos of a pet or an organization, the main one first. */
export function photosOf({ photos }: Pick<PhotoOwner, 'photos'>): readonly StoredPhoto[] {
  return photos === null ? [] : JSON.parse(photos);
}

/** Returns the facts of a photo that a pet or an organization has or recently had. */
export function findPhoto(reader: Reader, hash: string): Promise<PhotoFacts | undefined> {
  return Promise.resolve(reader.first(photoByHash, { hash }));
}

/**
 * Records that the files of a photo are being stored, or are stored and about to be used. They then stay for a day.
 * @returns the recorded time, which is different for each call; if the photo is in use, the earlier time
 * @throws {Problem} `overloaded` while its files are being deleted
 */
export async function keepPhoto(tx: Transaction, photo: PhotoFacts): Promise<number | null> {
  const row = await tx.first(insertUnused, { ...photo, now: tx.now });
  requireKept(row === undefined ? 0 : 1);
  return row!.released_at;
}

/**
 * Counts another pet or organization that has a photo. Returns the photo in their format.
 * @throws {Problem} `overloaded` while its files are being deleted
 */
export async function addReference(tx: Transaction, photo: PhotoFacts, alt: string | undefined): Promise<StoredPhoto> {
  const row = await tx.first(insertReference, photo);
  requireKept(row === undefined ? 0 : 1);
  return storedPhotoOf({ ...photo, ...row! }, alt);
}

function requireKept(rows: number): void {
  if (rows > 0) return;
  const message = 'The same photo is being deleted at the moment; nothing was changed.';
  throw problem('overloaded', message, { headers: ['Retry-After', '2'] });
}

/** A photo of a new pet. */
export interface PhotoOfPet {
  readonly facts: PhotoFacts;
  readonly alt?: string;
}

/** Counts the photos of a new pet, and returns the value of its column. Does not check the quota of the account. */
export async function addPhotos(tx: Transaction, accountId: number, photos: readonly PhotoOfPet[]): Promise<string> {
  const added: StoredPhoto[] = [];
  for (const { facts, alt } of photos) added.push(await addReference(tx, facts, alt));
  for (const { bytes } of added) photoBytes.addLater(tx, accountId, bytes);
  return JSON.stringify(added);
}

/**
 * Counts the bytes of a photo, in the transaction that adds it. Call it last, like `countStored`.
 * @throws {Problem} `photo_storage_exceeded`
 */
export async function countPhotoBytes(tx: Transaction, accountId: number, bytes: number, max: number): Promise<void> {
  requireBytes((await photoBytes.add(tx, accountId, bytes)) - bytes, bytes, max);
}

/** @throws {Problem} `photo_storage_exceeded` if an account with these stored bytes cannot store more */
export function requireBytes(stored: number, bytes: number, max: number): void {
  if (stored + bytes <= max) return;
  const message = `The account stores ${countText(stored)} bytes of photos, and ${countText(bytes)} more would exceed ${countText(max)}, the maximum of its plan.`;
  throw problem('photo_storage_exceeded', message);
}

/** Counts that deleted pets or organizations no longer have their photos, in the transaction that deletes them. */
export async function releasePhotos(tx: Transaction, deleted: readonly PhotoOwner[]): Promise<void> {
  const references = new Map<string, number>();
  for (const one of deleted) {
    for (const { id, bytes } of photosOf(one)) {
      references.set(id, (references.get(id) ?? 0) + 1);
      photoBytes.addLater(tx, one.accountId, -bytes);
    }
  }
  // Always in the same order, so that transactions cannot deadlock.
  for (const [hash, count] of [...references].sort(([one], [other]) => (one < other ? -1 : 1))) {
    await tx.queue(removeReferences, { hash, count, now: tx.now });
  }
}

/** Moves the bytes of pets' photos to the count of another account. */
export function movePhotoBytes(tx: Transaction, pets: readonly PhotoOwner[], to: number): void {
  for (const pet of pets) {
    const bytes = photosOf(pet).reduce((sum, photo) => sum + photo.bytes, 0);
    if (bytes === 0) continue;
    photoBytes.addLater(tx, pet.accountId, -bytes);
    photoBytes.addLater(tx, to, bytes);
  }
}

const photoByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('photos').select(factColumns).where('hash', '=', p.hash),
);

const factsIn = ({ hash, type, bytes, width, height, sizes_bytes }: Params<PhotoFacts>) => ({
  ...{ hash, type, bytes, width, height, sizes_bytes },
});

const insertReference = query((db, p: Params<PhotoFacts>) =>
  db
    .insertInto('photos')
    .values({ ...factsIn(p), refs: 1 })
    .onConflict(conflict =>
      conflict
        .column('hash')
        .doUpdateSet(eb => ({ refs: eb('photos.refs', '+', 1), released_at: null }))
        .where('photos.deleting_since', 'is', null),
    )
    .returning('sizes_bytes'),
);

const insertUnused = query((db, p: Params<PhotoFacts & { now: number }>) =>
  db
    .insertInto('photos')
    .values({ ...factsIn(p), refs: 0, released_at: p.now })
    .onConflict(conflict =>
      conflict
        .column('hash')
        .doUpdateSet(eb => ({
          released_at: eb
            .case()
            .when(eb.and([eb('photos.refs', '=', 0), eb('photos.released_at', '>=', p.now)]))
            .then(eb('photos.released_at', '+', 1))
            .when('photos.refs', '=', 0)
            .then(p.now)
            .else(eb.ref('photos.released_at'))
            .end(),
        }))
        .where('photos.deleting_since', 'is', null),
    )
    .returning('released_at'),
);

const removeReferences = query((db, p: Params<{ hash: string; count: number; now: number }>) =>
  db
    .updateTable('photos')
    .set(eb => ({ refs: eb('refs', '-', p.count), released_at: p.now }))
    .where('hash', '=', p.hash),
);

/** Yields the hashes of the photos that pets and organizations have, in order. */
export async function* storedPhotos(reader: Reader): AsyncGenerator<string> {
  let after = '';
  for (;;) {
    const rows = await reader.all(photosAfter, { after, limit: PHOTOS_AT_ONCE });
    for (const { hash } of rows) yield hash;
    if (rows.length < PHOTOS_AT_ONCE) return;
    after = rows.at(-1)!.hash;
  }
}

const PHOTOS_AT_ONCE = 1000;

const photosAfter = query((db, p: Params<{ after: string; limit: number }>) =>
  db
    .selectFrom('photos')
    .select('hash')
    .where('hash', '>', p.after)
    .where('refs', '>', sql.lit(0))
    .orderBy('hash')
    .limit(p.limit),
);
