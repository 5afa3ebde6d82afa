import { join } from 'node:path';
import { type PhotoSize, photoSizes } from '../photo.ts';

/** The file of the bytes that were uploaded, in the directory of a photo. */
export const ORIGINAL = 'original';

/** What a photo has a file of: each size, or the bytes that were uploaded. */
export type PhotoVariant = PhotoSize | typeof ORIGINAL;

/** All variants, the original last: a photo that is written in this order is complete once it has its original. */
export const photoVariants: readonly PhotoVariant[] = [...photoSizes, ORIGINAL];

export function fileOf(variant: PhotoVariant): string {
  return variant === ORIGINAL ? ORIGINAL : `${variant}.jpg`;
}

/** The directory of what is not stored yet, and of what is being deleted. */
export const DRAFTS = 'drafts';

/** Returns the place of a photo among the photos of a deployment: `ab/ab12…`. */
export function pathOf(hash: string): string {
  return `${hash.slice(0, 2)}/${hash}`;
}

/** Returns the directory of a photo in that of a deployment: `ab/ab12…`. */
export function directoryIn(directory: string, hash: string): string {
  return join(directory, pathOf(hash));
}
