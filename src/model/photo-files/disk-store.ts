import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, link, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { photoSizes } from '../photo.ts';
import { DRAFTS, directoryIn, fileOf, type PhotoVariant } from './names.ts';
import type { PhotoFile, PhotoStore } from './photo-store.ts';

/** Photos in a directory. Each has a subdirectory, `ab/ab12…`, which gets its name when it is complete and flushed. */
export class DiskStore implements PhotoStore {
  readonly directory: string;
  readonly drafts: string;

  /** @param directory created when it is needed */
  constructor(directory: string) {
    this.directory = directory;
    this.drafts = join(directory, DRAFTS);
  }

  async add(hash: string, directory: string): Promise<void> {
    const target = this.directoryOf(hash);
    createDirectory(dirname(target));
    try {
      await rename(directory, target);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ENOTEMPTY', 'EEXIST'].includes(code)) throw error;
    }
    await flush(dirname(target));
  }

  async replaceSizes(hash: string, directory: string): Promise<void> {
    const target = this.directoryOf(hash);
    for (const size of photoSizes) await rename(join(directory, fileOf(size)), join(target, fileOf(size)));
    await flush(target);
  }

  async has(hash: string): Promise<boolean> {
    return (await unlessAbsent(stat(this.directoryOf(hash)))) !== undefined;
  }

  async find(hash: string, variant: PhotoVariant): Promise<PhotoFile | undefined> {
    const path = join(this.directoryOf(hash), fileOf(variant));
    const found = await unlessAbsent(stat(path));
    return found && { length: found.size, parts: partsOf(path, found.size) };
  }

  async copyTo(hash: string, directory: string): Promise<boolean> {
    const source = this.directoryOf(hash);
    const names = await unlessAbsent(readdir(source));
    if (names === undefined) return false;
    for (const name of names) await linkOrCopy(join(source, name), join(directory, name));
    await flush(directory);
    return true;
  }

  async delete(hash: string): Promise<void> {
    // Rename first: for readers, the photo disappears at once, and an interrupted deletion leaves no part of it.
    const aside = join(this.drafts, randomUUID());
    createDirectory(this.drafts);
    await unlessAbsent(rename(this.directoryOf(hash), aside));
    await rm(aside, { recursive: true, force: true });
  }

  /** Yields the hashes of all photos. */
  async *hashes(): AsyncGenerator<string> {
    for (const prefix of (await unlessAbsent(readdir(this.directory))) ?? []) {
      if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
      for (const hash of await readdir(join(this.directory, prefix))) if (/^[0-9a-f]{64}$/.test(hash)) yield hash;
    }
  }

  directoryOf(hash: string): string {
    return directoryIn(this.directory, hash);
  }
}

/** Deletes what interrupted uploads and deletions left in a directory of drafts at least `ageMs` ago. */
export async function deleteDrafts(drafts: string, ageMs: number): Promise<void> {
  for (const name of (await unlessAbsent(readdir(drafts))) ?? []) {
    const draft = join(drafts, name);
    const found = await unlessAbsent(stat(draft));
    // Compare times of the file system.
    if (found && Date.now() - found.mtimeMs >= ageMs) await rm(draft, { recursive: true, force: true });
  }
}

/** Returns the result of a file operation; `undefined` if the file does not exist. */
async function unlessAbsent<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Gives a file, which never changes, a second name; copies it if the file systems differ or do not support links. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to);
    await flush(to);
  }
}

async function flush(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** @param length the number of bytes to read: a longer file may have replaced the file that was found */
async function* partsOf(path: string, length: number): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { end: Math.max(0, length - 1) });
}
