import type { Codec } from '../lib/fields/field.ts';
import { lineSchema } from '../lib/schemas.ts';
import { type Static, Type } from '../lib/type.ts';

/** The square size. */
export const SQUARE_SIZE = 450;
/** The sizes of photos, in pixels: of the longest side; for `SQUARE_SIZE`, of both sides. */
export const photoSizes = [100, 300, SQUARE_SIZE, 600, 1280] as const;
export type PhotoSize = (typeof photoSizes)[number];

/** The formats that are accepted. */
export const photoTypes = ['image/jpeg', 'image/png', 'image/webp'] as const;
export type PhotoType = (typeof photoTypes)[number];

/** Advice on the photos of iPhones, which most browsers cannot show. */
export const HEIC_ADVICE =
  'This is a HEIC photo, as iPhones take them. Send it as JPEG: export it from your photo app, or set Settings > Camera > ' +
  'Formats to “Most Compatible” before you take photos.';

/** Advice on AVIF, a format of websites. */
export const AVIF_ADVICE = 'This is an AVIF photo. Send it as JPEG, PNG or WebP: export it from your photo app.';

/** The largest file, in bytes. */
export const PHOTO_BYTES_MAX = 10 * 1024 * 1024;
/** The maximum number of pixels of a photo. */
export const PHOTO_PIXELS_MAX = 50_000_000;
/** The maximum length of the text of a photo. */
const ALT_LENGTH_MAX = 500;
/** The maximum number of photos of an animal or an organization. */
export const PHOTOS_MAX = 10;

/** The id of a photo: the SHA-256 of its bytes. */
export const PhotoId = Type.String({
  pattern: '^[0-9a-f]{64}$',
  minLength: 64,
  maxLength: 64,
  description: 'The SHA-256 of the original, in hexadecimal digits.',
});

/** The dimensions of an upright photo, in pixels. */
export interface Dimensions {
  readonly width: number;
  readonly height: number;
}

/** The text for people who do not see the photo. */
export const AltText = lineSchema(
  `What the photo shows, for people who do not see it: 1–${ALT_LENGTH_MAX} characters, no control characters.`,
  ALT_LENGTH_MAX,
);

const url = (size: number) =>
  Type.String({
    description:
      size === SQUARE_SIZE
        ? `A square JPEG of at most ${size} × ${size} pixels, cropped.`
        : `A JPEG of at most ${size} × ${size} pixels.`,
  });

const recorded = {
  id: PhotoId,
  alt: Type.Optional(AltText),
  width: Type.Integer({ minimum: 1, description: 'The width of the original in pixels, when it is shown upright.' }),
  height: Type.Integer({ minimum: 1, description: 'The height of the original in pixels, when it is shown upright.' }),
  bytes: Type.Integer({ minimum: 1, description: 'The size of the original.' }),
};

const RecordedPhoto = Type.Object(recorded);

/** A photo in events. */
export type RecordedPhoto = Static<typeof RecordedPhoto>;

/** Photos, the main one first. */
export const RecordedPhotos = Type.Array(RecordedPhoto, { maxItems: PHOTOS_MAX });

/**
 * A photo as the columns of pets and organizations store it. `bytes` is the number that counts for the quota of their
 * account, so that a release without `original` subtracts the same number.
 */
export interface StoredPhoto extends RecordedPhoto {
  /**
   * The size of the original; absent while the photo counts without its other sizes, when `bytes` is the size of the
   * original.
   */
  readonly original?: number;
}

/** Converts a column of photos. */
export const photosCodec: Codec<RecordedPhoto[], string> = {
  encode: photos => JSON.stringify(photos),
  decode: text => (JSON.parse(text) as StoredPhoto[]).map(recordedOf),
};

function recordedOf({ original, ...photo }: StoredPhoto): RecordedPhoto {
  return original === undefined ? photo : { ...photo, bytes: original };
}

export const Photo = Type.Object(
  {
    ...recorded,
    urls: Type.Optional(
      Type.Object(Object.fromEntries(photoSizes.map(size => [String(size), url(size)])) as SizeUrls, {
        title: 'PhotoUrls',
        description:
          'The URL of each size. It needs no key, is valid for ever and always shows the same photo. Absent in events and in ' +
          'the history; there, a size is at `/photos/{id}/{size}.jpg` of the same address.',
      }),
    ),
  },
  { title: 'Photo', description: 'A photo. The sizes have no metadata; only the original may have.' },
);
export type Photo = Static<typeof Photo>;
type SizeUrls = Record<`${PhotoSize}`, ReturnType<typeof url>>;

/** Returns the schema of the photos of an animal or an organization. */
export function photosSchema(noun: string) {
  return Type.Array(Photo, { maxItems: PHOTOS_MAX, description: `The photos of the ${noun}, the main one first.` });
}

/** The body that changes a photo: a JSON Merge Patch (RFC 7396). */
export const PhotoPatch = Type.Object(
  {
    alt: Type.Optional(Type.Union([AltText, Type.Null()])),
    position: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PHOTOS_MAX,
        description: 'The new position among the photos; 1 makes it the main photo.',
      }),
    ),
  },
  { title: 'PhotoPatch' },
);
export type PhotoPatch = Static<typeof PhotoPatch>;

/** Returns the path of a size of a photo, below the public address. */
export function photoPath(id: string, size: PhotoSize): string {
  return `/photos/${id}/${size}.jpg`;
}

/** Returns a photo as a response. @param publicUrl the public address, without a trailing slash */
export function photoOf(photo: StoredPhoto, publicUrl: string): Photo {
  const urls = Object.fromEntries(photoSizes.map(size => [size, publicUrl + photoPath(photo.id, size)]));
  return { ...recordedOf(photo), urls: urls as NonNullable<Photo['urls']> };
}

/** Returns the width and the height of a size. None is larger than the original. */
export function sizeOf(original: Dimensions, size: PhotoSize): Dimensions {
  if (size === SQUARE_SIZE) {
    // The square is cropped from the largest size.
    const { width, height } = sizeOf(original, 1280);
    const side = Math.min(size, width, height);
    return { width: side, height: side };
  }
  const { width, height } = original;
  const scale = Math.min(1, size / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}
