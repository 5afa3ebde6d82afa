import { categoriesWithin, categoryPaths, type NamedCategory } from '../../categories/paths.ts';
import { nowOf } from '../../deployment.ts';
import { hashNumber } from '../../lib/hash-number.ts';
import { dayHtml, type Html, html } from '../../lib/html/html.ts';
import type { Page } from '../../lib/http/pagination/paginate.ts';
import type { ScanRequest } from '../../lib/http/pagination/scan-queue.ts';
import { countText } from '../../lib/text.ts';
import { addressSubject } from '../../sessions/attempts.ts';
import { select } from '../../web/forms.ts';
import { idOf, pageLinks } from '../../web/lists.ts';
import { publicPage, type Visit } from '../../web/page.ts';
import { countPets } from '../counts.ts';
import { categoriesOf, type PetSort } from '../filter.ts';
import { listPets } from '../list.ts';
import type { FullPet, PetStatus } from '../pet.ts';
import { beginningsIn, SEARCH_LENGTH_MAX } from '../words.ts';
import { drawing, picture, priceText, statusBadge, statusNames } from './parts.ts';

/** The animals of the deployment, to browse and filter. */
export const animalsPage = publicPage({
  path: '/animals',
  title: 'Animals',
  menu: 'main',
  async show(visit) {
    const choice = choiceOf(visit.query);
    const { database } = visit.deployment;
    const path =
      choice.category === undefined ? [] : (await categoryPaths(database, [choice.category])).get(choice.category);
    if (path === undefined) return undefined;
    const { page, total } = await find(visit, choice);
    const paths = await categoryPaths(
      database,
      page.rows.map(({ categoryId }) => categoryId),
    );
    const children = await categoriesWithin(database, path.at(-1)?.id ?? null, CATEGORIES_MAX);
    return {
      title: path.at(-1)?.name ?? 'Animals',
      description: 'Animals that look for a home: browse them by category, and ask about the one you like.',
      styles: ['animals.css'],
      body: html`${total !== undefined && html`<p class="lead">${totalText(total, choice)}</p>`}
${categoryLinks(choice, path, children)}
${filterForm(choice)}
${
  page.rows.length === 0
    ? emptyView(page, choice)
    : html`<ul class="grid animals">${page.rows.map(pet => card(pet, paths.get(pet.categoryId)))}</ul>`
}
${pageLinks(visit, page)}`,
    };
  },
});

/** The filters and the sort order of a visitor. */
interface Choice {
  readonly category: number | undefined;
  readonly status: PetStatus | 'any';
  readonly sort: PetSort;
  readonly cursor: string | undefined;
  /** What a visitor searches for; empty for everything. */
  readonly q: string;
}

const sorts: Readonly<Record<PetSort, string>> = {
  '-id': 'Newest first',
  id: 'Oldest first',
  name: 'Name, A to Z',
  '-name': 'Name, Z to A',
};

const DEFAULTS = { status: 'available', sort: '-id' } as const;
const PAGE_SIZE = 24;
/** The most categories to choose from. */
const CATEGORIES_MAX = 40;

/** Reads what the address of the page says; what makes no sense counts as not chosen. */
function choiceOf(query: URLSearchParams): Choice {
  const [status, sort, category, q] = ['status', 'sort', 'category', 'q'].map(name => query.get(name) ?? '');
  return {
    category: idOf(category),
    status: status === 'any' || Object.hasOwn(statusNames, status!) ? (status as Choice['status']) : DEFAULTS.status,
    sort: Object.hasOwn(sorts, sort!) ? (sort as PetSort) : DEFAULTS.sort,
    cursor: query.get('cursor') || undefined,
    q: q!.trim().slice(0, SEARCH_LENGTH_MAX),
  };
}

