import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Bucket } from '../../lib/bucket.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { photoSizes } from '../photo.ts';
import { DRAFTS, fileOf, ORIGINAL, type PhotoVariant, pathOf, photoVariants } from './names.ts';
import type { BucketLocation, PhotoFile, PhotoStore } from './photo-store.ts';

/**
 * Photos in a bucket of S3-compatible storage, with the paths of a directory as keys: `production/ab/ab12…/600.jpg`.
 */
export class BucketStore implements PhotoStore {
  readonly drafts: string;
  readonly #bucket: Bucket;
  readonly #prefix: string;

  /** @param directory a directory on this machine */
  constructor(directory: string, { prefix, ...settings }: BucketLocation) {
    this.drafts = join(directory, DRAFTS);
    this.#bucket = new Bucket(settings);
    this.#prefix = prefix;
  }

  async add(hash: string, directory: string): Promise<void> {
    await this.#put(hash, directory, photoVariants);
  }

  async replaceSizes(hash: string, directory: string): Promise<void> {
    await this.#put(hash, directory, photoSizes);
  }

  async has(hash: string): Promise<boolean> {
    return (await this.#bucket.sizeOf(this.#keyOf(hash, ORIGINAL))) !== undefined;
  }

  async find(hash: string, variant: PhotoVariant): Promise<PhotoFile | undefined> {
    const key = this.#keyOf(hash, variant);
    const length = await this.#bucket.sizeOf(key);
    return length === undefined ? undefined : { length, parts: this.#read(key, length) };
  }

  async copyTo(hash: string, directory: string): Promise<boolean> {
    for (const variant of photoVariants.toReversed()) {
      const file = await this.find(hash, variant);
      if (file !== undefined)
        await writeFile(join(directory, fileOf(variant)), file.parts, { mode: 0o600, flush: true });
      else if (variant === ORIGINAL) return false;
    }
    return true;
  }

  async delete(hash: string): Promise<void> {
    for (const variant of photoVariants.toReversed()) await this.#bucket.delete(this.#keyOf(hash, variant));
  }

  async #put(hash: string, directory: string, variants: readonly PhotoVariant[]): Promise<void> {
    for (const variant of variants) {
      await this.#bucket.put(this.#keyOf(hash, variant), await readFile(join(directory, fileOf(variant))));
    }
  }

  async *#read(key: string, length: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const part of this.#bucket.read(key)) {
      bytes += part.length;
      if (bytes > length) break;
      yield part;
    }
    if (bytes === length) return;
    // A response whose length differs from its headers would corrupt the following responses of the connection.
    throw new StorageError('unavailable', `${this.#bucket.url} does not respond with the ${length} bytes of ${key}.`, {
      publicMessage: 'The object storage cannot be used at the moment.',
    });
  }

  #keyOf(hash: string, variant: PhotoVariant): string {
    return `${this.#prefix}${pathOf(hash)}/${fileOf(variant)}`;
  }
}
