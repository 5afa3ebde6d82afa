import { type Html, html } from '../lib/html/html.ts';
import type { AccountVisit, Visit } from './page.ts';

/** The number of rows of a list on one page. */
const PAGE_SIZE = 50;

/** The connection of a page in the queue of scans: pages do not notice when a client disconnects. */
export const connection = { destroyed: false, readableEnded: false };

/** Returns the page of a list that the query requests. Its scans wait in the queue, as in the API. */
export function listPage({ query, deployment, account }: AccountVisit, limit = PAGE_SIZE) {
  const request = {
    context: deployment,
    caller: { accountId: account.id, plan: account.plan },
    connection,
  };
  return { limit, cursor: query.get('cursor') || undefined, request };
}

/** Returns the links to the previous and the next page of a list. @param labels their texts */
export function pageLinks(
  { request, query }: Visit,
  { previous, next }: { readonly previous?: string | undefined; readonly next?: string | undefined },
  labels = { previous: '← Previous', next: 'Next →' },
): Html | undefined {
  if (previous === undefined && next === undefined) return undefined;
  const link = (cursor: string | undefined, rel: string, label: string) => {
    if (cursor === undefined) return undefined;
    const parameters = new URLSearchParams([...query].filter(([, value]) => value !== ''));
    parameters.set('cursor', cursor);
    return html`<a class="button secondary" rel="${rel}" href="${request.path}?${parameters.toString()}">${label}</a>`;
  };
  return html`<nav class="pages" aria-label="Pages">${link(previous, 'prev', labels.previous)}${link(next, 'next', labels.next)}</nav>`;
}

/** Returns an id of a path or query; `undefined` if the text is not an id. */
export function idOf(text: string | null | undefined): number | undefined {
  return text != null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
