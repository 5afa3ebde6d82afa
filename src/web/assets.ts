import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { IMMUTABLE, type PageRoute } from '../lib/http/server/pages.ts';
import { type Compressed, compress } from './compress.ts';
import { publicFile } from './page.ts';

const directory = new URL('assets/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** The style sheet, the client scripts and the icon, by name. */
const files = new Map(readdirSync(directory).map(name => [name, readFileSync(new URL(name, directory))]));

/** A hash of all files, so that browsers can cache each file forever. */
const version = hash('sha256', Buffer.concat([...files.values()]), 'hex').slice(0, 12);

/** Returns the path of an asset. @param name the name of a file in `assets/` */
export function assetPath(name: string): string {
  if (!files.has(name)) throw new Error(`There is no asset ${name}.`);
  return `/assets/${version}/${name}`;
}

/** The icon at its usual path, for programs that look only there. */
export const faviconPage = publicFile({
  path: '/favicon.ico',
  title: 'Icon',
  show: () => ({ contentType: types['ico']!, bytes: files.get('favicon.ico')!, maxAge: 86_400 }),
});

const compressed = new Map<string, Promise<Compressed>>();

/** Serves the assets. */
export const assets: PageRoute = {
  method: 'GET',
  path: '/assets/{version}/{name}',
  async handle({ parameters }) {
    const { name = '' } = parameters;
    const bytes = files.get(name);
    if (bytes === undefined || parameters['version'] !== version) return undefined;
    return {
      status: 200,
      contentType: types[name.slice(name.lastIndexOf('.') + 1)]!,
      bytes,
      compressed: await compressed.getOrInsertComputed(name, () => compress(bytes)),
      cacheControl: IMMUTABLE,
    };
  },
};
