import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../../lib/storage/database.ts';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { photoSizes } from '../photo.ts';
import { isIntact } from './checksum.ts';
import { ORIGINAL, type PhotoVariant, photoVariants } from './names.ts';
import type { PhotoFile, PhotoStore } from './photo-store.ts';

/** How many photos were copied or found, and how many are missing. */
interface PhotoCounts {
  readonly photos: number;
  readonly missing: number;
}

/**
 * Copies the photos with these hashes that the target lacks, and flushes them. Files never change, so on the same file
 * system a copy is a second name of the same file.
 * @param onPhoto called with the number of photos that were copied or found
 */
export async function copyPhotos(
  from: PhotoStore,
  to: PhotoStore,
  hashes: AsyncIterable<string>,
  onPhoto?: (photos: number) => void,
): Promise<PhotoCounts> {
  let photos = 0;
  let missing = 0;
  for await (const hash of hashes) {
    if ((await to.has(hash)) || (await copyPhoto(from, to, hash))) photos++;
    else missing++;
    onPhoto?.(photos);
  }
  // Fails if a server also uses the directory.
  await rmdir(to.drafts).catch(() => {});
  return { photos, missing };
}

/** Copies the files of one photo. Returns false if there are none. */
async function copyPhoto(from: PhotoStore, to: PhotoStore, hash: string): Promise<boolean> {
  const draft = join(to.drafts, randomUUID());
  createDirectory(to.drafts);
  await mkdir(draft, { mode: 0o700 });
  try {
    if (!(await from.copyTo(hash, draft))) return false;
    await to.add(hash, draft);
    return true;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Returns a file of a photo that a store lacks; `undefined` if it has all of them. */
export async function missingFile(store: PhotoStore, hash: string): Promise<PhotoVariant | undefined> {
  for (const variant of photoVariants) if (!(await store.find(hash, variant))?.length) return variant;
  return undefined;
}

/** Reads the files of a photo. Returns the first damage as the end of a sentence; `undefined` if there is none. */
export async function damageOf(store: PhotoStore, hash: string): Promise<string | undefined> {
  if (!(await store.has(hash))) return 'has no files';
  for (const size of photoSizes) {
    const file = await store.find(hash, size);
    if (!file?.length) return `lacks the size ${size}`;
    if (!(await isWhole(file))) return `has a damaged size ${size}`;
  }
  try {
    const digest = createHash('sha256');
    for await (const chunk of (await store.find(hash, ORIGINAL))?.parts ?? []) digest.update(chunk);
    return digest.digest('hex') === hash ? undefined : 'has an original that differs from the uploaded file';
  } catch (error) {
    if (error instanceof StorageError) throw error;
    return 'has no original that can be read';
  }
}

/** Reports whether a size can be read and is intact. */
async function isWhole({ parts }: PhotoFile): Promise<boolean> {
  try {
    return isIntact(Buffer.concat(await Array.fromAsync(parts)));
  } catch (error) {
    if (error instanceof StorageError) throw error;
    return false;
  }
}
