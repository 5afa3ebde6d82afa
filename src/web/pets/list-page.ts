import { nowOf } from '../../access/deployment.ts';
import { countedAddress } from '../../access/limits/address.ts';
import { hashNumber } from '../../lib/hash-number.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { type Page, scanBudget } from '../../lib/http/pagination/paginate.ts';
import type { ScanRequest } from '../../lib/http/pagination/scan-queue.ts';
import { Problem } from '../../lib/http/problem.ts';
import { countText, wordsIn } from '../../lib/text.ts';
import type { PetCard } from '../../model/pet.ts';
import type { Database } from '../../model/schema.ts';
import { categoriesWithin, categoryPaths, type NamedCategory } from '../../store/categories/paths.ts';
import { countPets } from '../../store/pets/counts.ts';
import { countFacets } from '../../store/pets/facets.ts';
import { categoriesOf, ownersOf, type PetFilter } from '../../store/pets/filter.ts';
import { findPets } from '../../store/pets/find.ts';
import { isPlace, NEAR_LENGTH_MAX, type Nearby, nearbyOf } from '../../store/pets/near.ts';
import { correctedSearch, hasTime } from '../../store/search/did-you-mean.ts';
import { SEARCH_LENGTH_MAX } from '../../store/search/words.ts';
import { choicesOf, hidden, select } from '../forms.ts';
import { connection, pageLinks } from '../lists.ts';
import { publicPage, type View, type Visit } from '../page.ts';
import { animalCards, contextOf } from './cards.ts';
import { choiceOf, distances, pathOf, type SearchChoice, sortOf, sorts, withTypedFilters } from './choice.ts';
import { chosenFilters, FACET_ROWS_MAX, facetsView } from './facet-view.ts';
import { drawing, noAnimalsView, statusNames } from './parts.ts';

/** The animals of the deployment, with search and filters. */
export const animalsPage = publicPage({
  path: '/animals',
  title: 'Animals',
  menu: 'main',
  async show(visit) {
    const { database } = visit.deployment;
    const choice = await withTypedFilters(database, choiceOf(visit.query));
    const { category } = choice;
    const path = category === undefined ? [] : (await categoryPaths(database, [category])).get(category);
    return path && listView(visit, choice, path);
  },
});

async function listView(visit: Visit, choice: SearchChoice, path: readonly NamedCategory[]): Promise<View> {
  const { database } = visit.deployment;
  const children = await categoriesWithin(database, path.at(-1)?.id ?? null, CATEGORIES_MAX);
  const place = await placeOf(database, choice);
  const { page, total, facets } = await find(visit, choice, place.nearby);
  const filters = facetsView(choice, facets);
  const view = {
    title: path.at(-1)?.name ?? 'Animals',
    description: 'Animals that look for a home: search them, see who is near you, and ask about the one you like.',
    styles: ['animals.css'],
  };
  if (isEmpty(page) && (await countPets(database, {}, nowOf(visit.deployment))) === 0)
    return { ...view, body: noAnimalsView };
  const corrected = await suggestion(visit, choice, page);
  return {
    ...view,
    scripts: ['near-me.js'],
    locates: true,
    body: html`${total !== undefined && html`<p class="lead">${totalText(total, choice)}</p>`}
<p><a href="/organizations">Shelters and rescues</a></p>
${categoryLinks(choice, path, children)}
${filterForm(choice, place)}
<div class="${filters === undefined ? '' : 'browse'}">
${filters}
<div>
${chosenFilters(choice)}
${choice.unmatched.length > 0 && html`<p>No animal matches <bdi>${choice.unmatched.join(' ')}</bdi>.</p>`}
${corrected !== undefined && html`<p>Did you mean <a href="${pathOf(choice, { q: corrected })}"><bdi>${corrected}</bdi></a>?</p>`}
${page.rows.length === 0 ? emptyView(page, choice) : animalCards(page.rows, await contextOf(database, page.rows))}
${pageLinks(visit, page)}
</div>
</div>`,
  };
}

function isEmpty({ rows, next }: Page<PetCard>): boolean {
  return rows.length === 0 && next === undefined;
}

const PAGE_SIZE = 24;
/** The maximum number of categories to choose from. */
const CATEGORIES_MAX = 40;

/** The place of a visitor: the animals near it, or the reason why it cannot be used. */
interface Place {
  readonly nearby?: Nearby;
  readonly error?: string;
}

async function placeOf(database: Database, { near, within }: SearchChoice): Promise<Place> {
  if (near === '') return {};
  if (!isPlace(near))
    return {
      error:
        'Enter a US or Canadian city or postal code, such as Portland, OR or 90210, or another postal code after its country, such as DE-10115.',
    };
  try {
    return { nearby: await nearbyOf(database, near, within) };
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_parameter') return { error: error.errors![0]!.message };
    throw error;
  }
}

/** Returns a page of animals, their facets, and their number if the counters have it. */
async function find(visit: Visit, choice: SearchChoice, nearby?: Nearby) {
  const { category, status, cursor, q, near, within } = choice;
  const { database } = visit.deployment;
  const request = scanOf(visit);
  const filter: Omit<PetFilter, 'sort'> = {
    ...filterOf(choice),
    ...(nearby && {
      ...ownersOf([nearby.organizations.map(({ id }) => id)]),
      place: [near, within],
    }),
  };
  const search = { ...filter, nearby, sort: sortOf(nearby === undefined ? { ...choice, near: '' } : choice) };
  const now = nowOf(visit.deployment);
  const page = await findPets(database, search, { limit: PAGE_SIZE, cursor, request }, now, 'card');
  const categories = await categoriesOf(database, filter, request);
  const scan = { request, budget: scanBudget(FACET_ROWS_MAX) };
  const facets = await countFacets(database, filter, categories, scan, now);
  const isCounted =
    filter.traits === undefined && nearby === undefined && q === '' && (status === 'any' || category === undefined);
  const counted = () => countPets(database, { ...filter, categoryId: categories }, now);
  return { page, facets, total: isCounted ? await counted() : undefined };
}

