/** The cursors of the pages before and after a page, absent at the ends of the list. They need no encoding in a URL. */
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
  const parameters = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))) {
    if (known.has(name) && name !== 'cursor') parameters.append(name, value);
  }
  const query = parameters.toString().replaceAll('%2C', ',');
  const first = query === '' ? path : `${path}?${query}`;
  const withCursor = (cursor: string) => `${first}${query === '' ? '?' : '&'}cursor=${cursor}`;
  const links = [`<${first}>; rel="first"`];
  if (previous !== undefined) links.push(`<${withCursor(previous)}>; rel="prev"`);
  if (next === undefined) return ['Link', links.join(', ')];
  const nextUrl = withCursor(next);
  links.push(`<${nextUrl}>; rel="next"`);
  return ['Link', links.join(', '), 'x-next', nextUrl];
}
