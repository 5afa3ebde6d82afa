/** The file of the bytes that were uploaded, in the directory of a photo. */
export const ORIGINAL = 'original';
