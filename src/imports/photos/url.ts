import { type PhotoSize, photoSizes } from '../../photos/photo.ts';

/** A photo of a deployment in one of its sizes. */
export interface PhotoAddress {
  readonly hash: string;
  readonly size: PhotoSize;
}

/** As strict as the check of other URLs: each is stored, and PostgreSQL has an index of them. */
const PATTERN = new RegExp(
  `^https?://[^\\s\\p{Cc}?#@\\\\]{1,500}/photos/([0-9a-f]{64})/(${photoSizes.join('|')})\\.jpg$`,
  'u',
);

/** Returns the photo in a URL as exports write it; `undefined` for another URL. The host does not matter. */
export function photoAddressIn(url: string): PhotoAddress | undefined {
  const [, hash, size] = PATTERN.exec(url) ?? [];
  return hash === undefined ? undefined : { hash, size: Number(size) as PhotoSize };
}

/** Reports whether a text is a photo, and not where to fetch it. */
export function isPhotoData(url: string): boolean {
  return /^data:/i.test(url);
}
