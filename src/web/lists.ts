import { type Html, html } from '../lib/html/html.ts';
import type { AccountVisit, Visit } from './page.ts';

/** The rows of a page of a list. */
const PAGE_SIZE = 50;

/** Returns the page of a list that the address asks for; its scans wait for their turns, as in the API. */
export function listPage({ query, deployment, account }: AccountVisit, limit = PAGE_SIZE) {
  const request = {
    context: deployment,
    caller: { accountId: account.id, plan: account.plan },
    // Pages do not notice when a client leaves.
    connection: { destroyed: false, readableEnded: false },
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

/** Returns an id of a path or query; `undefined` for everything that is none. */
export function idOf(text: string | null | undefined): number | undefined {
  return text != null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
