import { join } from 'node:path';

/** The file of the bytes that were uploaded, in the directory of a photo. */
export const ORIGINAL = 'original';

/** The directory of what is not stored yet, and of what is being deleted. */
export const DRAFTS = 'drafts';

/** Returns the directory of a photo in that of a deployment: `ab/ab12…`. */
export function directoryIn(directory: string, hash: string): string {
  return join(directory, hash.slice(0, 2), hash);
}
