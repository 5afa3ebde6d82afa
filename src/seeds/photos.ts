import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { DRAFTS, directoryIn, ORIGINAL } from '../photos/files/names.ts';
import { photoSizes, type StoredPhoto } from '../photos/photo.ts';
import type { PhotoOfPet } from '../photos/references.ts';
import type { Kind } from './kinds.ts';

/** The drawings, which `test/drawings/draw.ts` draws: `dog-golden-450.jpg`, … */
const directory = fileURLToPath(new URL('photos', import.meta.url));
/** The sides of a drawing, in pixels. It is its own size of 600 and 1280. */
const SIDE = 512;

/** Returns the photo of each drawing by its name. */
export function samplePhotos(): ReadonlyMap<string, Omit<StoredPhoto, 'alt'>> {
  const suffix = `-${SIDE}.jpg`;
  const originals = readdirSync(directory).filter(name => name.endsWith(suffix));
  return new Map(
    originals.map(name => {
      const bytes = readFileSync(join(directory, name));
      const id = createHash('sha256').update(bytes).digest('hex');
      return [name.slice(0, -suffix.length), { id, width: SIDE, height: SIDE, bytes: bytes.length }];
    }),
  );
}

/** The photos by the names of their drawings. */
export type SamplePhotos = ReturnType<typeof samplePhotos>;

/** Returns the photo of a kind. */
export function photoOf({ photo, alt }: Kind, photos: SamplePhotos): PhotoOfPet {
  const { id, ...dimensions } = photos.get(photo)!;
  return { id, alt, ...dimensions, type: 'image/jpeg' };
}

/**
 * Stores the files of drawings that a directory of photos lacks. They are not flushed, which would delay a start: after a
 * power cut, the next start stores them again, as it compares their lengths.
 */
export function storeSamplePhotos(target: string, photos: SamplePhotos): void {
  for (const [name, { id, bytes }] of photos)
    if (!isComplete(directoryIn(target, id), bytes)) storeOne(target, name, id);
}

function isComplete(stored: string, bytes: number): boolean {
  const lengths = [ORIGINAL, ...photoSizes.map(size => `${size}.jpg`)].map(
    name => statSync(join(stored, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return lengths[0] === bytes && lengths.every(length => length > 0);
}

function storeOne(target: string, name: string, id: string): void {
  createDirectory(join(target, DRAFTS));
  const draft = join(target, DRAFTS, randomUUID());
  mkdirSync(draft, { mode: 0o700 });
  copyFileSync(join(directory, `${name}-${SIDE}.jpg`), join(draft, ORIGINAL));
  for (const size of photoSizes) {
    const file = join(draft, `${size}.jpg`);
    copyFileSync(join(directory, `${name}-${Math.min(size, SIDE)}.jpg`), file);
  }
  const stored = directoryIn(target, id);
  if (!existsSync(dirname(stored))) mkdirSync(dirname(stored), { mode: 0o700 });
  try {
    renameSync(draft, stored);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    // Another process has stored it meanwhile, or it is incomplete.
    rmSync(stored, { recursive: true });
    renameSync(draft, stored);
  }
}
