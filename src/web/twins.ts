import type { WebPage } from './page.ts';

/** Returns a page, and its Markdown twin if it has one. */
export function withTwin(page: WebPage): WebPage[] {
  const { path, title, access, on, cached, markdown } = page;
  if (markdown === undefined) return [page];
  const show: WebPage['show'] = async visit => {
    const bytes = await markdown(visit);
    return bytes === undefined ? undefined : { contentType: 'text/markdown; charset=utf-8', bytes };
  };
  return [page, { path: twinPath(path), title, access, on, ...(cached && { cached }), show }];
}

/** Returns the path of the Markdown twin of a page. */
export function twinPath(path: string): string {
  return path === '/' ? '/index.md' : `${path}.md`;
}

/** Returns a function that replaces links to pages by links to their twins, if they have one. */
export function twinLinks(pages: readonly WebPage[]): (href: string) => string {
  const paths = pages.filter(({ markdown }) => markdown).map(({ path }) => path.replaceAll(/\{\w+\}/g, '[^/?#]+'));
  const pattern = new RegExp(`^(?:${paths.join('|')})(?=[?#]|$)`);
  return href => href.replace(pattern, twinPath);
}
