import { join } from 'node:path';
import { type PhotoSize, photoSizes } from '../photo.ts';

/** The file of the uploaded bytes, in the directory of a photo. */
export const ORIGINAL = 'original';

/** The variants of a photo, each with a file: its sizes, and the original. */
export type PhotoVariant = PhotoSize | typeof ORIGINAL;

/** All variants, the original last: a photo that is written in this order is complete once it has its original. */
export const photoVariants: readonly PhotoVariant[] = [...photoSizes, ORIGINAL];

export function fileOf(variant: PhotoVariant): string {
  return variant === ORIGINAL ? ORIGINAL : `${variant}.jpg`;
}

/** The directory of photos that are not stored yet, or that are being deleted. */
export const DRAFTS = 'drafts';

/** Returns the path of a photo among those of a deployment: `ab/ab12…`. */
export function pathOf(hash: string): string {
  return `${hash.slice(0, 2)}/${hash}`;
}

/** Returns the directory of a photo within that of a deployment. */
export function directoryIn(directory: string, hash: string): string {
  return join(directory, pathOf(hash));
}
