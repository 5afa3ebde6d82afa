import { type PhotoSize, photoSizes } from '../../../model/photo.ts';

/** A photo of a deployment in one of its sizes. */
export interface PhotoAddress {
  readonly hash: string;
  readonly size: PhotoSize;
}

/** As strict as the check of other URLs, because each URL is stored in an index of PostgreSQL. */
const PATTERN = new RegExp(
  `^https?://[^\\s\\p{Cc}?#@\\\\]{1,500}/photos/([0-9a-f]{64})/(${photoSizes.join('|')})\\.jpg$`,
  'u',
);

/** Returns the photo of a URL in the format of exports; `undefined` for other URLs. The host does not matter. */
export function photoAddressIn(url: string): PhotoAddress | undefined {
  const [, hash, size] = PATTERN.exec(url) ?? [];
  return hash === undefined ? undefined : { hash, size: Number(size) as PhotoSize };
}

/** Reports whether a text contains the data of a photo instead of its URL. */
export function isPhotoData(url: string): boolean {
  return /^data:/i.test(url);
}
