import { DiskStore } from './disk-store.ts';
import type { PhotoLocation, PhotoStore } from './photo-store.ts';

/** Returns the store of the photos in a location. Loads the client of buckets only if it is a bucket. */
export async function openPhotoStore({ directory, bucket }: PhotoLocation): Promise<PhotoStore> {
  if (bucket === undefined) return new DiskStore(directory);
  const { BucketStore } = await import('./bucket-store.ts');
  return new BucketStore(directory, bucket);
}
