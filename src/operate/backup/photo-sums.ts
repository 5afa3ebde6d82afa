import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskStore } from '../../model/photo-files/disk-store.ts';
import { pathOf } from '../../model/photo-files/names.ts';
import { changed, type Digest, digestOf, readDigest } from './digest.ts';

/** The directory of the photos in a backup. */
export const PHOTOS = 'photos';

/** Returns the photos of a deployment in a backup. */
export function photosIn(directory: string, deployment: string): DiskStore {
  return new DiskStore(join(directory, PHOTOS, deployment));
}

/** Returns the path of the file with the SHA-256 of each photo file of a deployment, in the format of `sha256sum`. */
export function sumsOf(deployment: string): string {
  return `${PHOTOS}/${deployment}.sha256`;
}

const LINE = /^([0-9a-f]{64}) {2}([a-z]+\/[0-9a-f]{2}\/([0-9a-f]{64})\/[\w.-]+)$/;

/** Writes the SHA-256 of each photo file in a backup. Returns the digest of that list. */
export async function writeSums(directory: string, deployment: string): Promise<Digest> {
  const store = photosIn(directory, deployment);
  const path = join(directory, sumsOf(deployment));
  {
    await using sums = await open(path, 'wx', 0o600);
    for await (const hash of store.hashes()) {
      for (const name of (await readdir(store.directoryOf(hash))).sort()) {
        const { sha256 } = await digestOf(join(store.directoryOf(hash), name));
        await sums.appendFile(`${sha256}  ${deployment}/${pathOf(hash)}/${name}\n`);
      }
    }
  }
  return digestOf(path);
}

/**
 * Compares each photo file of a deployment with the list of `writeSums`.
 * @param expected the digest of the list
 * @param onPhoto called with the number of compared photos
 * @returns the number of photos
 * @throws {UserError} naming the first file that is missing or changed
 */
export async function verifySums(
  directory: string,
  deployment: string,
  expected: Digest,
  onPhoto: (photos: number) => void,
): Promise<number> {
  const list = sumsOf(deployment);
  const { bytes, sha256 } = await readDigest(directory, list);
  if (bytes !== expected.bytes || sha256 !== expected.sha256) throw changed(directory, list);
  await using sums = await open(join(directory, list));
  let photos = 0;
  let last: string | undefined;
  for await (const line of sums.readLines()) {
    const [, sum, path, hash] = LINE.exec(line) ?? [];
    if (path === undefined) throw changed(directory, list);
    if ((await readDigest(directory, `${PHOTOS}/${path}`)).sha256 !== sum)
      throw changed(directory, `${PHOTOS}/${path}`);
    if (hash !== last) onPhoto(++photos);
    last = hash;
  }
  return photos;
}
