import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { wordsIn } from '../../lib/text.ts';
import { organizationValues } from '../../model/organization.ts';
import { listOrganizations } from '../../store/organizations/list.ts';
import { findPets } from '../../store/pets/find.ts';
import { SEARCH_MAX } from '../layout.ts';
import { publicPage, type View, type Visit } from '../page.ts';
import { animalCards, contextOf } from '../pets/cards.ts';
import { scanOf } from '../pets/list-page.ts';
import { kinds } from './documents.ts';
import { type FoundPage, search } from './search-index.ts';

/** Finds pages, sections of guides, operations, error codes, animals and organizations. */
export const searchPage = publicPage({
  path: '/search',
  title: 'Search',
  cached: true,
  async show(visit) {
    const query = (visit.query.get('q') ?? '').replaceAll('\0', '').trim().slice(0, SEARCH_MAX).toWellFormed();
    const found = await search(query);
    return searchView(query, found, await storeView(visit, query));
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
<div><input id="search-query" type="search" name="q" value="${query}" maxlength="${SEARCH_MAX}" required> <button>Search</button></div></form>
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

async function storeView(visit: Visit, query: string): Promise<Html | undefined> {
  const { animals, organizations } = await searchStore(visit, query);
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
${animalCards(animals, await contextOf(visit.deployment.database, animals))}
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

/** The maximum number of animals, and of organizations, that a search shows. */
const SHOWN_MAX = 4;

/** Returns available animals with the words of a query, and organizations whose names begin with it. */
async function searchStore(visit: Visit, query: string) {
  const { deployment } = visit;
  const words = wordsIn(query);
  if (words.length === 0) return { animals: [], organizations: [] };
  const page = () => ({ limit: SHOWN_MAX, cursor: undefined, request: scanOf(visit) });
  const filter = { words, status: ['available'], sort: 'relevance' } as const;
  try {
    const animals = await findPets(deployment.database, filter, page(), nowOf(deployment), 'card');
    const organizations = await listOrganizations(deployment.database, { name: query, sort: 'name' }, page());
    return { animals: animals.rows, organizations: organizations.rows };
  } catch (error) {
    // While the words of animals are being indexed, search only the documentation.
    if (error instanceof Problem) return { animals: [], organizations: [] };
    throw error;
  }
}

/** The length of a snippet, in characters. */
const LENGTH = 180;
/** The characters of a snippet before the first match. */
const BEFORE = 60;

/**
 * Returns the part of a text around the first match, with all matches marked. @param terms the words that match,
 * without the endings of plurals
 */
export function snippet(text: string, terms: readonly string[]): Html {
  const pattern = patternOf(terms);
  const plain = text.replaceAll(/\s+/g, ' ');
  const first = pattern === undefined ? 0 : Math.max(0, plain.search(pattern));
  const from = first <= BEFORE ? 0 : plain.indexOf(' ', first - BEFORE) + 1;
  const end = from + LENGTH >= plain.length ? plain.length : Math.max(plain.lastIndexOf(' ', from + LENGTH), first + 1);
  return html`${from > 0 && '… '}${marked(plain.slice(from, end), terms)}${end < plain.length && ' …'}`;
}

/** Returns a text with its matches marked. */
export function marked(text: string, terms: readonly string[]): Html {
  const pattern = patternOf(terms);
  const parts = pattern === undefined ? [text] : text.split(pattern);
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : html`<mark>${part}</mark>`))}`;
}

/** Returns the pattern of the words with one group around it. */
function patternOf(terms: readonly string[]): RegExp | undefined {
  if (terms.length === 0) return undefined;
  const words = terms.toSorted((a, b) => b.length - a.length).map(patternOfWord);
  return new RegExp(`(?<![\\p{L}\\p{N}])(${words.join('|')})(?![\\p{L}\\p{N}])`, 'iu');
}

/** Returns the pattern of a word in singular and plural. */
function patternOfWord(word: string): string {
  return word.endsWith('y') ? `${RegExp.escape(word.slice(0, -1))}(?:y|ies)` : `${RegExp.escape(word)}s?`;
}