/** Returns a page of animals, and how many there are where the counters can tell. */
async function find(visit: Visit, { category, status, sort, cursor, q }: Choice) {
  const { database } = visit.deployment;
  const request = scanOf(visit);
  const filter = {
    sort,
    ...(category !== undefined && { categoryId: category, includeDescendants: true }),
    ...(status !== 'any' && { status: [status] }),
    ...(q !== '' && { words: beginningsIn(q) }),
  };
  const now = nowOf(visit.deployment);
  const page = await listPets(database, filter, { limit: PAGE_SIZE, cursor, request }, now, 'full');
  const isCounted = q === '' && (status === 'any' || category === undefined);
  if (!isCounted) return { page, total: undefined };
  const categoryId = await categoriesOf(database, filter, request);
  return { page, total: await countPets(database, { ...filter, categoryId }, now) };
}

/** A list that reads many rows waits for its turns, as in the API; visitors count by their networks. */
function scanOf({ deployment, request }: Visit): ScanRequest {
  const accountId = -hashNumber(addressSubject(request.address));
  // Pages do not notice when a client leaves.
  return {
    context: deployment,
    caller: { accountId, plan: 'free' },
    connection: { destroyed: false, readableEnded: false },
  };
}

/** Returns the path of the first page of the list with another choice. */
function pathOf(choice: Choice, change: Partial<Omit<Choice, 'cursor'>>): string {
  const { category, status, sort, q } = { ...choice, ...change };
  const query = new URLSearchParams({
    ...(q !== '' && { q }),
    ...(category !== undefined && { category: String(category) }),
    ...(status !== DEFAULTS.status && { status }),
    ...(sort !== DEFAULTS.sort && { sort }),
  });
  return query.size === 0 ? '/animals' : `/animals?${query}`;
}

function totalText(total: number, { status }: Choice): string {
  const noun = total === 1 ? 'animal' : 'animals';
  const text = `${countText(total)} ${noun}`;
  return status === 'any' ? text : `${text} ${statusNames[status].toLowerCase()}`;
}

function categoryLinks(choice: Choice, path: readonly NamedCategory[], children: readonly NamedCategory[]): Html {
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

function filterForm({ category, status, sort, q }: Choice): Html {
  const statuses = [...Object.entries(statusNames), ['any', 'Any status'] as const];
  const chosen = (options: readonly (readonly [string, string])[], value: string) =>
    options.map(([option, label]) => ({ value: option, label, checked: option === value }));
  return html`<form action="/animals" class="filter">
${category !== undefined && html`<input type="hidden" name="category" value="${category}">`}
<div class="field">
<label for="q">Words</label>
<input id="q" name="q" type="search" value="${q}" maxlength="${SEARCH_LENGTH_MAX}" dir="auto">
</div>
${select({ name: 'status', label: 'Status', choices: chosen(statuses, status) })}
${select({ name: 'sort', label: 'Order', choices: chosen(Object.entries(sorts), sort) })}
<button class="secondary">Show</button>
</form>`;
}

function card(pet: FullPet, path: readonly NamedCategory[] | undefined): Html {
  const { id, name, status, price, createdAt } = pet;
  return html`<li class="card animal">
${picture(pet, path)}
<div class="text">
<h2><a href="/animals/${id}"><bdi>${name}</bdi></a></h2>
<p class="quiet"><bdi>${path?.at(-1)?.name}</bdi></p>
<p>${statusBadge(status)}${price && html` <span class="price">${priceText(price)}</span>`}</p>
<p class="since">Here since ${dayHtml(new Date(createdAt))}</p>
</div>
</li>
`;
}

function emptyView({ next }: Page<FullPet>, choice: Choice): Html {
  if (next !== undefined)
    return html`<p class="empty">None of the animals read so far match. There are more to look through.</p>`;
  return html`<div class="empty"><p>${choice.cursor === undefined ? 'No animals match.' : 'There are no further animals.'}</p>
<p><a href="${pathOf(choice, { status: 'any' })}">Show any status</a> or <a href="/animals">start again</a></p></div>`;
}