/** Returns the filter of a choice without its place. */
function filterOf({ category, status, q, traits }: SearchChoice): Omit<PetFilter, 'sort'> {
  return {
    ...(category !== undefined && { categoryId: category, includeDescendants: true }),
    ...(status !== 'any' && { status: [status] }),
    ...(q !== '' && { words: wordsIn(q) }),
    ...(Object.keys(traits).length > 0 && { traits }),
  };
}

/**
 * Returns the request of a scan. A list that reads many rows waits for its turns, as in the API; visitors without an
 * account count by network. Each turn counts as a page.
 */
export function scanOf({ deployment, request, countPage }: Visit): ScanRequest {
  const accountId = -hashNumber(countedAddress(request.address));
  return { context: deployment, caller: { accountId, plan: 'free' }, connection, onTurn: countPage };
}

function totalText(total: number, { status }: SearchChoice): string {
  const noun = total === 1 ? 'animal' : 'animals';
  const text = `${countText(total)} ${noun}`;
  return status === 'any' ? text : `${text} ${statusNames[status].toLowerCase()}`;
}

function categoryLinks(choice: SearchChoice, path: readonly NamedCategory[], children: readonly NamedCategory[]): Html {
  const up = [{ name: 'All animals', id: undefined }, ...path];
  return html`<nav aria-label="Categories">
${
  path.length > 0 &&
  html`<ol class="crumbs">${up.map(({ id, name }, index) =>
    index === path.length
      ? html`<li aria-current="page"><bdi>${name}</bdi></li>`
      : html`<li><a href="${pathOf(choice, { category: id })}"><bdi>${name}</bdi></a></li>`,
  )}</ol>`
}
${
  children.length > 0 &&
  html`<ul class="kinds">${children.map(
    category =>
      html`<li><a href="${pathOf(choice, { category: category.id })}">${drawing([...path, category])}<bdi>${category.name}</bdi></a></li>`,
  )}</ul>`
}
</nav>`;
}

function filterForm(choice: SearchChoice, { nearby, error }: Place): Html {
  const { category, status, q, near, within, traits } = choice;
  const kept = Object.entries({ ...(category !== undefined && { category: [category] }), ...traits });
  // The default order depends on the words and the place, so that visitors need not choose it.
  const byDefault = sortOf({ ...choice, sort: undefined, near: nearby === undefined ? '' : near });
  const { relevance, distance, ...always } = sorts;
  const offered = { ...(q !== '' && { relevance }), ...(nearby !== undefined && { distance }), ...always };
  const { [byDefault]: _, ...others } = offered as Record<string, string>;
  const orders = { '': sorts[byDefault as keyof typeof sorts], ...others };
  const sort = choice.sort === byDefault ? '' : (choice.sort ?? '');
  return html`<form action="/animals" class="filter">
${kept.map(([name, values]) => hidden(name, values.join(',')))}
<div class="field">
<label for="q">Search</label>
<input id="q" name="q" type="search" value="${q}" maxlength="${SEARCH_LENGTH_MAX}" dir="auto">
</div>
<div class="field near">
<label for="near">City or postal code</label>
<input id="near" name="near" value="${near}" maxlength="${NEAR_LENGTH_MAX}" autocomplete="postal-code" spellcheck="false"${error !== undefined && html` aria-invalid="true" aria-describedby="near-error"`}>
</div>
${select({ name: 'within', label: 'Within', choices: choicesOf(distances, within) })}
${select({ name: 'status', label: 'Status', choices: choicesOf({ ...statusNames, any: 'Any status' }, status) })}
${select({ name: 'sort', label: 'Sort by', choices: choicesOf(orders, sort) })}
<button class="secondary">Search</button>
${error !== undefined && html`<p class="error" id="near-error">${error}</p>`}
</form>`;
}

/**
 * Returns the search that a visitor probably meant, if it finds animals and theirs finds none or lacks some of its
 * words. Under load, returns `undefined`.
 */
async function suggestion(
  { deployment }: Visit,
  choice: SearchChoice,
  { rows: found, next }: Page<PetCard>,
): Promise<string | undefined> {
  const { database } = deployment;
  const isMatched = choice.unmatched.length === 0 && (found.length > 0 || next !== undefined);
  if (choice.spelled === '' || choice.cursor !== undefined || isMatched) return undefined;
  if (!(await hasTime(deployment))) return undefined;
  const corrected = await correctedSearch(database, choice.spelled);
  if (corrected === undefined) return undefined;
  const filter = { ...filterOf(choice), words: wordsIn(corrected) };
  const page = { limit: 1, budget: scanBudget(SUGGESTION_ROWS_MAX) };
  const { rows } = await findPets(database, { ...filter, sort: 'recent' }, page, nowOf(deployment));
  return rows.length > 0 ? corrected : undefined;
}

/** The maximum number of rows that are read to find an animal for a suggestion. */
const SUGGESTION_ROWS_MAX = 200;

function emptyView({ next }: Page<PetCard>, choice: SearchChoice): Html {
  if (next !== undefined)
    return html`<p class="empty">None of the animals read so far match. There are more animals to read.</p>`;
  return html`<div class="empty"><p>${choice.cursor === undefined ? 'No animals match.' : 'There are no further animals.'}</p>
<p><a href="${pathOf(choice, { status: 'any' })}">Show any status</a> or <a href="/animals">start again</a></p></div>`;
}
