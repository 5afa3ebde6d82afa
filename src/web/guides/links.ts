import { errors } from '../../model/errors.ts';
import type { Catalog } from './catalog.ts';
import { imageAt } from './images.ts';

/** The path of the changelog in links of pages of `docs/`. */
export const CHANGELOG = '../CHANGELOG.md';

/**
 * Returns the address on the site for a link or an image of a page of `docs/`; `undefined` if the site does not serve that file.
 * @param from the file with the link, below `docs/`
 */
export function addressOf(catalog: Catalog, from: string, href: string): string | undefined {
  // The site itself, at its usual address.
  if (href.startsWith('http://localhost:8080/')) return new URL(href).pathname;
  if (href.startsWith('#') || /^(https?|mailto):/i.test(href)) return href;
  const base = 'file:///docs/';
  if (!URL.canParse(href, base + from)) return undefined;
  const { href: target, hash } = new URL(href, base + from);
  if (target === new URL(CHANGELOG, base).href + hash) return `/changelog${hash}`;
  if (!target.startsWith(base)) return undefined;
  const path = pathOf(catalog, target.slice(base.length, target.length - hash.length));
  return path === undefined ? undefined : path + hash;
}

function pathOf({ groups, images }: Catalog, file: string): string | undefined {
  if (file === 'README.md') return '/guides';
  if (file === 'errors/README.md') return '/errors';
  const [, code] = /^errors\/(\w+)\.md$/.exec(file) ?? [];
  if (code !== undefined) return Object.hasOwn(errors, code) ? `/errors/${code}` : undefined;
  return (
    groups.flatMap(({ entries }) => entries).find(entry => entry.file === file)?.path ?? imageAt(images, file)?.path
  );
}
