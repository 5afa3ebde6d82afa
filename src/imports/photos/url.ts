import { type PhotoSize, photoSizes } from '../../photos/photo.ts';

/** A photo of a deployment in one of its sizes. */
export interface PhotoAddress {
  readonly hash: string;
  readonly size: PhotoSize;
}

const PATTERN = new RegExp(`^https?://[^?#]*/photos/([0-9a-f]{64})/(${photoSizes.join('|')})\\.jpg$`);

/** Returns the photo in a URL as exports write it; `undefined` for another URL. The host does not matter. */
export function photoAddressIn(url: string): PhotoAddress | undefined {
  const [, hash, size] = PATTERN.exec(url) ?? [];
  return hash === undefined ? undefined : { hash, size: Number(size) as PhotoSize };
}
