import type { BucketSettings } from '../../lib/bucket.ts';
import type { PhotoVariant } from './names.ts';

/** The location of the photos of a deployment. */
export interface PhotoLocation {
  /** The directory of photos that are not complete yet; without a bucket, of all photos. */
  readonly directory: string;
  readonly bucket?: BucketLocation;
}

export interface BucketLocation extends BucketSettings {
  /** The beginning of the deployment's keys, such as `production/`. */
  readonly prefix: string;
}

/** A file of a photo. */
export interface PhotoFile {
  readonly length: number;
  /** The content; the file is opened when it is first read. */
  readonly parts: AsyncIterable<Buffer>;
}

/**
 * The stored photos of a deployment, by the SHA-256 of their originals. A photo is the original and every size. The
 * original never changes. Methods throw a StorageError, or the system's error of a disk.
 */
export interface PhotoStore {
  /** A directory of this machine for photos that are not complete yet. */
  readonly drafts: string;
  /**
   * Stores the files in a directory as the photo with this hash, unless it is already stored. The files are on disk
   * when this resolves; the directory may have been moved.
   */
  add(hash: string, directory: string): Promise<void>;
  has(hash: string): Promise<boolean>;
  /** Returns one file of a photo; `undefined` if it is not stored. */
  find(hash: string, variant: PhotoVariant): Promise<PhotoFile | undefined>;
  /** Replaces the sizes of a stored photo by those in a directory, each atomically. */
  replaceSizes(hash: string, directory: string): Promise<void>;
  /** Writes the files of a photo into an empty directory, and flushes them. Returns false if it is not stored. */
  copyTo(hash: string, directory: string): Promise<boolean>;
  /** Deletes all stored files of a photo. */
  delete(hash: string): Promise<void>;
}
