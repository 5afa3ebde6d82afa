import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { UserError } from '../../lib/user-error.ts';
import { photoSizes } from '../../model/photo.ts';
import { linkOrCopy } from '../../model/photo-files/disk-store.ts';
import { fileOf, ORIGINAL, photoVariants } from '../../model/photo-files/names.ts';
import type { PhotoStore } from '../../model/photo-files/photo-store.ts';
import type { PhotoFacts, PhotoOfPet } from '../../store/photo-references.ts';
import type { Kind } from './profiles.ts';

/** The drawings, which `test/drawings/draw.ts` draws: `dog-golden-450.jpg`, … */
const directory = fileURLToPath(new URL('photos', import.meta.url));
/** The sides of a drawing, in pixels. The original also serves as its 600 and 1280 pixel sizes. */
const SIDE = 512;

/** Returns the photo of each drawing by its name. */
export function samplePhotos(): ReadonlyMap<string, PhotoFacts> {
  const suffix = `-${SIDE}.jpg`;
  const originals = readdirSync(directory).filter(name => name.endsWith(suffix));
  return new Map(
    originals.map(name => {
      const bytes = readFileSync(join(directory, name));
      const hash = createHash('sha256').update(bytes).digest('hex');
      const drawing = name.slice(0, -suffix.length);
      // The original serves as the larger sizes.
      const sizes = photoSizes.filter(size => size < SIDE).map(size => statSync(fileIn(drawing, size)).size);
      const sizesBytes = sizes.reduce((sum, size) => sum + size, 0);
      const facts = { hash, type: 'image/jpeg' as const, width: SIDE, height: SIDE, bytes: bytes.length };
      return [drawing, { ...facts, sizes_bytes: sizesBytes }];
    }),
  );
}

function fileIn(name: string, size: number): string {
  return join(directory, `${name}-${size}.jpg`);
}

/** The photos by the names of their drawings. */
export type SamplePhotos = ReturnType<typeof samplePhotos>;

/** Returns the photo of a kind. */
export function photoOf({ photo, alt }: Kind, photos: SamplePhotos): PhotoOfPet {
  return { facts: photos.get(photo)!, alt };
}

/**
 * Stores the files of drawings that are missing. Does not flush the files, because that would delay the start: after a
 * power cut, the next start detects incomplete files by their lengths and stores them again.
 * @throws {UserError} if the directory cannot be written
 */
export async function storeSamplePhotos(store: PhotoStore, photos: SamplePhotos): Promise<void> {
  try {
    await Promise.all(Array.from(photos, ([name, photo]) => storeOne(store, name, photo)));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const message = `The photos of the sample animals cannot be written to ${store.drafts} (${code}). Set PETSTORE_PHOTOS_DIRECTORY to another directory.`;
    throw new UserError(message, { cause: error });
  }
}

async function storeOne(store: PhotoStore, name: string, { hash: id, bytes }: PhotoFacts): Promise<void> {
  if (await isComplete(store, id, bytes)) return;
  const draft = join(store.drafts, randomUUID());
  createDirectory(store.drafts);
  await mkdir(draft, { mode: 0o700 });
  const copy = async (size: number, file: string) =>
    writeFile(join(draft, file), await readFile(fileIn(name, size)), { mode: 0o600 });
  await copy(SIDE, ORIGINAL);
  for (const size of photoSizes) {
    if (size < SIDE) await copy(size, fileOf(size));
    else await linkOrCopy(join(draft, ORIGINAL), join(draft, fileOf(size)));
  }
  // Replaces an incomplete photo. If another process has stored it completely meanwhile, it is stored once more.
  await store.delete(id);
  await store.add(id, draft);
  await rm(draft, { recursive: true, force: true });
}

async function isComplete(store: PhotoStore, id: string, bytes: number): Promise<boolean> {
  for (const variant of photoVariants) {
    const length = (await store.find(id, variant))?.length ?? 0;
    if (length === 0 || (variant === ORIGINAL && length !== bytes)) return false;
  }
  return true;
}
