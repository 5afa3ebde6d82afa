import { type Html, html } from '../../lib/html/html.ts';
import { organizationValues } from '../../organizations/organization.ts';
import { animalCards, contextOf } from '../../pets/pages/cards.ts';
import { publicPage, type View, type Visit } from '../page.ts';
import { kinds } from './documents.ts';
import { type FoundPage, QUERY_MAX, search } from './search-index.ts';
import { marked, snippet } from './snippet.ts';
import { type FoundInStore, searchStore } from './store.ts';

/** Finds pages, sections of guides, operations, error codes, animals and organizations. */
export const searchPage = publicPage({
  path: '/search',
  title: 'Search',
  cached: true,
  async show(visit) {
    const query = (visit.query.get('q') ?? '').replaceAll('\0', '').trim().slice(0, QUERY_MAX).toWellFormed();
    const found = await search(query);
    return searchView(query, found, await storeView(visit, query, await searchStore(visit, query)));
  },
});

function searchView(query: string, found: readonly FoundPage[], store: Html | undefined): View {
  return {
    title: query === '' ? 'Search' : `Search: ${query}`,
    description: 'Search the animals, the organizations, the guides, the API reference and the error codes.',
    layout: 'bare',
    styles: ['animals.css', 'search.css'],
    body: html`<div class="search-page"><h1>Search</h1>
<form action="/search" class="search-form"><label for="search-query">Animals, organizations, guides, API reference</label>
<div><input id="search-query" type="search" name="q" value="${query}" maxlength="${QUERY_MAX}" required> <button>Search</button></div></form>
${query !== '' && html`<p class="quiet" role="status">${summaryOf(query, found.length, store !== undefined)}</p>`}
${found.length > 0 && html`<ol class="results">${found.map(resultOf)}</ol>`}
${store}
${found.length === 0 && store === undefined && suggestions}</div>`,
  };
}

function summaryOf(query: string, count: number, inStore: boolean): Html {
  if (count === 0 && !inStore) return html`Nothing found for “${query}”.`;
  const pages = count === 1 ? '1 page' : `${count} pages`;
  return html`${pages} for “${query}”${inStore && html` · <a href="#store">In the store</a>`}`;
}

function resultOf({ kind, title, heading, text, path, terms, sections }: FoundPage): Html {
  const isSection = kind === 'guide' && heading !== '';
  return html`<li><a href="${path}">${marked(title, terms)}${isSection && html` <span aria-hidden="true">›</span> ${marked(heading, terms)}`}</a> <span class="kind">${kinds[kind]}</span>
<p>${snippet(text, terms)}</p>
${sections.length > 0 && html`<ul>${sections.map(one => html`<li><a href="${one.path}">${marked(one.heading || one.title, one.terms)}</a></li>\n`)}</ul>`}</li>
`;
}

async function storeView(
  { deployment: { database } }: Visit,
  query: string,
  { animals, organizations }: FoundInStore,
): Promise<Html | undefined> {
  if (animals.length === 0 && organizations.length === 0) return undefined;
  return html`<section id="store">
${
  organizations.length > 0 &&
  html`<h2>Organizations</h2>
<ul>${organizations.map(row => html`<li><a href="/organizations/${row.id}"><bdi>${organizationValues.fullOf(row).name}</bdi></a></li>\n`)}</ul>`
}
${
  animals.length > 0 &&
  html`<h2>Animals</h2>
${animalCards(animals, await contextOf(database, animals))}
<p><a href="/animals?q=${encodeURIComponent(query)}">All animals for “${query}”</a></p>`
}
</section>`;
}

const suggestions = html`<p>Many people look for:</p>
<ul class="suggestions">
<li><a href="/guides/quickstart">Quickstart</a></li>
<li><a href="/guides/authentication">API keys and scopes</a></li>
<li><a href="/guides/pagination">Pagination and filtering</a></li>
<li><a href="/guides/backoff">Rate limits and exponential backoff</a></li>
<li><a href="/guides/webhooks">Webhooks</a></li>
<li><a href="/errors">Error codes</a></li>
<li><a href="/animals">Animals</a></li>
<li><a href="/guides">All guides</a></li>
</ul>`;
