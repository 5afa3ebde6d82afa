import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { UserError } from '../lib/user-error.ts';
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
 * power cut, the next start stores them again, as it looks at their lengths.
 * @throws {UserError} if the directory cannot be written
 */
export async function storeSamplePhotos(target: string, photos: SamplePhotos): Promise<void> {
  const missing = [...photos].filter(([, { id, bytes }]) => !isComplete(directoryIn(target, id), bytes));
  if (missing.length === 0) return;
  try {
    createDirectory(join(target, DRAFTS));
    await Promise.all(missing.map(([name, { id }]) => storeOne(target, name, id)));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const message = `The photos of the sample animals cannot be written to ${target} (${code}). Set PETSTORE_PHOTOS_DIRECTORY to another directory.`;
    throw new UserError(message, { cause: error });
  }
}

function isComplete(stored: string, bytes: number): boolean {
  const lengths = [ORIGINAL, ...photoSizes.map(size => `${size}.jpg`)].map(
    name => statSync(join(stored, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return lengths[0] === bytes && lengths.every(length => length > 0);
}

async function storeOne(target: string, name: string, id: string): Promise<void> {
  const draft = join(target, DRAFTS, randomUUID());
  await mkdir(draft, { mode: 0o700 });
  await copyFile(join(directory, `${name}-${SIDE}.jpg`), join(draft, ORIGINAL));
  for (const size of photoSizes) {
    const file = join(draft, `${size}.jpg`);
    if (size < SIDE) await copyFile(join(directory, `${name}-${size}.jpg`), file);
    // A second name of the same file; not every file system has them.
    else await link(join(draft, ORIGINAL), file).catch(() => copyFile(join(draft, ORIGINAL), file));
  }
  const stored = directoryIn(target, id);
  await mkdir(dirname(stored), { mode: 0o700, recursive: true });
  if (await renamed(draft, stored)) return;
  // It is incomplete, or another process has stored it meanwhile, and may once more.
  await rm(stored, { recursive: true, force: true });
  if (!(await renamed(draft, stored))) await rm(draft, { recursive: true });
}

/** Renames a directory. Returns false if the other one exists. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}
