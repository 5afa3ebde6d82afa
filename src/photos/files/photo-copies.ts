import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { photoSizes } from '../photo.ts';
import { DRAFTS, directoryIn, ORIGINAL } from './names.ts';

/** How many photos were copied or found, and how many are missing. */
export interface PhotoCounts {
  readonly photos: number;
  readonly missing: number;
}

/**
 * Copies the photos with these hashes that the target lacks, and flushes them. Files never change, so on one file system a
 * copy is a second name of the same file.
 * @param from the directory of the photos of a deployment; likewise `to`
 */
export async function copyPhotos(from: string, to: string, hashes: AsyncIterable<string>): Promise<PhotoCounts> {
  let photos = 0;
  let missing = 0;
  for await (const hash of hashes) {
    if (existsSync(directoryIn(to, hash)) || (await copyPhoto(from, to, hash))) photos++;
    else missing++;
  }
  await rm(join(to, DRAFTS), { recursive: true, force: true });
  return { photos, missing };
}

/** Copies the files of one photo. Returns false if there are none. */
async function copyPhoto(from: string, to: string, hash: string): Promise<boolean> {
  const source = directoryIn(from, hash);
  if (!existsSync(source)) return false;
  const draft = join(to, DRAFTS, randomUUID());
  createDirectory(dirname(draft));
  await mkdir(draft, { mode: 0o700 });
  for (const name of await readdir(source)) await copyOne(join(source, name), join(draft, name));
  await flush(draft);
  const target = directoryIn(to, hash);
  createDirectory(dirname(target));
  await rename(draft, target);
  await flush(dirname(target));
  return true;
}

async function copyOne(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    // Another file system, or one without links.
    await copyFile(from, to);
    await flush(to);
  }
}

async function flush(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** Yields the hashes of all photos in a directory. */
export async function* hashesIn(directory: string): AsyncGenerator<string> {
  if (!existsSync(directory)) return;
  for (const prefix of await readdir(directory)) {
    if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
    for (const hash of await readdir(join(directory, prefix))) if (/^[0-9a-f]{64}$/.test(hash)) yield hash;
  }
}

/** Reads the files of a photo. Returns what is wrong with them, as the end of a sentence; `undefined` if nothing is. */
export async function damageOf(directory: string, hash: string): Promise<string | undefined> {
  const photo = directoryIn(directory, hash);
  if (!existsSync(photo)) return 'has no files';
  for (const size of photoSizes) {
    const bytes = await stat(join(photo, `${size}.jpg`)).then(
      found => found.size,
      () => 0,
    );
    if (bytes === 0) return `lacks the size ${size}`;
  }
  try {
    const digest = createHash('sha256');
    for await (const chunk of createReadStream(join(photo, ORIGINAL))) digest.update(chunk);
    return digest.digest('hex') === hash ? undefined : 'has another original than was uploaded';
  } catch {
    return 'has no original that can be read';
  }
}
