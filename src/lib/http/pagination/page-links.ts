/** Where else a list goes on from one of its pages: cursors, where there is such a page. */
export interface PageLinks {
  readonly next: string | undefined;
  readonly previous: string | undefined;
}

/**
 * The headers that lead through a list: `Link` (RFC 8288) with `first`, `prev` and `next`, and `x-next` with the same
 * bare URL as `next`. At the ends of the list the one that leads nowhere is absent.
 * @param url the page's own address, with its query
 */
export function pageHeaders(url: string, { next, previous }: PageLinks): string[] {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const first = urlOf(path, query, undefined);
  const links = [`<${first}>; rel="first"`];
  if (previous !== undefined) links.push(`<${urlOf(path, query, previous)}>; rel="prev"`);
  if (next === undefined) return ['Link', links.join(', ')];
  const nextUrl = urlOf(path, query, next);
  links.push(`<${nextUrl}>; rel="next"`);
  return ['Link', links.join(', '), 'x-next', nextUrl];
}

function urlOf(path: string, query: URLSearchParams, cursor: string | undefined): string {
  const copy = new URLSearchParams(query);
  copy.delete('cursor');
  if (cursor !== undefined) copy.set('cursor', cursor);
  const text = copy.toString().replaceAll('%2C', ',');
  return text === '' ? path : `${path}?${text}`;
}
