/** The cursors of the pages before and after a page, absent at the ends of the list. */
export interface PageLinks {
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
}

/**
 * Returns the headers that link a page to the others: `Link` (RFC 8288) with `first`, `prev` and `next`, and `x-next`
 * with the bare URL of `next`. A link is absent if its page does not exist.
 * @param url the URL of the page, with its query
 * @param known the parameters of the operation: links repeat no others, which may contain a key by mistake
 */
export function pageHeaders(url: string, known: ReadonlySet<string>, { next, previous }: PageLinks): string[] {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const parameters = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const query = new URLSearchParams([...parameters].filter(([name]) => known.has(name)));
  const links = [`<${urlOf(path, query, undefined)}>; rel="first"`];
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
