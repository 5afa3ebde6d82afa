import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Html, html } from '../../lib/html/html.ts';
import { IMMUTABLE, type PageRoute } from '../../lib/http/server/pages.ts';
import { memoize } from '../../lib/one-per.ts';

/** The folder below `docs/` with the images that guides show: WebP, in a light and a dark version. */
const FOLDER = 'images/guides/';

const directory = new URL(`../../../docs/${FOLDER}`, import.meta.url);

interface GuideImage {
  readonly bytes: Buffer;
  /** Its path on the site, with a hash of the bytes, so that browsers can cache it forever. */
  readonly path: string;
  readonly width: number;
  readonly height: number;
}

/** The images of all guides by name. */
export type GuideImages = ReadonlyMap<string, GuideImage>;

/** Returns the images of all guides. */
export const getImages = memoize(readImages);

/** Returns an image by its path below `docs/`; `undefined` if the site does not serve it. */
export function imageAt(all: GuideImages, file: string): GuideImage | undefined {
  return file.startsWith(FOLDER) ? all.get(file.slice(FOLDER.length)) : undefined;
}

/** Returns the element of an image, which follows the reader’s color scheme; `undefined` if the site does not serve it. */
export function imageView(all: GuideImages, file: string, alt: string): Html | undefined {
  const light = imageAt(all, file);
  const dark = imageAt(all, file.replace(/-light(?=\.webp$)/, '-dark'));
  if (light === undefined || dark === undefined) return undefined;
  const { path, width, height } = light;
  return html`<picture><source media="(prefers-color-scheme: dark)" srcset="${dark.path}"><img src="${path}" width="${width}" height="${height}" alt="${alt}" loading="lazy"></picture>`;
}

/** Serves the images. */
export const guideImages: PageRoute = {
  method: 'GET',
  path: '/guides/images/{version}/{name}',
  async handle({ path, parameters }) {
    const image = (await getImages()).get(parameters['name']!);
    if (image?.path !== path) return undefined;
    const { bytes } = image;
    return { status: 200, contentType: 'image/webp', bytes, cacheControl: IMMUTABLE };
  },
};

async function readImages(): Promise<GuideImages> {
  const names = await readdir(directory);
  return new Map(await Promise.all(names.map(async name => [name, await readImage(name)] as const)));
}

async function readImage(name: string): Promise<GuideImage> {
  const bytes = await readFile(new URL(name, directory));
  // https://developers.google.com/speed/webp/docs/riff_container#extended_file_format
  if (bytes.toString('latin1', 12, 16) !== 'VP8X') throw new Error(`${name} is not an extended WebP file.`);
  const [width, height] = [24, 27].map(offset => bytes.readUIntLE(offset, 3) + 1) as [number, number];
  return { bytes, path: `/guides/images/${hash('sha256', bytes, 'hex').slice(0, 12)}/${name}`, width, height };
}
