import { type Html, html } from '../../lib/html/html.ts';
import { type Photo, photoPath, sizeOf } from '../../model/photo.ts';
import type { ShareCard } from '../share.ts';

/** An animal or an organization whose photos a page shows. */
export interface WithPhotos {
  readonly name: string;
  readonly photos?: readonly Photo[];
}

/** Returns the main photo for a share card; `undefined` if there is none. */
export function imageOf({ name, photos: [main] = [] }: WithPhotos, publicUrl: string): ShareCard['image'] {
  if (main === undefined) return undefined;
  return { url: publicUrl + photoPath(main.id, 600), alt: main.alt ?? `A photo of ${name}`, ...sizeOf(main, 600) };
}

/**
 * Returns all photos of an animal or an organization, each with a link to its largest size; `undefined` if it has none.
 */
export function gallery({ name, photos = [] }: WithPhotos): Html | undefined {
  if (photos.length === 0) return undefined;
  return html`<ul class="gallery">${photos.map(
    (photo, index) =>
      html`<li><a href="${photoPath(photo.id, 1280)}">${photoView(name, photo, 600, index === 0 ? 'eager' : 'lazy', 'photo')}</a></li>`,
  )}</ul>`;
}

/** The sizes of a photo that are not cropped, for pages. */
const uncropped = [300, 600, 1280] as const;
/** The width of a photo on a page: the full width of a narrow phone, otherwise a column beside other photos or text. */
const SHOWN_WIDTH = '(max-width: 28rem) 100vw, 24rem';

/** Returns the sizes from which browsers choose. */
function sources(photo: Photo): Html {
  // Small photos have the same width in several sizes.
  const byWidth = new Map(uncropped.toReversed().map(one => [sizeOf(photo, one).width, photoPath(photo.id, one)]));
  const srcset = Array.from(byWidth, ([width, path]) => `${path} ${width}w`)
    .reverse()
    .join(', ');
  return html` srcset="${srcset}" sizes="${SHOWN_WIDTH}"`;
}

/**
 * Returns an image with its dimensions, so that the page does not move when it arrives.
 * @param size the size for browsers that do not choose
 */
export function photoView(
  name: string,
  photo: Photo,
  size: (typeof uncropped)[number],
  loading: 'eager' | 'lazy',
  classes: string,
): Html {
  const { width, height } = sizeOf(photo, size);
  const alt = photo.alt ?? `A photo of ${name}`;
  return html`<img class="${classes}" src="${photoPath(photo.id, size)}" width="${width}" height="${height}" alt="${alt}"${sources(photo)} loading="${loading}" decoding="async">`;
}
