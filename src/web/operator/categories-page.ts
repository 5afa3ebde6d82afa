import { getCategory, updateCategory } from '../../categories/categories.ts';
import { type CategoryRow, SLUG_LENGTH_MAX } from '../../categories/category.ts';
import { listCategories } from '../../categories/list.ts';
import { mergeCategory, movingAhead } from '../../categories/merge/merge.ts';
import { categoryPaths, type NamedCategory } from '../../categories/paths.ts';
import { withSlugConflict } from '../../categories/slugs.ts';
import type { Deployment } from '../../deployment.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { countText, NAME_LENGTH_MAX, nameError } from '../../lib/text.ts';
import { UserError } from '../../lib/user-error.ts';
import { countByCategory } from '../../pets/counts.ts';
import { doneNotice, field, form, notice } from '../forms.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, operatorPage, type PageResult, type View } from '../page.ts';
import { badge, facts, table } from '../parts.ts';
import { accountLink, actorOf, deploymentOf, deploymentTabs, emptyText, errorText, pathWith, styles } from './parts.ts';

const PATH = '/operator/categories';

/** The categories of a deployment with the numbers of their animals, placeholders first. */
export const categoriesPage = operatorPage({
  path: PATH,
  title: 'Categories',
  menu: 'operator',
  async show(visit) {
    const deployment = deploymentOf(visit);
    if (deployment === undefined) return undefined;
    const { database, name } = deployment;
    const parentId = idOf(visit.query.get('parent'));
    const onlyPlaceholders = visit.query.get('show') === 'placeholders';
    const isFirst = !onlyPlaceholders && parentId === undefined && !visit.query.get('cursor');
    const waiting = isFirst
      ? await listCategories(database, { placeholder: true }, listPage(firstOf(visit), 10))
      : undefined;
    const page = await listCategories(
      database,
      { parentId, ...(onlyPlaceholders && { placeholder: true }) },
      listPage(visit),
    );
    const merged = visit.query.get('merged');
    const all = pathWith(PATH, { deployment: name, show: 'placeholders' });
    return {
      styles,
      body: html`${merged !== null && notice('status', html`<p>The category is merged into this one.</p>`)}
${deploymentTabs(visit, PATH, name)}
${
  waiting !== undefined &&
  waiting.rows.length > 0 &&
  html`<h2>Placeholders</h2>
<p>Animals named these unknown ids. Give each a name, or merge it into another category.</p>
${await categoryTable(deployment, waiting.rows, 'Placeholders', '')}
${waiting.next !== undefined && html`<p><a href="${all}">All placeholders</a></p>`}
<h2>All categories</h2>`
}
${(onlyPlaceholders || parentId !== undefined) && html`<p><a href="${pathWith(PATH, { deployment: name })}">All categories</a></p>`}
${await categoryTable(deployment, page.rows, 'Categories', emptyText('There are none.', page))}
${pageLinks(visit, page)}`,
    };
  },
});

/** One category, with the forms to rename and to merge it. */
export const categoryPage = operatorPage({
  path: `${PATH}/{categoryId}`,
  title: 'Category',
  async show(visit) {
    const found = await find(visit);
    return found && categoryView(visit, found);
  },
  async submit(visit) {
    const found = await find(visit);
    if (found === undefined) return undefined;
    const { database, name: deployment } = found.deployment;
    const name = visit.form.get('name') ?? '';
    const slug = visit.form.get('slug')?.trim() ?? '';
    const error = nameError(name);
    const errors = {
      name: error && `The name ${error}.`,
      slug: slug.length > SLUG_LENGTH_MAX || !SLUG.test(slug) ? SLUG_RULE : undefined,
    };
    if (errors.name !== undefined || errors.slug !== undefined) return categoryView(visit, found, errors);
    return attempt(visit, found, 'slug', async () => {
      const actor = actorOf(visit);
      const { id } = found.category;
      await withSlugConflict(slug, () =>
        database.write(tx => updateCategory(tx, actor, id, { name, slug }), visit.origin),
      );
      return pathWith(`${PATH}/${id}`, { deployment, done: 'renamed' });
    });
  },
});

/** Moves what a category contains into another one, and deletes it. */
export const mergePage = operatorPage({
  path: `${PATH}/{categoryId}/merge`,
  title: 'Merge a category',
  async submit(visit) {
    const found = await find(visit);
    if (found === undefined) return undefined;
    const { database, name: deployment } = found.deployment;
    return attempt(visit, found, 'into', async () => {
      const intoId = await targetOf(found.deployment, visit.form.get('into')?.trim() ?? '');
      const merge = { id: found.category.id, intoId };
      const actor = actorOf(visit);
      const once = () => database.write(tx => mergeCategory(tx, actor, merge), visit.origin);
      await movingAhead(database, actor, merge, once, visit.origin);
      return pathWith(`${PATH}/${intoId}`, { deployment, done: 'merged' });
    });
  },
});

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SLUG_RULE = `The slug has lower-case letters and digits with single hyphens, at most ${SLUG_LENGTH_MAX} characters.`;

const doneTexts = {
  renamed: 'The category is changed.',
  merged: 'The other category is merged into this one.',
};

