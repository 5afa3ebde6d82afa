import { type Html, html } from '../../lib/html/html.ts';
import { publicPage, type View } from '../page.ts';
import { kinds } from './documents.ts';
import { type Found, QUERY_MAX, search } from './search-index.ts';
import { marked, snippet } from './snippet.ts';

/** Finds sections of guides, operations and error codes. */
export const searchPage = publicPage({
  path: '/search',
  title: 'Search',
  cached: true,
  async show({ query }) {
    const words = (query.get('q') ?? '').trim().slice(0, QUERY_MAX);
    return searchView(words, await search(words));
  },
});

function searchView(query: string, found: readonly Found[]): View {
  return {
    title: query === '' ? 'Search' : `Search: ${query}`,
    description: 'Search the guides, the API reference and the error codes.',
    layout: 'bare',
    styles: ['search.css'],
    body: html`<div class="search-page"><h1>Search</h1>
<form action="/search" class="search-form"><label for="search-query">Guides, API reference and error codes</label>
<div><input id="search-query" type="search" name="q" value="${query}" maxlength="${QUERY_MAX}" required> <button>Search</button></div></form>
${query !== '' && html`<p class="quiet" role="status">${summaryOf(query, found.length)}</p>`}
${found.length === 0 ? suggestions : groups(found)}</div>`,
  };
}

function summaryOf(query: string, count: number): string {
  if (count === 0) return `Nothing found for “${query}”.`;
  return `${count === 1 ? '1 result' : `${count} results`} for “${query}”`;
}

/** Returns the results by kind; the kind with the best result comes first. */
function groups(found: readonly Found[]): Html[] {
  return [...Map.groupBy(found, ({ kind }) => kind)].map(
    ([kind, results]) => html`<section>
<h2>${kinds[kind]}</h2>
<ol class="results">${results.map(resultOf)}</ol>
</section>
`,
  );
}

function resultOf({ kind, title, heading, text, path, terms }: Found): Html {
  const isSection = kind === 'guide' && heading !== '';
  return html`<li><a href="${path}">${marked(title, terms)}${isSection && html` <span aria-hidden="true">›</span> ${marked(heading, terms)}`}</a>
<p>${snippet(text, terms)}</p></li>
`;
}

const suggestions = html`<p>Many people look for:</p>
<ul class="suggestions">
<li><a href="/guides/quickstart">Quickstart</a></li>
<li><a href="/guides/authentication">API keys and scopes</a></li>
<li><a href="/guides/pagination">Pagination and filtering</a></li>
<li><a href="/guides/backoff">Rate limits and exponential backoff</a></li>
<li><a href="/guides/webhooks">Webhooks</a></li>
<li><a href="/errors">Error codes</a></li>
<li><a href="/guides">All guides</a></li>
</ul>`;