interface Found {
  readonly deployment: Deployment;
  readonly category: CategoryRow;
}

/** Returns the category that the address names; `undefined` if there is none. */
async function find(visit: AccountVisit): Promise<Found | undefined> {
  const id = idOf(visit.parameters['categoryId']);
  const deployment = deploymentOf(visit);
  if (id === undefined || deployment === undefined) return undefined;
  try {
    return { deployment, category: await getCategory(deployment.database, id) };
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/** Makes a change, and leads to the address that it returns. @param field what a refusal is about */
async function attempt(
  visit: AccountVisit,
  found: Found,
  field: 'slug' | 'into',
  work: () => Promise<string>,
): Promise<PageResult> {
  try {
    return { location: await work() };
  } catch (error) {
    return categoryView(visit, found, { [field]: errorText(error) });
  }
}

/** Returns the id of the category that a text names by its id or slug. @throws {UserError} */
async function targetOf({ database }: Deployment, text: string): Promise<number> {
  const id = idOf(text);
  if (id !== undefined) return id;
  const rows = SLUG.test(text) ? (await listCategories(database, { slug: text }, { limit: 1 })).rows : [];
  if (rows[0] === undefined)
    throw new UserError(`There is no category ${JSON.stringify(text)}. Name one by its id or its slug.`);
  return rows[0].id;
}

async function categoryView(
  visit: AccountVisit,
  { deployment, category }: Found,
  errors?: Readonly<Partial<Record<'name' | 'slug' | 'into', string | undefined>>>,
): Promise<View> {
  const { database, name: on } = deployment;
  const { id, name, slug, placeholder, creatorId, createdAt } = category;
  const path = (await categoryPaths(database, [id])).get(id) ?? [];
  const animals = (await countByCategory(database, [id])).get(id) ?? 0;
  const children = await listCategories(database, { parentId: id }, { limit: 1 });
  const { form: sent, query } = visit;
  const action = (path: string) => pathWith(path, { deployment: on });
  const done = doneNotice(doneTexts, query.get('done'));
  return {
    title: name,
    styles,
    errors,
    body: html`${errors === undefined && done}
<p><a href="${action(PATH)}">All categories on ${on}</a></p>
${placeholder === 1 && html`<p>${badge('warn', 'Placeholder')} An animal named this unknown id. Save a name to keep the category.</p>`}
${facts([
  ['Id', html`<code>${id}</code>`],
  ['Path', pathText(path)],
  ['Animals', countText(animals)],
  [
    'Subcategories',
    children.rows.length === 0
      ? 'None'
      : html`<a href="${pathWith(PATH, { deployment: on, parent: id })}">Show them</a>`,
  ],
  ['Created by', accountLink(creatorId) ?? 'The operator'],
  ['Created', createdAt === 0 ? 'Built in' : timeHtml(createdAt)],
])}
<h2>Name</h2>
${form(visit, { action: action(`${PATH}/${id}`), submit: 'Save' }, [
  field({
    name: 'name',
    label: 'Name',
    value: sent.get('name') ?? name,
    error: errors?.name,
    maxLength: NAME_LENGTH_MAX,
  }),
  field({
    name: 'slug',
    label: 'Slug',
    value: sent.get('slug') ?? slug,
    hint: 'Its unique short name for URLs.',
    error: errors?.slug,
    maxLength: SLUG_LENGTH_MAX,
  }),
])}
<h2>Merge</h2>
<p>Moves its ${countText(animals)} ${animals === 1 ? 'animal' : 'animals'} and its subcategories into another category, and deletes this one. You cannot undo this.</p>
${form(visit, { action: action(`${PATH}/${id}/merge`), submit: 'Merge category', danger: true }, [
  field({
    name: 'into',
    label: 'Merge into',
    value: sent.get('into'),
    hint: 'The id or the slug of the other category.',
    error: errors?.into,
  }),
])}`,
  };
}

async function categoryTable(
  { database, name: deployment }: Deployment,
  rows: readonly CategoryRow[],
  caption: string,
  empty: string,
): Promise<Html> {
  const ids = rows.map(({ id }) => id);
  const [counts, paths] = [await countByCategory(database, ids), await categoryPaths(database, ids)];
  return table(
    caption,
    ['Name', 'Id', 'Slug', 'Animals', 'Within', 'Created by'],
    rows.map(({ id, name, slug, placeholder, creatorId }) => [
      html`<a href="${pathWith(`${PATH}/${id}`, { deployment })}"><bdi>${name}</bdi></a>${placeholder === 1 && html` ${badge('warn', 'Placeholder')}`}`,
      String(id),
      html`<code>${slug}</code>`,
      countText(counts.get(id) ?? 0),
      pathText((paths.get(id) ?? []).slice(0, -1)),
      accountLink(creatorId),
    ]),
    empty,
  );
}

function pathText(path: readonly NamedCategory[]): Html {
  return html`${path.map(({ name }, index) => html`${index > 0 && ' › '}<bdi>${name}</bdi>`)}`;
}

/** Returns the visit without its cursor, which is for another list. */
function firstOf(visit: AccountVisit): AccountVisit {
  return { ...visit, query: new URLSearchParams() };
}
